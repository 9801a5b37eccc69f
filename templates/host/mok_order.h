/* What orders accesses: releases and acquires with their scope, proxy fences, awaited copies, starts and ends of workers. Each
 * has its counterpart among the device's instructions; nothing else orders anything. */
#ifndef MOK_ORDER_H
#define MOK_ORDER_H

MOK_HOST_UNCHECKED static inline unsigned *mok_own_time(const mok_fiber *f, mok_class which) {
  return &f->cta->times[(f->worker ? 1 + f->first_warp : 0) * MOK_CLASSES + which];
}

/* A new step of the fiber's own instructions: what was released before does not cover them. */
MOK_HOST_UNCHECKED static void mok_order_step(mok_engine *e, mok_fiber *f) {
  mok_clock_raise(&e->clocks, &f->order, mok_component(e, f, MOK_CLASS_GENERIC), ++*mok_own_time(f, MOK_CLASS_GENERIC));
}

/* Barrier among the threads of a CTA: a worker starts with what its CTA knows ... */
MOK_HOST_UNCHECKED static void mok_order_start(mok_engine *e, mok_fiber *f, const mok_fiber *from) {
  if (from) {
    mok_clock_join(&e->clocks, &f->order, from->order);
    mok_clock_join(&e->clocks, &f->bulk, from->bulk);
  }
  mok_order_step(e, f);
}

/* ... and the CTA knows afterwards what its workers knew at their ends. */
MOK_HOST_UNCHECKED static void mok_order_end(mok_engine *e, mok_fiber *f) {
  if (!e->clocks.on) return;
  mok_host_cta *cta = f->cta;
  mok_clock_join(&e->clocks, &cta->ended_order, f->order);
  mok_clock_join(&e->clocks, &cta->ended_bulk, f->bulk);
}

MOK_HOST_UNCHECKED static void mok_order_join(mok_engine *e, mok_fiber *entry) {
  if (!e->clocks.on) return;
  mok_clock_join(&e->clocks, &entry->order, entry->cta->ended_order);
  mok_clock_join(&e->clocks, &entry->bulk, entry->cta->ended_bulk);
  mok_order_step(e, entry);
}

/* fence.proxy.async by the threads of this worker, or of the whole CTA: what they have read and written themselves comes before
 * the copies that they issue, and before copies of others if a release follows and the others fence after their acquire. */
MOK_HOST_UNCHECKED static void mok_fence_proxy(mok_engine *e, mok_fiber *f) {
  if (!e->clocks.on) return;
  mok_host_cta *cta = f->cta;
  if (f->worker) {
    f->fenced_time = *mok_own_time(f, MOK_CLASS_GENERIC);
    if (f->pending == NULL) return;
    if (f->fenced == NULL) mok_clock_join(&e->clocks, &f->fenced, cta->fenced);
    mok_clock_join(&e->clocks, &f->fenced, f->pending);
    return;
  }
  const size_t first = (size_t)(cta - e->ctas) * MOK_CTA_COMPONENTS;
  for (size_t i = first; i < first + MOK_CTA_COMPONENTS; i += MOK_CLASSES)
    mok_clock_raise(&e->clocks, &cta->fenced, i, mok_clock_time(f->order, i));
  mok_clock_join(&e->clocks, &cta->fenced, f->pending);
}

/* fence.acq_rel.sys by all threads of the CTA, after their copies have been awaited. */
MOK_HOST_UNCHECKED static void mok_fence_system(mok_engine *e, mok_fiber *entry) {
  if (!e->clocks.on) return;
  mok_host_cta *cta = entry->cta;
  const size_t first = (size_t)(cta - e->ctas) * MOK_CTA_COMPONENTS;
  for (size_t i = first; i < first + MOK_CTA_COMPONENTS; ++i)
    mok_clock_raise(&e->clocks, &cta->system, i, mok_clock_time(entry->order, i));
}

/* A release, at this scope, of all that came before. */
MOK_HOST_UNCHECKED static void mok_order_release(mok_engine *e, mok_fiber *f, mok_sync *s, mok_scope scope) {
  if (!e->clocks.on) return;
  s->rank = f->cta->rank;
  s->cta = s->scope == MOK_SCOPE_NONE || s->cta == f->cta->number ? f->cta->number : MOK_CTAS_MANY;
  if (s->scope == MOK_SCOPE_NONE || s->scope > scope) s->scope = scope;
  if (scope == MOK_SCOPE_SYSTEM) {
    mok_clock const system = f->cta->system;
    mok_clock_join(&e->clocks, &s->order, system);
    mok_clock_join_limited(&e->clocks, &s->bulk, system, system, false);
    mok_clock_join_limited(&e->clocks, &s->fenced, f->cta->fenced, system, true);
    mok_clock_join(&e->clocks, &s->system, system);
  } else {
    mok_clock_join(&e->clocks, &s->order, f->order);
    mok_clock_join(&e->clocks, &s->bulk, f->bulk);
    if (!f->worker) mok_clock_join(&e->clocks, &s->system, f->cta->system);
    mok_clock_join(&e->clocks, &s->fenced, f->fenced ? f->fenced : f->cta->fenced);
    if (f->worker && f->fenced_time > 0)
      mok_clock_raise(&e->clocks, &s->fenced, mok_component(e, f, MOK_CLASS_GENERIC), f->fenced_time);
  }
  mok_order_step(e, f);
}

/* An acquire, at this scope, of what was released into *s. */
MOK_HOST_UNCHECKED static void mok_order_acquire(mok_engine *e, mok_fiber *f, const mok_sync *s, mok_scope scope,
                                                 const mok_host_wait_record *wait) {
  if (!e->clocks.on || s->scope == MOK_SCOPE_NONE) return;
  const mok_scope shared = s->scope < scope ? s->scope : scope;
  const mok_scope needed = s->rank != f->cta->rank ? MOK_SCOPE_SYSTEM : s->cta != f->cta->number ? MOK_SCOPE_GPU : MOK_SCOPE_CTA;
  if (shared < needed) {
    static const char *const names[] = {"no", "cta", "gpu", "system"};
    mok_find(e, MOK_FINDING_SCOPE,
             "scope: rank %d CTA %d waits for %s of rank %d, released at %s scope and acquired at %s scope: that needs %s scope",
             f->cta->rank, f->cta->number, wait->name, s->rank, names[s->scope], names[scope], names[needed]);
    return;
  }
  mok_clock_join(&e->clocks, &f->order, s->order);
  mok_clock_join(&e->clocks, &f->bulk, s->bulk);
  if (s->fenced) mok_clock_join(&e->clocks, &f->pending, s->fenced);
  if (!f->worker) mok_clock_join(&e->clocks, &f->cta->system, s->system);
}

/* The fiber has waited for copies of its own. */
MOK_HOST_UNCHECKED static void mok_order_awaited(mok_engine *e, mok_fiber *f, mok_class which, unsigned time) {
  if (!e->clocks.on) return;
  const unsigned component = mok_component(e, f, which);
  mok_clock_raise(&e->clocks, &f->order, component, time);
  mok_clock_raise(&e->clocks, &f->bulk, component, time);
}

/* Generic access of the running fiber. */
MOK_HOST_UNCHECKED static inline void mok_own_access(bool writes, const void *at, long long pitch, int rows, int bytes,
                                                     const char *function, int line, const char *what) {
  mok_engine *e = mok_host;
  if (e->detector == NULL) return;
  const mok_span span = {at, pitch, rows, bytes};
  const mok_site site = {function, line, what};
  mok_touch(e, MOK_CLASS_GENERIC, *mok_own_time(e->current, MOK_CLASS_GENERIC), writes, span, site);
}

static void mok_host_reads(const void *at, int bytes, const char *function) {
  mok_own_access(false, at, 0, 1, bytes, function, 0, "reads a table");
}

#endif
