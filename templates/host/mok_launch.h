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

  c.epoch = mok_acquire(mok_control(c.args, MOK_LINE_EPOCH));
  c.tokens = c.args->tokens_dev ? *c.args->tokens_dev : c.args->tokens;
  const int bound = c.args->tokens_dev ? mok_min(c.args->tokens, PLAN_TOKENS_PER_GPU) : PLAN_TOKENS_PER_GPU;
  if (c.tokens < 0 || c.tokens > bound) {
    if (c.cta == 0)
      mok_record_input(c.args, MOK_INPUT_BAD_TOKENS, MOK_INPUT_TOKENS, (unsigned)c.tokens, MOK_INPUT_TOKENS, (unsigned)c.tokens);
    c.tokens = 0;
  }
  c.token_blocks = (c.tokens + PLAN_ROW_PADDING - 1) / PLAN_ROW_PADDING;

  unsigned *next = mok_counter_set(&c, c.epoch + 1);
  const mok_index first = (mok_index)COUNTER_WORDS * c.cta / c.ctas, end = (mok_index)COUNTER_WORDS * (c.cta + 1) / c.ctas;
  if (end > first) memset(next + first, 0, (size_t)(end - first) * sizeof *next);
  return c;
}

MOK_FN void mok_leave(mok_cta *c) {
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
  for (int i = 0; i < instances; ++i) {
    c->instance = i;
    c->instances = instances;
    mok_fiber *f = mok_fiber_create(mok_host, c->host, worker, c);
    if (f == NULL) return;
    f->first_warp = first_warp + i * warps;
    (void)mok_release_add(&c->host->started);
  }
}

MOK_FN void mok_join(mok_cta *c) {
  const mok_host_wait_record all = {MOK_WAITS_JOIN, &c->host->ended, mok_acquire(&c->host->started), "", 0, 0};
  mok_block(&all);
}

MOK_FN void mok_grid_barrier(mok_cta *c) {
  unsigned *arrivals = mok_control(c->args, MOK_LINE_GRID_BARRIER);
  const unsigned target = ++c->host->barriers * (unsigned)c->ctas;
  mok_raise(arrivals);
  const mok_host_wait_record all = {MOK_WAITS_GRID, arrivals, target, "", 0, 0};
  mok_block(&all);
}

MOK_FN unsigned *mok_flag(const mok_cta *c, int owner, int barrier, int from) {
  return (unsigned *)mok_heap(c, owner, LAYOUT_FLAGS_OFFSET) + (mok_index)(barrier * PLAN_GPUS + from) * MOK_LINE_WORDS;
}

MOK_FN void mok_host_rank_barrier(mok_cta *c, int barrier, const char *name, int line) {
  mok_grid_barrier(c);
  if (PLAN_GPUS == 1) return;
  if (c->cta == 0)
    for (int peer = 0; peer < PLAN_GPUS; ++peer) {
      mok_release_store(mok_flag(c, peer, barrier, c->args->rank), c->epoch + 1);
      mok_preempt();
    }
  for (int peer = 0; peer < PLAN_GPUS; ++peer) {
    const mok_host_wait_record flag = {
        MOK_WAITS_RANKS, mok_flag(c, c->args->rank, barrier, peer), c->epoch + 1, name, peer, line};
    mok_block(&flag);
  }
}
#define mok_rank_barrier(c, barrier) mok_host_rank_barrier(c, barrier, #barrier, __LINE__)

MOK_FN void mok_host_wait(mok_cta *c, int counter, const char *name, mok_index index, unsigned target, const char *worker,
                          int line) {
  mok_learn_name(mok_host, mok_host->current->worker, worker);
  const mok_host_wait_record reached = {
      MOK_WAITS_COUNTER, mok_counter_set(c, c->epoch) + counter + index, target, name, index, line};
  mok_block(&reached);
}
#define mok_wait(c, counter, index, target, edge) \
  ((void)(edge), mok_host_wait(c, counter, #counter, index, (unsigned)(target), __func__, __LINE__))

MOK_FN void mok_host_signal(mok_cta *c, int counter, mok_index index, const char *worker) {
  mok_learn_name(mok_host, mok_host->current->worker, worker);
  mok_raise(mok_counter_set(c, c->epoch) + counter + index);
}
#define mok_signal(c, counter, index, edge) ((void)(edge), mok_host_signal(c, counter, index, __func__))

#endif
