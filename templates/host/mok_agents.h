/* What runs by itself after its issue: loads into shared memory, stores out of it, multiplications. Each reads its source and
 * writes its destination at a moment of its own, which a seed chooses between issue and the end of the wait for it.
 *
 * A load completes on an mbarrier, by its bytes. Stores form groups in the order of their issue: mok_wait_stores_read says when
 * sources may be written again (cp.async.bulk.wait_group.read), mok_wait_stores when rows have landed (wait_group).
 */
#ifndef MOK_AGENTS_H
#define MOK_AGENTS_H

/* rows x bytes at `to`; what is not in the source's rows x bytes becomes 0. */
struct mok_copy {
  char *to;
  long long to_pitch;
  int rows, bytes;
  const char *from;
  long long from_pitch;
  int from_rows, from_bytes;
};

struct mok_agent {
  mok_copy copy;
  mok_mbarrier *barrier; /* of a load */
  unsigned barrier_bytes;
  mok_fiber *owner; /* of a store or a product; NULL once it has ended */
  unsigned component, time;
  uint64_t read_at, write_at;
  bool is_store, has_read, has_written;
  bool queued, left; /* a store among its owner's; written, and out of the engine's hands */
  mok_agent *next;   /* store of the same owner, or free one */
  void (*multiply)(const mok_agent *);
  const mok_bf16 *a, *b;
  int product_rows;
  float *a_row, *sum;
  char *buffer;
  size_t buffer_bytes;
};

/* ---- mbarriers ---- */

MOK_HOST_UNCHECKED static void mok_mbarrier_init(mok_mbarrier *b, unsigned arrivals) { b->count = b->pending = arrivals; }

MOK_HOST_UNCHECKED static void mok_mbarrier_check(mok_engine *e, mok_mbarrier *b) {
  if (b->bytes < 0)
    mok_find(e, MOK_FINDING_MBARRIER, "mbarrier: copies deliver %lld bytes more than their barrier expects", -b->bytes);
  if (b->pending > 0 || b->bytes != 0) return;
  if (b->in_flight > 0)
    mok_find(e, MOK_FINDING_MBARRIER, "mbarrier: a phase completes while %u of its copies are in flight", b->in_flight);
  b->pending = b->count;
  if (e->clocks.on) { /* what came for the phases after this one must not count for it */
    mok_clock_join(&e->clocks, &b->done.order, b->coming.order);
    mok_clock_join(&e->clocks, &b->done.bulk, b->coming.bulk);
    b->done.scope = MOK_SCOPE_CTA;
    b->done.rank = b->coming.rank;
    b->done.cta = b->coming.cta;
    mok_clock_clear(&e->clocks, b->coming.order);
    mok_clock_clear(&e->clocks, b->coming.bulk);
  }
  (void)mok_release_add(&b->phases);
}

/* `bytes` are to come by copies in the phase under way; no arrival. */
MOK_HOST_UNCHECKED static inline void mok_mbarrier_expect(mok_mbarrier *b, unsigned bytes) { b->bytes += bytes; }

/* One arrival; `bytes` are to come by copies. */
MOK_HOST_UNCHECKED static void mok_mbarrier_arrive(mok_mbarrier *b, unsigned bytes) {
  mok_engine *e = mok_host;
  if (b->pending == 0) {
    mok_find(e, MOK_FINDING_MBARRIER, "mbarrier: one arrival more than the %u of its phase", b->count);
    return;
  }
  if (e->clocks.on) {
    mok_clock_join(&e->clocks, &b->coming.order, e->current->order);
    mok_clock_join(&e->clocks, &b->coming.bulk, e->current->bulk);
    b->coming.rank = e->current->cta->rank;
    b->coming.cta = e->current->cta->number;
    mok_order_step(e, e->current);
  }
  (void)mok_release_add(&b->arrivals);
  --b->pending;
  b->bytes += bytes;
  mok_mbarrier_check(e, b);
}

/* Until so many phases are complete. The device knows only the parity of a phase: who comes later than the next one waits on. */
MOK_HOST_UNCHECKED static void mok_mbarrier_wait(mok_mbarrier *b, unsigned phases, mok_wait_kind kind, int index) {
  if (b->phases > phases)
    mok_find(mok_host, MOK_FINDING_MBARRIER, "mbarrier: a wait for phase %u, after phase %u: by its parity it is to come again",
             phases, b->phases);
  const mok_host_wait_record complete = {kind, &b->phases, phases, "", index, 0, b, NULL, NULL};
  (void)mok_block(&complete);
  mok_order_acquire(mok_host, mok_host->current, &b->done, MOK_SCOPE_CTA, &complete);
}

/* ---- running ---- */

MOK_HOST_UNCHECKED static void mok_rows_copy(char *to, long long to_pitch, const char *from, long long from_pitch, int rows,
                                             int bytes) {
  for (int i = 0; i < rows; ++i) memcpy(to + i * to_pitch, from + i * from_pitch, (size_t)bytes);
}

static __attribute__((noinline)) void mok_copy_write(const mok_copy *c, const char *from, long long from_pitch) {
  for (int i = 0; i < c->rows; ++i) {
    char *to = c->to + i * c->to_pitch;
    const int bytes = i < c->from_rows ? c->from_bytes : 0;
    if (bytes > 0) memcpy(to, from + i * from_pitch, (size_t)bytes);
    if (bytes < c->bytes) memset(to + bytes, 0, (size_t)(c->bytes - bytes));
  }
}

MOK_HOST_UNCHECKED static inline void mok_agent_free(mok_engine *e, mok_agent *a) {
  a->next = e->free_agents;
  e->free_agents = a;
}

/* The engine is done with a written agent; its owner may still have it queued behind others. */
MOK_HOST_UNCHECKED static inline void mok_agent_leave(mok_engine *e, mok_agent *a) {
  a->left = true;
  if (!a->queued) mok_agent_free(e, a);
}

MOK_HOST_UNCHECKED static inline void mok_store_unqueue(mok_engine *e, mok_fiber *f) {
  mok_agent *a = f->first_store;
  f->first_store = a->next;
  if (f->first_store == NULL) f->last_store = NULL;
  a->queued = false;
  if (a->left) mok_agent_free(e, a);
}

/* Stores complete one by one in any order; a wait is for all up to one. */
MOK_HOST_UNCHECKED static void mok_stores_advance(mok_engine *e, mok_fiber *f) {
  unsigned read = f->stores_written;
  for (const mok_agent *s = f->first_store; s && s->has_read; s = s->next) ++read;
  if (f->stores_read < read) f->stores_read = read;
  while (f->first_store && f->first_store->has_written) {
    mok_store_unqueue(e, f);
    ++f->stores_written;
  }
  if (f->stores_read < f->stores_written) f->stores_read = f->stores_written;
}

MOK_HOST_UNCHECKED static void mok_agent_complete(mok_engine *e, mok_agent *a) {
  a->has_written = true;
  mok_mbarrier *b = a->barrier;
  if (b) {
    if (e->clocks.on) {
      mok_clock_raise(&e->clocks, &b->coming.order, a->component, a->time);
      mok_clock_raise(&e->clocks, &b->coming.bulk, a->component, a->time);
    }
    --b->in_flight;
    b->bytes -= a->barrier_bytes;
    mok_mbarrier_check(e, b);
  } else if (a->owner && a->is_store) mok_stores_advance(e, a->owner);
  else if (a->owner) ++a->owner->products_done;
}

/* True when it has done something. */
MOK_HOST_UNCHECKED static bool mok_agent_run(mok_engine *e, mok_agent *a) {
  bool ran = false;
  if (!a->has_read && e->now >= a->read_at) {
    ran = a->has_read = true;
    if (e->now < a->write_at && a->multiply == NULL) {
      const size_t row = (size_t)a->copy.from_bytes, bytes = row * (size_t)a->copy.from_rows;
      if (a->buffer_bytes < bytes) {
        a->buffer = (char *)mok_grow(a->buffer, bytes);
        a->buffer_bytes = bytes;
      }
      mok_rows_copy(a->buffer, (long long)row, a->copy.from, a->copy.from_pitch, a->copy.from_rows, (int)row);
      if (a->owner && a->is_store) mok_stores_advance(e, a->owner);
      return true;
    }
    if (a->multiply) a->multiply(a);
    else mok_copy_write(&a->copy, a->copy.from, a->copy.from_pitch);
    mok_agent_complete(e, a);
    return true;
  }
  if (a->has_read && e->now >= a->write_at) {
    mok_copy_write(&a->copy, a->buffer, a->copy.from_bytes);
    mok_agent_complete(e, a);
    return true;
  }
  return ran;
}

MOK_HOST_UNCHECKED static bool mok_agents_run(mok_engine *e) {
  bool ran = false;
  size_t kept = 0;
  for (size_t i = 0; i < e->agent_count; ++i) {
    mok_agent *a = e->agents[i];
    ran |= mok_agent_run(e, a);
    if (a->has_written) mok_agent_leave(e, a);
    else e->agents[kept++] = a;
  }
  e->agent_count = kept;
  return ran;
}

/* Nothing else can run: time passes up to the next one's moment. */
MOK_HOST_UNCHECKED static void mok_agents_wake(mok_engine *e) {
  uint64_t next = ~(uint64_t)0;
  for (size_t i = 0; i < e->agent_count; ++i) {
    const uint64_t at = e->agents[i]->has_read ? e->agents[i]->write_at : e->agents[i]->read_at;
    if (at < next) next = at;
  }
  if (e->now < next - 1) e->now = next - 1;
}

MOK_HOST_UNCHECKED static void mok_agents_forget(mok_engine *e, mok_fiber *f) {
  while (f->first_store) mok_store_unqueue(e, f);
  for (size_t i = 0; i < e->agent_count; ++i)
    if (e->agents[i]->owner == f) e->agents[i]->owner = NULL;
}

MOK_HOST_UNCHECKED static void mok_agents_free(mok_engine *e) {
  for (size_t i = 0; i < e->agent_count; ++i) mok_agent_free(e, e->agents[i]); /* after a failure */
  MOK_HOST_UNSEEN_BEGIN();
  while (e->free_agents) {
    mok_agent *a = e->free_agents;
    e->free_agents = a->next;
    free(a->buffer);
    free(a);
  }
  free(e->agents);
  MOK_HOST_UNSEEN_END();
}

MOK_HOST_UNCHECKED static mok_agent *mok_agent_make(mok_engine *e) {
  if (e->agent_count == e->agent_capacity) {
    const size_t capacity = e->agent_capacity ? 2 * e->agent_capacity : 64;
    e->agents = (mok_agent **)mok_grow(e->agents, capacity * sizeof *e->agents);
    e->agent_capacity = capacity;
  }
  mok_agent *a = e->free_agents;
  if (a) e->free_agents = a->next;
  else a = (mok_agent *)mok_zeroed(sizeof *a);
  char *buffer = a->buffer;
  const size_t bytes = a->buffer_bytes;
  memset(a, 0, sizeof *a);
  a->buffer = buffer;
  a->buffer_bytes = bytes;
  return a;
}

/* Sets the agent going. */
MOK_HOST_UNCHECKED static void mok_agent_start(mok_engine *e, mok_agent *a) {
  e->report->copies++;
  a->read_at = a->write_at = e->now + 1;
#if defined(MOK_HOST_TSAN)
  a->read_at = a->write_at = e->now; /* a sanitizer knows no accesses but those of fibers */
#else
  if (e->random_order) {
    const uint64_t r = mok_random(e);
    const unsigned most = (r >> 8 & 15) == 0 ? 64 : 4, wait = (unsigned)(r >> 16) % most, more = (unsigned)(r >> 32) % most;
    switch (r & 3) {
      case 0: /* as soon as possible */
        a->read_at = a->write_at = e->now;
        break;
      case 1: /* reads at once, writes late */
        a->read_at = e->now;
        a->write_at = e->now + 1 + wait;
        break;
      default: /* reads late, and writes then or later */
        a->read_at = e->now + 1 + wait;
        a->write_at = a->read_at + ((r & 1) ? more : 0);
        break;
    }
  }
#endif
  while (!a->has_written && mok_agent_run(e, a)) {
  }
  if (a->has_written) mok_agent_leave(e, a);
  else e->agents[e->agent_count++] = a;
}

/* ---- issue and wait ---- */

/* What the hardware demands of every address, size and distance of rows. */
MOK_HOST_UNCHECKED static void mok_check_alignment(mok_engine *e, const mok_copy &c, const char *function, int line,
                                                   const char *what) {
  const uintptr_t all = (uintptr_t)c.to | (uintptr_t)c.to_pitch | (uintptr_t)c.bytes | (uintptr_t)c.from |
                        (uintptr_t)c.from_pitch | (uintptr_t)c.from_bytes;
  if (all % 16 == 0) return;
  mok_find(e, MOK_FINDING_ALIGNMENT,
           "alignment: rank %d CTA %d %s at kernel.cu:%d (%s) copies %d rows of %d bytes, %lld apart, from %p to %p, %lld apart: "
           "not all multiples of 16",
           e->current->cta->rank, e->current->cta->number, function, line, what, c.from_rows, c.from_bytes, c.from_pitch,
           (const void *)c.from, (void *)c.to, c.to_pitch);
}

/* cp.async.bulk or a tensor copy into shared memory; counts `bytes` at its barrier, as the hardware counts the whole box. */
MOK_HOST_UNCHECKED static void mok_issue_load(mok_mbarrier *barrier, unsigned bytes, const mok_copy &copy, const char *function,
                                              int line, const char *what) {
  mok_engine *e = mok_host;
  mok_check_alignment(e, copy, function, line, what);
  mok_agent *a = mok_agent_make(e);
  a->copy = copy;
  a->barrier = barrier;
  a->barrier_bytes = bytes;
  ++barrier->in_flight;
  if (e->clocks.on) {
    a->component = mok_component(e, e->current, MOK_CLASS_LOAD);
    a->time = ++*mok_own_time(e->current, MOK_CLASS_LOAD);
    const mok_site site = {function, line, what};
    const mok_span from = {copy.from, copy.from_pitch, copy.from_rows, copy.from_bytes};
    const mok_span to = {copy.to, copy.to_pitch, copy.rows, copy.bytes};
    mok_touch(e, MOK_CLASS_LOAD, a->time, false, from, site);
    mok_touch(e, MOK_CLASS_LOAD, a->time, true, to, site);
  }
  mok_agent_start(e, a);
}

/* A bulk store, a group of its own. */
MOK_HOST_UNCHECKED static void mok_issue_store(const mok_copy &copy, const char *function, int line, const char *what) {
  mok_engine *e = mok_host;
  mok_fiber *f = e->current;
  mok_check_alignment(e, copy, function, line, what);
  mok_agent *a = mok_agent_make(e);
  a->copy = copy;
  a->owner = f;
  a->is_store = a->queued = true;
  ++f->stores;
  if (f->last_store) f->last_store->next = a;
  else f->first_store = a;
  f->last_store = a;
  if (e->clocks.on) {
    const unsigned read = ++*mok_own_time(f, MOK_CLASS_STORE_READ), write = ++*mok_own_time(f, MOK_CLASS_STORE_WRITE);
    const mok_site site = {function, line, what};
    const mok_span from = {copy.from, copy.from_pitch, copy.from_rows, copy.from_bytes};
    const mok_span to = {copy.to, copy.to_pitch, copy.rows, copy.bytes};
    mok_touch(e, MOK_CLASS_STORE_READ, read, false, from, site);
    mok_touch(e, MOK_CLASS_STORE_WRITE, write, true, to, site);
  }
  mok_agent_start(e, a);
}

MOK_HOST_UNCHECKED static void mok_wait_for_stores(mok_class which, unsigned pending) {
  mok_engine *e = mok_host;
  mok_fiber *f = e->current;
  if (f->stores <= pending) return;
  const unsigned *word = which == MOK_CLASS_STORE_READ ? &f->stores_read : &f->stores_written;
  const mok_host_wait_record done = {MOK_WAITS_COPIES, word, f->stores - pending, "", 0, 0, NULL, NULL, NULL};
  (void)mok_block(&done);
  const unsigned issued = *mok_own_time(f, which);
  mok_order_awaited(e, f, which, issued - pending);
  if (which == MOK_CLASS_STORE_WRITE)
    mok_order_awaited(e, f, MOK_CLASS_STORE_READ, *mok_own_time(f, MOK_CLASS_STORE_READ) - pending);
}

/* All stores but the `pending` last ones: their sources have been read ... */
MOK_FN void mok_wait_stores_read(unsigned pending) { mok_wait_for_stores(MOK_CLASS_STORE_READ, pending); }
/* ... they have been written. */
MOK_FN void mok_wait_stores(unsigned pending) { mok_wait_for_stores(MOK_CLASS_STORE_WRITE, pending); }

#endif
