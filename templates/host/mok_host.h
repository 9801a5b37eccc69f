/* ABI of kernel.host.so. Plain C: included by the kernel's translation unit (mok_host.cpp) and by the tool that loads it.
 *
 * Built as one translation unit, with kernel.cu, mok_plan.h and mok_layout.h in SOURCES and templates/ in TEMPLATES:
 *   c++ -std=c++17 -O2 -ffp-contract=off -fno-exceptions -fno-rtti -fvisibility=hidden -fPIC -shared -ISOURCES -ITEMPLATES
 *       -ITEMPLATES/host TEMPLATES/host/mok_host.cpp -o kernel.host.so
 * -fsanitize=address,undefined or -fsanitize=thread may be added; the process that loads it must have the same.
 */
#ifndef MOK_HOST_H
#define MOK_HOST_H

#include <stddef.h>

#include "../mok_args.h"

#define MOK_HOST_ABI 2
#define MOK_HOST_ABOUT_SYMBOL "mok_host_about"
#define MOK_HOST_RUN_SYMBOL "mok_host_run"

#ifdef __cplusplus
extern "C" {
#endif

/* What the library was made from; the loader compares before it runs anything. */
typedef struct mok_host_about_t {
  unsigned abi, args_abi;                          /* MOK_HOST_ABI, MOK_ARGS_ABI */
  long long heap_bytes, local_bytes, shared_bytes; /* LAYOUT_*_BYTES */
  int gpus, tokens_per_gpu;                        /* PLAN_GPUS, PLAN_TOKENS_PER_GPU */
  int grid, sms_comm, sms_compute;                 /* most CTAs of a rank and of its roles */
  const char *name;                                /* PLAN_NAME */
  const char *digest;                              /* PLAN_DIGEST: equal for equal mok_plan.h and mok_layout.h */
} mok_host_about_t;

enum {
  /* Bit of flags: before the launch, fill symmetric heaps but their flags, local workspaces but control and counters, and outputs
   * with poison. On the first launch of a step only. Shared memory always starts as poison. */
  MOK_HOST_POISON = 1,
  /* Bit of flags: account for what every access is ordered after, and fail with MOK_HOST_FINDING at the first one that is not.
   * Does not change the schedule. */
  MOK_HOST_RACES = 2,
  MOK_HOST_POISON_WORD = 0x7FDB /* 16 bits, repeated: a NaN in bf16 and fp32, a huge number in i32 */
};

/* What is made to go wrong. */
typedef enum mok_host_injection {
  MOK_INJECT_NONE = 0,
  MOK_INJECT_LOSE_SIGNAL,  /* the rank's signal number inject_number, from 0, is not made */
  MOK_INJECT_RANK_ABSENT,  /* the rank does not take part */
  MOK_INJECT_STALL_WORKER, /* its worker number inject_number, from 0 as they start, does nothing until the rank gives up */
  MOK_INJECT_STALL_CTA     /* its CTA inject_number does nothing after its entry until the rank gives up */
} mok_host_injection;

typedef struct mok_host_launch_t {
  unsigned struct_size; /* sizeof(mok_host_launch_t) */
  unsigned flags;
  const mok_args *args;    /* num_ranks_here = PLAN_GPUS: all ranks run in this process */
  unsigned long long seed; /* of the schedule; the same seed gives the same schedule. 0: every fiber in turn, never delayed */
  mok_host_injection inject;
  int inject_rank;
  unsigned long long inject_number;
} mok_host_launch_t;

typedef enum mok_host_result {
  MOK_HOST_OK = 0,
  MOK_HOST_DEADLOCK = 1,   /* no fiber can run: text says who waits for what, then which ranks gave up and why */
  MOK_HOST_BAD_LAUNCH = 2, /* arguments do not fit the plan: text says which */
  MOK_HOST_FAULT = 3,      /* a fiber overran its stack */
  MOK_HOST_FINDING = 4,    /* the protocol is wrong: `finding` says how, text where */
  MOK_HOST_ABORTED = 5,    /* a rank had given up in an earlier launch: it computes nothing until all memory is zeroed */
  MOK_HOST_NO_MEMORY = 6   /* the process cannot have what the host target itself needs */
} mok_host_result;

/* Whatever the schedule was, except where it says so. */
typedef enum mok_host_finding {
  MOK_FINDING_NONE = 0,
  MOK_FINDING_DEADLOCK,  /* nobody can go on */
  MOK_FINDING_RACE,      /* two accesses, one of them a write, that no chain of signals, barriers and awaited copies orders */
  MOK_FINDING_PROXY,     /* ordered for generic accesses only: a proxy fence is missing */
  MOK_FINDING_SCOPE,     /* a signal that reaches less far than who waits for it: between CTAs, between ranks */
  MOK_FINDING_UNWRITTEN, /* a read of memory that nobody has written */
  MOK_FINDING_COUNT,     /* a counter that is not 0 at its launch's start, has or ends on another value than its waits expect; a
                            control word that a launch finds or leaves as it must not; not only with MOK_HOST_RACES */
  MOK_FINDING_RESET,     /* a counter cleared in the launch that uses it */
  MOK_FINDING_MBARRIER,  /* arrivals or bytes of a shared-memory barrier do not add up; not only with MOK_HOST_RACES */
  MOK_FINDING_OUTSIDE,   /* an access beyond a region, to memory of nobody, or a write to the caller's; an index of no counter */
  MOK_FINDING_ALIGNMENT, /* a bulk copy whose addresses or sizes are no multiples of 16 bytes; not only with MOK_HOST_RACES */
  MOK_FINDING_JOIN       /* a CTA goes on without its workers, or gives a warp to two; not only with MOK_HOST_RACES */
} mok_host_finding;

typedef struct mok_host_report_t {
  unsigned struct_size; /* sizeof(mok_host_report_t) */
  char *text;           /* in: buffer of the caller for the report, may be NULL; "" when MOK_HOST_OK */
  size_t text_size;     /* in: its size */
  unsigned long long fibers, rounds, switches, waits, signals; /* out: what the schedule did */
  unsigned long long copies;                                   /* out: asynchronous copies and products */
  mok_host_finding finding;                                    /* out */
  unsigned aborted_ranks;                                      /* out: that gave up */
  unsigned stuck;                                              /* out: fibers that did not leave, after a deadlock */
} mok_host_report_t;

typedef int (*mok_host_run_fn)(const mok_host_launch_t *launch, mok_host_report_t *report);

/* Runs one launch to its end on the calling thread; one launch at a time per thread. Returns a mok_host_result. */
int mok_host_run(const mok_host_launch_t *launch, mok_host_report_t *report);
extern const mok_host_about_t mok_host_about;

#ifdef __cplusplus
}
#endif

#endif
