/* The host target's machine: runs every worker instance of every CTA of every rank as a fiber on one thread, in a seeded order.
 * Its parts, and what it says when it fails; how fibers run: mok_schedule.h.
 *
 * Order between fibers comes from the words alone: waits acquire, signals release, as on the device; switches order nothing,
 * so that a thread sanitizer sees what the protocol guarantees and no more. The race detector (mok_order.h, mok_shadow.h) keeps
 * its own account of the same.
 */
#ifndef MOK_ENGINE_H
#define MOK_ENGINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mok_fiber.h"
#include "mok_host.h"
#include "mok_clocks.h"

/* Two words may differ by wrap-around: epochs and counts go on for ever. */
MOK_HOST_UNCHECKED static inline bool mok_reached(const unsigned *word, unsigned target) {
  return (int)(__atomic_load_n(word, __ATOMIC_RELAXED) - target) >= 0;
}

/* The only operations that order fibers; a thread sanitizer must see them, so they stay calls. */
__attribute__((noinline)) static unsigned mok_acquire(const unsigned *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
__attribute__((noinline)) static unsigned mok_release_add(unsigned *word) {
  return __atomic_fetch_add(word, 1u, __ATOMIC_ACQ_REL);
}
__attribute__((noinline)) static void mok_release_store(unsigned *word, unsigned value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* A barrier in shared memory: a phase completes when all have arrived and all bytes that they expect have been copied. */
struct mok_mbarrier {
  unsigned phases; /* completed so far: the word that is waited for */
  unsigned count;  /* arrivals of a phase; 0: not initialised */
  unsigned pending, arrivals;
  unsigned in_flight; /* copies that will complete here */
  long long bytes;    /* expected and not copied yet */
  mok_sync coming, done;
};

enum { MOK_MAX_STAGES = 16, MOK_MAX_SLOTS = 16 * PLAN_WARPS };

/* One CTA: what its workers share. */
struct mok_host_cta {
  int rank, number;                                         /* known from the ticket on */
  unsigned started, ended;                                  /* workers; mok_join waits until they are equal */
  bool aborted;                                             /* a worker has given up */
  bool busy[PLAN_WARPS];                                    /* warps of workers that were not joined yet */
  unsigned barriers;                                        /* grid barriers passed in this launch */
  char *shared;                                             /* LAYOUT_SHARED_BYTES, made and poisoned when first used */
  unsigned *shared_cells;                                   /* shadow of it */
  mok_mbarrier full[MOK_MAX_STAGES], empty[MOK_MAX_STAGES]; /* of pipeline stages */
  mok_mbarrier slots[MOK_MAX_SLOTS];                        /* of pieces of rows on their way */
  unsigned times[MOK_CTA_COMPONENTS];
  mok_clock ended_order, ended_bulk; /* clocks: of workers that have ended; */
  mok_clock fenced, system;          /* what proxy fences let copies know; what was fenced at system scope */
};

enum mok_wait_kind {
  MOK_WAITS_COUNTER,
  MOK_WAITS_GRID,
  MOK_WAITS_RANKS,
  MOK_WAITS_JOIN,
  MOK_WAITS_FULL_STAGE,
  MOK_WAITS_FREE_STAGE,
  MOK_WAITS_SLOT,
  MOK_WAITS_COPIES,
  MOK_WAITS_PRODUCT,
  MOK_WAITS_STALLED
};

/* What a blocked fiber waits for. */
struct mok_host_wait_record {
  mok_wait_kind kind;
  const unsigned *word;
  unsigned target;
  const char *name; /* "COUNTER_X_READY" */
  long long index;  /* of the counter, the peer or the stage */
  int line;         /* of kernel.cu; 0: inside a primitive */
  const mok_mbarrier *barrier;
  const unsigned *given_up; /* the rank's abort word, of a wait that gives up then; NULL: one that its partners end in any case */
  const unsigned *poison;   /* not 0: the peer will not arrive */
};

enum mok_fiber_state { MOK_FIBER_READY, MOK_FIBER_BLOCKED, MOK_FIBER_ENDED };

struct mok_agent;
struct mok_fiber {
  mok_context context;
  mok_fiber_state state;
  mok_host_wait_record wait;
  uint64_t since; /* round in which it began to wait */
  bool expired;   /* its wait has taken too long */
  bool stalled;   /* until its rank gives up */
  mok_host_cta *cta;
  void (*worker)(mok_cta *); /* NULL: the CTA's entry */
  mok_cta *c;                /* of a worker: its own copy */
  int first_warp;
  unsigned sleep; /* of 256 rounds in which it could run, how many it is passed over */
  float *scratch; /* accumulator and unpacked operands; grows */
  size_t scratch_floats;
  /* Bulk stores, in the order of their issue: how many were issued, and how many of the first have read and written all. */
  unsigned stores, stores_read, stores_written;
  mok_agent *first_store, *last_store; /* not yet written */
  unsigned products, products_done;    /* multiplications */
  mok_clock order, bulk;               /* clocks, mok_clocks.h */
  mok_clock pending, fenced;           /* acquired, and not fenced yet; of a worker, NULL while it is the CTA's */
  unsigned fenced_time;                /* own generic accesses up to here are known to own copies */
};

struct mok_detector;
enum { MOK_WORKER_NAMES = 32 };
struct mok_engine {
  const mok_args *args;
  mok_context thread;
  jmp_buf no_memory; /* where the thread goes on when memory is missing */
  mok_stacks stacks;
  mok_fiber *current;
  bool in_fiber;      /* and not in the scheduler */
  mok_fiber **fibers; /* live ones */
  size_t fiber_count, fiber_capacity;
  mok_host_cta *ctas;
  uint64_t random;
  bool random_order;
  uint64_t now; /* rounds, and those that were skipped because nothing could run */
  mok_agent **agents, *free_agents;
  size_t agent_count, agent_capacity;
  mok_clocks clocks;
  mok_detector *detector; /* NULL: off */
  unsigned launched;      /* released by the thread, acquired by every fiber at its start */
  mok_host_result result;
  bool quiet;                                             /* ranks have given up: what they leave behind is no finding */
  const char *waited_for[PLAN_GPUS], *waiting[PLAN_GPUS]; /* names for the abort record of each rank: counter, worker */
  bool deadlocked;                                        /* reported; now ranks give up */
  const mok_host_launch_t *launch;
  unsigned long long inject_count; /* signals or workers of that rank so far */
  mok_host_report_t *report;
  size_t text_used;
  struct {
    void (*worker)(mok_cta *);
    const char *name;
  } names[MOK_WORKER_NAMES]; /* learnt from their waits and signals */
  int name_count;
};

static thread_local mok_engine *mok_host;

/* splitmix64: the same numbers on every machine. */
MOK_HOST_UNCHECKED static inline uint64_t mok_random(mok_engine *e) {
  uint64_t z = (e->random += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

MOK_HOST_UNCHECKED static inline void mok_poison(void *at, long long bytes) {
  for (long long i = 0; i + 1 < bytes; i += 2) ((unsigned short *)at)[i / 2] = MOK_HOST_POISON_WORD;
}

/* ---- report ---- */

__attribute__((format(printf, 2, 3))) static inline void mok_say(mok_engine *e, const char *format, ...) {
  if (e->report->text == NULL || e->text_used + 1 >= e->report->text_size) return;
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(e->report->text + e->text_used, e->report->text_size - e->text_used, format, args);
  va_end(args);
  const size_t room = e->report->text_size - e->text_used - 1;
  if (n > 0) e->text_used += (size_t)n < room ? (size_t)n : room;
}

__attribute__((format(printf, 3, 4))) static inline void mok_fail(mok_engine *e, mok_host_result result, const char *format,
                                                                  ...) {
  if (e->result != MOK_HOST_OK) return;
  e->result = result;
  char text[256];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  mok_say(e, "%s\n", text);
}

/* The text is complete. What the fiber would do next rests on what is wrong: it does not return. */
MOK_HOST_UNCHECKED static void mok_found(mok_engine *e) {
  if (e->in_fiber) mok_context_switch(&e->current->context, &e->thread, false);
}

__attribute__((format(printf, 3, 4))) MOK_HOST_UNCHECKED static void mok_find(mok_engine *e, mok_host_finding finding,
                                                                              const char *format, ...) {
  if (e->result != MOK_HOST_OK) return;
  char text[320];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  e->report->finding = finding;
  e->result = MOK_HOST_FINDING;
  mok_say(e, "%s\n", text);
  mok_found(e);
}

/* ---- memory ---- */

/* realloc that ends the launch instead of failing. */
MOK_HOST_UNCHECKED static void *mok_grow(void *old, size_t bytes) {
  MOK_HOST_UNSEEN_BEGIN();
  void *grown = realloc(old, bytes);
  MOK_HOST_UNSEEN_END();
  if (grown) return grown;
  mok_engine *e = mok_host;
  mok_fail(e, MOK_HOST_NO_MEMORY, "no memory for %zu bytes of the host target's own", bytes);
  mok_found(e);
  longjmp(e->no_memory, 1); /* in the scheduler */
}

MOK_HOST_UNCHECKED static void *mok_zeroed(size_t bytes) { return memset(mok_grow(NULL, bytes), 0, bytes); }

#endif
