/* Entry, exit, roles' workers, barriers and counters of a CTA. */
#ifndef MOK_LAUNCH_H
#define MOK_LAUNCH_H

/* First of its kind wins; the count goes on. The word at `value` follows the one at `where`, unless there is only one. */
MOK_FN void mok_record_input(const mok_rank_args *args, int count, int where, unsigned at, int value, unsigned seen) {
  unsigned *line = mok_control(args, MOK_LINE_INPUT_ERROR);
  if (line[count]++ != 0) return;
  line[where] = at;
  line[value] = seen;
}

/* ---- the detector's record of each word ---- */

MOK_HOST_UNCHECKED MOK_FN mok_sync *mok_grid_sync(const mok_cta *c, unsigned number) {
  mok_detector *d = mok_host->detector;
  return d && number < MOK_MAX_GRID_BARRIERS ? &d->grid_barriers[c->args->rank * MOK_MAX_GRID_BARRIERS + (int)number] : NULL;
}

MOK_HOST_UNCHECKED MOK_FN mok_sync *mok_flag_sync(int owner, int barrier, int from) {
  mok_detector *d = mok_host->detector;
  return d ? &d->flags[owner * MOK_FLAG_LINES + barrier * PLAN_GPUS + from] : NULL;
}

MOK_HOST_UNCHECKED MOK_FN mok_counter_use *mok_counter_uses(const mok_cta *c, const unsigned *word) {
  return mok_host->detector->counters + c->args->rank * 2 * (mok_index)COUNTER_WORDS + (word - mok_counter_set(c, 0));
}

/* Words that a launch clears belong to the next one. */
MOK_HOST_UNCHECKED MOK_FN void mok_counters_cleared(const mok_cta *c, const unsigned *words, mok_index count) {
  mok_engine *e = mok_host;
  if (e->detector == NULL) return;
  mok_counter_use *uses = mok_counter_uses(c, words);
  for (mok_index i = 0; i < count; ++i) {
    uses[i].cleared = true;
    if (uses[i].used)
      mok_find(e, MOK_FINDING_RESET, "reset: rank %d CTA %d clears counter word %lld, which this launch uses", c->args->rank,
               c->cta, (long long)(words + i - mok_counter_set(c, c->epoch)));
  }
}

MOK_HOST_UNCHECKED MOK_FN mok_counter_use *mok_counter_used(const mok_cta *c, const unsigned *word) {
  mok_engine *e = mok_host;
  mok_counter_use *use = mok_counter_uses(c, word);
  use->used = true;
  if (use->cleared)
    mok_find(e, MOK_FINDING_RESET, "reset: rank %d CTA %d uses counter word %lld, which this launch clears", c->args->rank,
             c->cta, (long long)(word - mok_counter_set(c, c->epoch)));
  return use;
}

/* A wait stands for all signals of its word only if it waits for as many as there are. */
MOK_HOST_UNCHECKED MOK_FN void mok_counter_compare(const mok_cta *c, mok_index word, const mok_counter_use *use) {
  const unsigned value = mok_counter_set(c, c->epoch)[word];
  if (use->most > 0 && value > use->least)
    mok_find(mok_host, MOK_FINDING_COUNT, "count: rank %d's counter word %lld is %u, and was waited for with %u", c->args->rank,
             (long long)word, value, use->least);
}

MOK_HOST_UNCHECKED MOK_FN void mok_counter_waited(const mok_cta *c, mok_index word, unsigned target,
                                                  const mok_host_wait_record *wait) {
  mok_engine *e = mok_host;
  if (e->detector == NULL) return;
  mok_counter_use *use = mok_counter_used(c, mok_counter_set(c, c->epoch) + word);
  if (use->most == 0 || use->least > target) use->least = target;
  if (use->most < target) use->most = target;
  mok_counter_compare(c, word, use);
  mok_order_acquire(e, e->current, &use->sync, MOK_SCOPE_GPU, wait);
}

MOK_HOST_UNCHECKED MOK_FN void mok_counter_signalled(const mok_cta *c, mok_index word, mok_scope scope) {
  mok_engine *e = mok_host;
  if (e->detector == NULL) return;
  mok_counter_use *use = mok_counter_used(c, mok_counter_set(c, c->epoch) + word);
  mok_order_release(e, e->current, &use->sync, scope);
}

/* A word of another counter is found by its count; one of no counter would be a wild access. */
MOK_HOST_UNCHECKED MOK_FN void mok_counter_check(const mok_cta *c, int counter, const char *name, mok_index index) {
  if (index < 0 || counter + index >= COUNTER_WORDS)
    mok_find(mok_host, MOK_FINDING_OUTSIDE, "outside: rank %d CTA %d uses %s[%lld], which does not exist", c->args->rank, c->cta,
             name, (long long)index);
}

/* ---- giving up ---- */

MOK_HOST_UNCHECKED MOK_FN bool mok_is_injected(mok_host_injection what, int rank) {
  return mok_host->launch->inject == what && mok_host->launch->inject_rank == rank;
}

/* Of things that are counted: is it this one? */
MOK_HOST_UNCHECKED MOK_FN bool mok_is_injected_now(mok_host_injection what, int rank) {
  return mok_is_injected(what, rank) && mok_host->inject_count++ == mok_host->launch->inject_number;
}

/* The first record of a rank stays; its abort word makes all others of the rank give up. */
MOK_HOST_UNCHECKED MOK_FN void mok_report_wait(const mok_cta *c, const mok_host_wait_record *wait, unsigned kind, int number,
                                               unsigned seen) {
  mok_engine *e = mok_host;
  const mok_fiber *f = e->current;
  unsigned *record = mok_control(c->args, MOK_LINE_WAIT_ERROR);
  e->quiet = true;
  if (mok_acquire(&record[MOK_WAIT_KIND]) == 0) {
    const unsigned words[] = {kind,
                              (unsigned)c->args->rank,
                              (unsigned)c->role,
                              (unsigned)c->instance,
                              (unsigned)c->cta,
                              (unsigned)number,
                              (unsigned)wait->index,
                              wait->target,
                              seen,
                              (unsigned)f->first_warp,
                              (unsigned)wait->line};
    for (int i = MOK_WAIT_LINE; i >= MOK_WAIT_KIND; --i) mok_release_store(&record[i], words[i]);
    e->waited_for[c->args->rank] = wait->name[0] ? wait->name : NULL;
    e->waiting[c->args->rank] = f->worker ? mok_worker_name(e, f->worker) : NULL;
  }
  mok_release_store(mok_control(c->args, MOK_LINE_ABORT), kind);
}

/* A wait that has a limit. False: given up, now or before. */
MOK_HOST_UNCHECKED MOK_FN bool mok_wait_bounded(mok_cta *c, mok_host_wait_record wait, unsigned kind, int number,
                                                const unsigned *poison) {
  if (c->aborted) return false;
  mok_fiber *f = mok_host->current;
  wait.given_up = mok_control(c->args, MOK_LINE_ABORT);
  wait.poison = poison;
  if (mok_block(&wait)) return true;
  if (poison && mok_acquire(poison) != 0) mok_report_wait(c, &wait, MOK_WAIT_IS_POISONED, number, mok_acquire(poison));
  else if (f->expired) mok_report_wait(c, &wait, kind, number, mok_acquire(wait.word));
  f->expired = false;
  c->aborted = true;
  return false;
}

MOK_FN mok_cta mok_enter(const mok_args *launch) {
  mok_fiber *f = mok_host->current;
  mok_cta c;
  memset(&c, 0, sizeof c);
  c.launch = launch;
  c.ctas = launch->comm_ctas + launch->compute_ctas;
  unsigned *ticket_word = mok_control(&launch->ranks[0], MOK_LINE_TICKET);
  const int ticket = (int)mok_release_add(ticket_word);
  if (ticket == c.ctas * launch->num_ranks_here - 1) mok_release_store(ticket_word, 0); /* nobody comes after */
  c.args = &launch->ranks[ticket / c.ctas];
  c.cta = ticket % c.ctas;
  c.role_ctas = c.ctas;
  c.role_cta = c.cta;
  c.instances = 1;
  c.host = f->cta;
  f->cta->rank = c.args->rank;
  f->cta->number = c.cta;

  if (mok_is_injected(MOK_INJECT_RANK_ABSENT, c.args->rank)) {
    (void)mok_release_add(&mok_host->launched);
    f->state = MOK_FIBER_ENDED;
    mok_to_scheduler(f, true);
  }
  const unsigned *given_up = mok_control(c.args, MOK_LINE_ABORT);
  if (mok_is_injected(MOK_INJECT_STALL_CTA, c.args->rank) && (unsigned long long)c.cta == mok_host->launch->inject_number) {
    mok_stall(f, given_up);
    mok_to_scheduler(f, false);
  }
  c.aborted = mok_acquire(given_up) != 0;
  c.epoch = mok_acquire(mok_control(c.args, MOK_LINE_EPOCH));
  c.tokens = c.args->tokens_dev ? *c.args->tokens_dev : c.args->tokens;
  const int bound = c.args->tokens_dev ? mok_min(c.args->tokens, PLAN_TOKENS_PER_GPU) : PLAN_TOKENS_PER_GPU;
  if (c.tokens < 0 || c.tokens > bound) {
    if (c.cta == 0)
      mok_record_input(c.args, MOK_INPUT_BAD_TOKENS, MOK_INPUT_TOKENS, (unsigned)c.tokens, MOK_INPUT_TOKENS, (unsigned)c.tokens);
    c.tokens = 0;
  }
  c.token_blocks = mok_blocks_of(c.tokens);

  unsigned *next = mok_counter_set(&c, c.epoch + 1);
  const mok_index first = (mok_index)COUNTER_WORDS * c.cta / c.ctas, end = (mok_index)COUNTER_WORDS * (c.cta + 1) / c.ctas;
  if (end > first) {
    mok_counters_cleared(&c, next + first, end - first);
    memset(next + first, 0, (size_t)(end - first) * sizeof *next);
  }
  return c;
}

/* Barriers and the end speak for all of the CTA. */
MOK_HOST_UNCHECKED MOK_FN void mok_check_joined(const mok_cta *c, const char *what) {
  for (int warp = 0; warp < PLAN_WARPS; ++warp)
    if (c->host->busy[warp])
      mok_find(mok_host, MOK_FINDING_JOIN, "join: rank %d CTA %d comes to %s before its worker at warp %d was joined",
               c->args->rank, c->cta, what, warp);
}

MOK_FN void mok_leave(mok_cta *c) {
  mok_check_joined(c, "its end");
  unsigned *exits = mok_control(c->args, MOK_LINE_EXITS);
  if ((int)mok_release_add(exits) != c->ctas - 1) return;
  mok_release_store(exits, 0);
  mok_release_store(mok_control(c->args, MOK_LINE_GRID_BARRIER), 0);
  mok_release_store(mok_control(c->args, MOK_LINE_EPOCH), c->epoch + 1);
}

template <int first_warp, int warps, int instances>
MOK_FN void mok_spawn(mok_cta *c, void (*worker)(mok_cta *)) {
  static_assert(first_warp >= 0 && warps > 0 && instances > 0, "a worker has warps");
  static_assert(first_warp + warps * instances <= PLAN_THREADS / 32, "the CTA has these warps");
  if (c->aborted) return;
  for (int warp = first_warp; warp < first_warp + warps * instances; ++warp) {
    if (c->host->busy[warp])
      mok_find(mok_host, MOK_FINDING_JOIN, "join: rank %d CTA %d gives warp %d to a worker while another one has it",
               c->args->rank, c->cta, warp);
    c->host->busy[warp] = true;
  }
  for (int i = 0; i < instances; ++i) {
    c->instance = i;
    c->instances = instances;
    mok_fiber *f = mok_fiber_create(mok_host, c->host, worker, c, first_warp + i * warps);
    if (f == NULL) return;
    if (mok_is_injected_now(MOK_INJECT_STALL_WORKER, c->args->rank)) mok_stall(f, mok_control(c->args, MOK_LINE_ABORT));
    (void)mok_release_add(&c->host->started);
  }
}

/* The last act of a worker: its stores have landed, so that a barrier that follows speaks for them. */
MOK_HOST_UNCHECKED MOK_FN void mok_worker_leave(mok_fiber *f) {
  mok_wait_stores(0);
  mok_order_end(mok_host, f);
  if (f->c->aborted) f->cta->aborted = true;
}

MOK_FN void mok_join(mok_cta *c) {
  const mok_host_wait_record all = {MOK_WAITS_JOIN, &c->host->ended, mok_acquire(&c->host->started), "", 0, 0, NULL, NULL, NULL};
  mok_block(&all);
  memset(c->host->busy, 0, sizeof c->host->busy);
  mok_order_join(mok_host, mok_host->current);
  if (c->host->aborted) c->aborted = true;
}

MOK_FN void mok_grid_barrier(mok_cta *c) {
  mok_engine *e = mok_host;
  mok_check_joined(c, "a barrier");
  unsigned *arrivals = mok_control(c->args, MOK_LINE_GRID_BARRIER);
  const unsigned number = c->host->barriers++, target = c->host->barriers * (unsigned)c->ctas;
  mok_sync *sync = mok_grid_sync(c, number);
  mok_fence_proxy(e, e->current);
  if (sync) mok_order_release(e, e->current, sync, MOK_SCOPE_GPU);
  mok_raise(arrivals);
  const mok_host_wait_record all = {MOK_WAITS_GRID, arrivals, target, "", 0, 0, NULL, NULL, NULL};
  if (mok_wait_bounded(c, all, MOK_WAIT_IS_GRID_BARRIER, (int)number, NULL) && sync)
    mok_order_acquire(e, e->current, sync, MOK_SCOPE_GPU, &all);
  if (mok_acquire(mok_control(c->args, MOK_LINE_ABORT)) != 0) c->aborted = true; /* a CTA that gave up has arrived as well */
  mok_fence_proxy(e, e->current);
}

MOK_FN unsigned *mok_flag(const mok_cta *c, int owner, int barrier, int from) {
  return (unsigned *)mok_heap(c, owner, LAYOUT_FLAGS_OFFSET) + (mok_index)(barrier * PLAN_GPUS + from) * MOK_LINE_WORDS;
}

MOK_FN void mok_host_rank_barrier(mok_cta *c, int barrier, const char *name, int line) {
  mok_engine *e = mok_host;
  const bool with_peers = PLAN_GPUS > 1;
  if (with_peers) mok_fence_system(e, e->current); /* every thread: its stores to peers, before its CTA arrives */
  mok_grid_barrier(c);
  if (!with_peers) return;
  if (c->cta == 0)
    for (int peer = 0; peer < PLAN_GPUS; ++peer) {
      mok_sync *sync = mok_flag_sync(peer, barrier, c->args->rank);
      unsigned *flag = mok_flag(c, peer, barrier, c->args->rank);
      if (c->aborted) {
        mok_release_store(&flag[MOK_FLAG_POISON], mok_acquire(mok_control(c->args, MOK_LINE_ABORT)));
        continue;
      }
      if (sync) mok_order_release(e, e->current, sync, MOK_SCOPE_SYSTEM);
      mok_release_store(&flag[MOK_FLAG_EPOCH], c->epoch + 1);
      mok_preempt();
    }
  for (int peer = 0; peer < PLAN_GPUS; ++peer) {
    const unsigned *words = mok_flag(c, c->args->rank, barrier, peer);
    const mok_host_wait_record flag = {MOK_WAITS_RANKS, &words[MOK_FLAG_EPOCH], c->epoch + 1, name, peer, line, NULL, NULL, NULL};
    if (!mok_wait_bounded(c, flag, MOK_WAIT_IS_RANK_BARRIER, barrier, &words[MOK_FLAG_POISON])) break;
    const mok_sync *sync = mok_flag_sync(c->args->rank, barrier, peer);
    if (sync) mok_order_acquire(e, e->current, sync, MOK_SCOPE_SYSTEM, &flag);
  }
  mok_fence_proxy(e, e->current);
}
#define mok_rank_barrier(c, barrier) mok_host_rank_barrier(c, barrier, #barrier, __LINE__)

MOK_FN void mok_host_wait(mok_cta *c, int counter, const char *name, mok_index index, unsigned target, mok_edge edge,
                          const char *worker, int line) {
  mok_engine *e = mok_host;
  mok_learn_name(e, e->current->worker, worker);
  mok_counter_check(c, counter, name, index);
  const mok_host_wait_record reached = {
      MOK_WAITS_COUNTER, mok_counter_set(c, c->epoch) + counter + index, target, name, index, line, NULL, NULL, NULL};
  if (!mok_wait_bounded(c, reached, MOK_WAIT_IS_COUNTER, counter, NULL)) return;
  mok_counter_waited(c, counter + index, target, &reached);
  if (edge == MOK_EDGE_GENERIC_TO_BULK) mok_fence_proxy(e, e->current);
}
#define mok_wait(c, counter, index, target, edge) \
  mok_host_wait(c, counter, #counter, index, (unsigned)(target), edge, __func__, __LINE__)

/* What the edge asks of the producer before its release. */
MOK_FN void mok_before_release(mok_edge edge) {
  switch (edge) {
    case MOK_EDGE_BULK_TO_BULK:
    case MOK_EDGE_BULK_TO_GENERIC:
      mok_wait_stores(0);
      break;
    case MOK_EDGE_READ_TO_WRITE:
      mok_wait_stores_read(0);
      break;
    case MOK_EDGE_GENERIC_TO_BULK:
      mok_fence_proxy(mok_host, mok_host->current);
      break;
    case MOK_EDGE_GENERIC_TO_GENERIC:
      break;
  }
}

MOK_HOST_UNCHECKED MOK_FN void mok_host_signal(mok_cta *c, int counter, const char *name, mok_index index, mok_edge edge,
                                               const char *worker) {
  mok_learn_name(mok_host, mok_host->current->worker, worker);
  mok_counter_check(c, counter, name, index);
  mok_before_release(edge);
  if (c->aborted) return;
  if (mok_is_injected_now(MOK_INJECT_LOSE_SIGNAL, c->args->rank)) return;
  mok_counter_signalled(c, counter + index, MOK_SCOPE_GPU);
  mok_raise(mok_counter_set(c, c->epoch) + counter + index);
}
#define mok_signal(c, counter, index, edge) mok_host_signal(c, counter, #counter, index, edge, __func__)

#endif
