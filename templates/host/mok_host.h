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

#define MOK_HOST_ABI 1
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
  MOK_HOST_POISON_WORD = 0x7FDB /* 16 bits, repeated: a NaN in bf16 and fp32, a huge number in i32 */
};

typedef struct mok_host_launch_t {
  unsigned struct_size; /* sizeof(mok_host_launch_t) */
  unsigned flags;
  const mok_args *args;    /* num_ranks_here = PLAN_GPUS: all ranks run in this process */
  unsigned long long seed; /* of the schedule; the same seed gives the same schedule. 0: every fiber in turn, never delayed */
} mok_host_launch_t;

typedef enum mok_host_result {
  MOK_HOST_OK = 0,
  MOK_HOST_DEADLOCK = 1, /* no fiber can run: text says who waits for what. The workspaces must be zeroed before another launch */
  MOK_HOST_BAD_LAUNCH = 2, /* arguments do not fit the plan: text says which */
  MOK_HOST_FAULT = 3       /* out of memory, or a fiber overran its stack */
} mok_host_result;

typedef struct mok_host_report_t {
  unsigned struct_size; /* sizeof(mok_host_report_t) */
  char *text;           /* in: buffer of the caller for the report, may be NULL; "" when MOK_HOST_OK */
  size_t text_size;     /* in: its size */
  unsigned long long fibers, rounds, switches, waits, signals; /* out: what the schedule did */
} mok_host_report_t;

typedef int (*mok_host_run_fn)(const mok_host_launch_t *launch, mok_host_report_t *report);

/* Runs one launch to its end on the calling thread; one launch at a time per thread. Returns a mok_host_result. */
int mok_host_run(const mok_host_launch_t *launch, mok_host_report_t *report);
extern const mok_host_about_t mok_host_about;

#ifdef __cplusplus
}
#endif

#endif
