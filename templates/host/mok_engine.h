/* The host target's machine: runs every worker instance of every CTA of every rank as a fiber on one thread, in a seeded order.
 *
 * A fiber that waits names the word and the value it waits for; the scheduler compares and switches only to fibers that can go
 * on. In each round all live fibers are looked at in a fresh random order, and a seed also gives every fiber its own share of
 * rounds that it sleeps through. A round in which no fiber could run is a deadlock.
 *
 * Order between fibers comes from the words alone: waits acquire, signals release, as on the device; switches order nothing,
 * so that a thread sanitizer sees what the protocol guarantees and no more. The race detector (mok_order.h, mok_shadow.h) keeps
 * its own account of the same.
 *
 * Time is counted in rounds. Copies and products that run by themselves (mok_agents.h) read and write some rounds later.
 */
#ifndef MOK_ENGINE_H
#define MOK_ENGINE_H

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

MOK_HOST_UNCHECKED static inline const char *mok_worker_name(const mok_engine *e, void (*worker)(mok_cta *)) {
  for (int i = 0; i < e->name_count; ++i)
    if (e->names[i].worker == worker) return e->names[i].name;
  return NULL;
}

MOK_HOST_UNCHECKED static inline void mok_learn_name(mok_engine *e, void (*worker)(mok_cta *), const char *name) {
  for (int i = 0; i < e->name_count; ++i)
    if (e->names[i].worker == worker) return;
  if (e->name_count == MOK_WORKER_NAMES) return;
  e->names[e->name_count].worker = worker;
  e->names[e->name_count++].name = name;
}

MOK_HOST_UNCHECKED static inline int mok_report_order(const void *a, const void *b) {
  const mok_fiber *f = *(mok_fiber *const *)a, *g = *(mok_fiber *const *)b;
  if (f->wait.kind != g->wait.kind) return f->wait.kind < g->wait.kind ? -1 : 1;
  if (f->cta->rank != g->cta->rank) return f->cta->rank < g->cta->rank ? -1 : 1;
  if (f->cta->number != g->cta->number) return f->cta->number < g->cta->number ? -1 : 1;
  const int x = f->first_warp * 1024 + (f->worker ? f->c->instance : 0),
            y = g->first_warp * 1024 + (g->worker ? g->c->instance : 0);
  return x < y ? -1 : x > y;
}

MOK_HOST_UNCHECKED static inline void mok_say_wait(mok_engine *e, const mok_fiber *f) {
  const mok_host_wait_record *w = &f->wait;
  mok_say(e, "  rank %d CTA %d ", f->cta->rank, f->cta->number);
  const char *name = f->worker ? mok_worker_name(e, f->worker) : "entry";
  if (name) mok_say(e, "%s", name);
  else mok_say(e, "worker at warp %d", f->first_warp);
  if (f->worker && f->c->instances > 1) mok_say(e, "[%d]", f->c->instance);
  if (w->line) mok_say(e, " at kernel.cu:%d", w->line);
  switch (w->kind) {
    case MOK_WAITS_COUNTER:
      mok_say(e, " waits for %s[%lld]", w->name, w->index);
      break;
    case MOK_WAITS_GRID:
      mok_say(e, " waits in the grid barrier");
      break;
    case MOK_WAITS_RANKS:
      mok_say(e, " waits in rank barrier %s for rank %lld", w->name, w->index);
      break;
    case MOK_WAITS_JOIN:
      mok_say(e, " waits for its workers");
      break;
    case MOK_WAITS_FULL_STAGE:
      mok_say(e, " waits for stage %lld to be filled", w->index);
      break;
    case MOK_WAITS_FREE_STAGE:
      mok_say(e, " waits for stage %lld to be free", w->index);
      break;
    case MOK_WAITS_SLOT:
      mok_say(e, " waits for slot %lld to be filled", w->index);
      break;
    case MOK_WAITS_COPIES:
      mok_say(e, " waits for its copies");
      break;
    case MOK_WAITS_PRODUCT:
      mok_say(e, " waits for its product");
      break;
    case MOK_WAITS_STALLED:
      mok_say(e, " stalls, as it was told to\n");
      return;
  }
  mok_say(e, ": expected %u, seen %u\n", w->target, __atomic_load_n(w->word, __ATOMIC_RELAXED));
  if (w->barrier)
    mok_say(e, "    its mbarrier has %u of %u arrivals and expects %lld bytes more\n", w->barrier->count - w->barrier->pending,
            w->barrier->count, w->barrier->bytes);
}

/* Counters first: they say what is missing; the barriers and joins behind them only follow. */
MOK_HOST_UNCHECKED static inline void mok_report_deadlock(mok_engine *e) {
  e->report->finding = MOK_FINDING_DEADLOCK;
  for (size_t i = 0; i < e->fiber_count; ++i) {
    const mok_mbarrier *b = e->fibers[i]->wait.barrier;
    if (b && b->pending == 0 && b->bytes > 0) {
      e->report->finding = MOK_FINDING_MBARRIER;
      mok_say(e, "mbarrier: expects %lld bytes that no copy delivers\n", b->bytes);
      break;
    }
  }
  mok_say(e, "deadlock: none of %zu fibers can go on\n", e->fiber_count);
  qsort(e->fibers, e->fiber_count, sizeof *e->fibers, mok_report_order);
  const size_t shown = e->fiber_count < 48 ? e->fiber_count : 48;
  for (size_t i = 0; i < shown; ++i) mok_say_wait(e, e->fibers[i]);
  if (shown < e->fiber_count) mok_say(e, "  and %zu more\n", e->fiber_count - shown);
}

MOK_HOST_UNCHECKED static inline bool mok_is_set(const unsigned *word) {
  return word && __atomic_load_n(word, __ATOMIC_RELAXED) != 0;
}

MOK_HOST_UNCHECKED static inline bool mok_can_run(const mok_fiber *f) {
  if (f->stalled && !mok_is_set(f->wait.given_up)) return false;
  return f->state != MOK_FIBER_BLOCKED || f->stalled || f->expired || mok_reached(f->wait.word, f->wait.target) ||
         mok_is_set(f->wait.given_up) || mok_is_set(f->wait.poison);
}

/* The limit of one wait passes: of the longest one inside a rank, or else for a peer. False: none has a limit. */
MOK_HOST_UNCHECKED static inline bool mok_expire(mok_engine *e) {
  mok_fiber *first = NULL;
  for (size_t i = 0; i < e->fiber_count; ++i) {
    mok_fiber *f = e->fibers[i];
    if (f->stalled || f->wait.given_up == NULL) continue;
    const bool peer = f->wait.kind == MOK_WAITS_RANKS, first_peer = first && first->wait.kind == MOK_WAITS_RANKS;
    if (first == NULL || (peer == first_peer ? f->since < first->since : first_peer)) first = f;
  }
  if (first) first->expired = true;
  return first != NULL;
}

/* ---- fibers ---- */

MOK_HOST_UNCHECKED static inline void mok_to_scheduler(mok_fiber *f, bool ends) {
  mok_context_switch(&f->context, &mok_host->thread, ends);
}

/* Lets others run; the fiber can go on at once. With a seed only now and then. */
MOK_HOST_UNCHECKED static inline void mok_preempt(void) {
  mok_engine *e = mok_host;
  if (!e->random_order || (mok_random(e) & 7) != 0) return;
  e->current->state = MOK_FIBER_READY;
  mok_to_scheduler(e->current, false);
}

/* Until *record.word >= record.target; everything released into the word before is visible after. False: given up. */
MOK_HOST_UNCHECKED static inline bool mok_block(const mok_host_wait_record *record) {
  mok_engine *e = mok_host;
  e->report->waits++;
  mok_preempt();
  if (!mok_reached(record->word, record->target)) {
    mok_fiber *f = e->current;
    f->wait = *record;
    f->since = e->now;
    f->state = MOK_FIBER_BLOCKED;
    mok_to_scheduler(f, false);
    if (!mok_reached(record->word, record->target)) return false;
  }
  (void)mok_acquire(record->word);
  return true;
}

/* The fiber does nothing until its rank gives up. */
MOK_HOST_UNCHECKED static inline void mok_stall(mok_fiber *f, const unsigned *given_up) {
  const mok_host_wait_record stalled = {MOK_WAITS_STALLED, given_up, 1, "", 0, 0, NULL, given_up, NULL};
  f->wait = stalled;
  f->stalled = true;
}

/* Adds 1 to a word after everything before. */
MOK_HOST_UNCHECKED static inline void mok_raise(unsigned *word) {
  (void)mok_release_add(word);
  mok_host->report->signals++;
  mok_preempt();
}

MOK_HOST_UNCHECKED static inline float *mok_scratch(size_t floats) {
  mok_fiber *f = mok_host->current;
  if (f->scratch_floats < floats) {
    MOK_HOST_UNSEEN_BEGIN();
    free(f->scratch);
    f->scratch = (float *)malloc(floats * sizeof *f->scratch);
    MOK_HOST_UNSEEN_END();
    if (f->scratch == NULL) abort(); /* a few hundred KB: the process is beyond help */
    f->scratch_floats = floats;
  }
  return f->scratch;
}

static void mok_entry_main(void);
static void mok_worker_main(void);
static bool mok_agents_run(mok_engine *e);
static void mok_agents_wake(mok_engine *e);
static void mok_agents_forget(mok_engine *e, mok_fiber *f);
static void mok_order_start(mok_engine *e, mok_fiber *f, const mok_fiber *from);

/* A new fiber, ready; a worker with its own copy of *c. NULL: out of memory, recorded. */
MOK_HOST_UNCHECKED static inline mok_fiber *mok_fiber_create(mok_engine *e, mok_host_cta *cta, void (*worker)(mok_cta *),
                                                             const mok_cta *c, int first_warp) {
  MOK_HOST_UNSEEN_BEGIN();
  if (e->fiber_count == e->fiber_capacity) {
    const size_t capacity = e->fiber_capacity ? 2 * e->fiber_capacity : 256;
    mok_fiber **fibers = (mok_fiber **)realloc(e->fibers, capacity * sizeof *fibers);
    if (fibers) {
      e->fibers = fibers;
      e->fiber_capacity = capacity;
    }
  }
  mok_fiber *f = e->fiber_count < e->fiber_capacity ? (mok_fiber *)calloc(1, sizeof *f) : NULL;
  mok_cta *copy = f ? (mok_cta *)malloc(sizeof *copy) : NULL;
  char *stack = copy ? mok_stack_take(&e->stacks) : NULL;
  MOK_HOST_UNSEEN_END();
  if (stack == NULL) {
    free(copy);
    free(f);
    mok_fail(e, MOK_HOST_FAULT, "out of memory after %zu fibers", e->fiber_count);
    return NULL;
  }
  mok_context_make(&f->context, stack, worker ? mok_worker_main : mok_entry_main);
  f->cta = cta;
  f->worker = worker;
  f->first_warp = first_warp;
  f->c = copy;
  if (c) *copy = *c;
  const unsigned pace = e->random_order ? (unsigned)(mok_random(e) & 7) : 0;
  if (e->clocks.on) mok_order_start(e, f, worker ? e->current : NULL);
  f->sleep = pace < 4 ? 0 : 256 - (256 >> (pace - 3)); /* half of them never, the others 1/2 to 15/16 of their rounds */
  e->fibers[e->fiber_count++] = f;
  e->report->fibers++;
  return f;
}

MOK_HOST_UNCHECKED static inline void mok_fiber_free(mok_engine *e, mok_fiber *f) {
#if defined(MOK_HOST_TSAN)
  if (f->state != MOK_FIBER_ENDED) { /* given up: what it did comes before what the caller does next */
    __tsan_switch_to_fiber(f->context.tsan_fiber, 1);
    __tsan_switch_to_fiber(e->thread.tsan_fiber, 0);
  }
#endif
  MOK_HOST_UNSEEN_BEGIN();
#if defined(MOK_HOST_TSAN)
  __tsan_destroy_fiber(f->context.tsan_fiber);
#endif
  mok_stack_give(&e->stacks, f->context.stack);
  mok_agents_forget(e, f);
  mok_clock_clear(&e->clocks, f->order);
  mok_clock_clear(&e->clocks, f->bulk);
  mok_clock_clear(&e->clocks, f->pending);
  mok_clock_clear(&e->clocks, f->fenced);
  free(f->scratch);
  free(f->c);
  free(f);
  MOK_HOST_UNSEEN_END();
}

/* Nobody can run. The first time this is reported; then one wait expires. False: that does not help either. */
MOK_HOST_UNCHECKED static inline bool mok_give_up(mok_engine *e) {
  if (!e->deadlocked) mok_report_deadlock(e);
  e->deadlocked = true;
  if (mok_expire(e)) return true;
  e->report->stuck = (unsigned)e->fiber_count;
  mok_say(e, "%zu fibers cannot leave\n", e->fiber_count);
  return false;
}

/* Runs until every fiber has ended, or none can go on, or one failed. */
MOK_HOST_UNCHECKED static inline void mok_schedule(mok_engine *e) {
  while ((e->fiber_count > 0 || e->agent_count > 0) && e->result == MOK_HOST_OK) {
    e->report->rounds++;
    e->now++;
    const size_t count = e->fiber_count; /* fibers made in this round run from the next one on */
    if (e->random_order && count > 1)
      for (size_t i = count - 1; i > 0; --i) {
        const size_t j = (size_t)(mok_random(e) % (i + 1));
        mok_fiber *f = e->fibers[i];
        e->fibers[i] = e->fibers[j];
        e->fibers[j] = f;
      }
    bool could_run = mok_agents_run(e);
    for (size_t i = 0; i < count && e->result == MOK_HOST_OK; ++i) {
      mok_fiber *f = e->fibers[i];
      if (!mok_can_run(f)) continue;
      could_run = true;
      if (f->sleep && (mok_random(e) & 255) < f->sleep) continue;
      f->state = MOK_FIBER_READY;
      f->stalled = false;
      e->current = f;
      e->report->switches++;
      e->in_fiber = true;
      mok_context_switch(&e->thread, &f->context, false);
      e->in_fiber = false;
      if (!mok_stack_intact(&f->context))
        mok_fail(e, MOK_HOST_FAULT, "a fiber overran its stack of %d bytes", (int)MOK_STACK_BYTES);
    }
    size_t kept = 0;
    for (size_t i = 0; i < e->fiber_count; ++i) {
      if (e->fibers[i]->state == MOK_FIBER_ENDED) mok_fiber_free(e, e->fibers[i]);
      else e->fibers[kept++] = e->fibers[i];
    }
    e->fiber_count = kept;
    if (could_run || e->result != MOK_HOST_OK) continue;
    if (e->agent_count > 0) mok_agents_wake(e);
    else if (e->fiber_count > 0 && !mok_give_up(e)) break;
  }
}

#endif
