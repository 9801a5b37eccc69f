/* Fibers: how they wait, begin, end and take turns.
 *
 * A fiber that waits names the word and the value it waits for; the scheduler compares and switches only to fibers that can go
 * on. In each round all live fibers are looked at in a fresh random order, and a seed also gives every fiber its own share of
 * rounds that it sleeps through. A round in which no fiber could run is a deadlock.
 *
 * Time is counted in rounds. Copies and products that run by themselves (mok_agents.h) read and write some rounds later.
 */
#ifndef MOK_SCHEDULE_H
#define MOK_SCHEDULE_H

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

/* ---- waits ---- */

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
    f->scratch = (float *)mok_grow(f->scratch, floats * sizeof *f->scratch);
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
    mok_fail(e, MOK_HOST_NO_MEMORY, "no memory for more than %zu fibers", e->fiber_count);
    return NULL;
  }
  mok_context_make(&f->context, stack, worker ? mok_worker_main : mok_entry_main);
  f->cta = cta;
  f->worker = worker;
  f->first_warp = first_warp;
  f->c = copy;
  if (c) *copy = *c;
  const unsigned pace = e->random_order ? (unsigned)(mok_random(e) & 7) : 0;
  f->sleep = pace < 4 ? 0 : 256 - (256 >> (pace - 3)); /* half of them never, the others 1/2 to 15/16 of their rounds */
  e->fibers[e->fiber_count++] = f;
  e->report->fibers++;
  if (e->clocks.on) mok_order_start(e, f, worker ? e->current : NULL);
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
