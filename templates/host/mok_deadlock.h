/* Who waits for what, in words: the report of a launch in which nobody can go on. */
#ifndef MOK_DEADLOCK_H
#define MOK_DEADLOCK_H

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

#endif
