/* A CTA's way through a launch: ticket, epoch, workers, exit. */
#ifndef MOK_LAUNCH_H
#define MOK_LAUNCH_H

enum { MOK_STAGES = PLAN_GATE_UP_STAGES };
static_assert(PLAN_DOWN_STAGES == MOK_STAGES, "both products use the same pipeline stages");
static_assert(MOK_STAGES >= 2, "a stage is freed when the next one's products have been started");
static_assert(MOK_STAGES + 1 < MOK_STORED_TURNS, "warps that share stages are fewer tiles apart than there are turns");

MOK_FN unsigned mok_full_barrier(const mok_cta *c, int stage) {
  return c->shared + (unsigned)((int)LAYOUT_BARRIERS_OFFSET + stage * 8);
}
MOK_FN unsigned mok_empty_barrier(const mok_cta *c, int stage) { return mok_full_barrier(c, MOK_STAGES + stage); }

/* Of a stage: by the thread that expects its bytes; in a kernel that gathers, also by every loading thread. */
enum { MOK_FULL_ARRIVALS = 1 + (MOK_GATHERS ? 128 : 0) };

MOK_FN int mok_ctas_per_rank(const mok_args *launch) { return launch->comm_ctas + launch->compute_ctas; }

/* The token count of this launch, for one thread of each CTA; a count outside the capacity is recorded by the rank's first CTA
 * and taken as 0. */
MOK_FN int mok_count_tokens(const mok_cta *c) {
  const mok_rank_args *args = c->args;
  const int limit = args->tokens_dev ? args->tokens : PLAN_TOKENS_PER_GPU;
  const int tokens = args->tokens_dev ? (int)mok_ptx_load_relaxed_sys((const unsigned *)args->tokens_dev) : args->tokens;
  if (tokens >= 0 && tokens <= mok_min(limit, PLAN_TOKENS_PER_GPU)) return tokens;
  if (c->cta == 0) {
    unsigned *record = mok_control(args, MOK_LINE_INPUT_ERROR);
    if (record[MOK_INPUT_BAD_TOKENS]++ == 0) record[MOK_INPUT_TOKENS] = (unsigned)tokens;
  }
  return 0;
}

/* Roles follow the order in which CTAs start, not a block-to-SM map: the first CTA of a cluster draws for all of it. */
MOK_FN int mok_draw_ticket(const mok_args *launch) {
  const int place = PLAN_CLUSTER > 1 ? mok_ptx_cluster_cta() : 0;
  if (mok_thread() == 0 && place == 0)
    *mok_cta_word(MOK_CTA_TICKET) = mok_ptx_fetch_add(mok_control(&launch->ranks[0], MOK_LINE_TICKET), PLAN_CLUSTER);
  if (PLAN_CLUSTER > 1) mok_ptx_cluster_barrier();
  if (mok_thread() != 0) return 0;
  const unsigned word = mok_shared_address((int)LAYOUT_CTA_OFFSET + MOK_CTA_TICKET * 4);
  return (int)(PLAN_CLUSTER > 1 ? mok_ptx_load_cluster(mok_ptx_map_shared(word, 0)) : *mok_cta_word(MOK_CTA_TICKET)) + place;
}

MOK_FN mok_cta mok_enter(const mok_args *launch) {
  mok_cta c = {};
  c.launch = launch;
  c.shared = mok_shared_address(0);
  if (mok_thread() == 0) {
    *mok_cta_word(MOK_CTA_ABORTED) = 0;
    for (int stage = 0; stage < MOK_STAGES; ++stage) {
      mok_ptx_barrier_init(mok_full_barrier(&c, stage), MOK_FULL_ARRIVALS);
      mok_ptx_barrier_init(mok_empty_barrier(&c, stage), PLAN_CLUSTER * MOK_CONSUMERS * 4); /* warps that multiply */
    }
    for (int i = 0; i < MOK_CONSUMERS * MOK_STORED_TURNS; ++i) *mok_cta_word(MOK_CTA_STORED + i) = 0;
    mok_ptx_fence_barrier_init();
  }
  const int ticket = mok_draw_ticket(launch);
  if (mok_thread() == 0) {
    c.ctas = mok_ctas_per_rank(launch);
    c.args = &launch->ranks[ticket / c.ctas];
    c.cta = ticket % c.ctas;
    c.aborted = mok_is_aborted(&c);
    c.epoch = mok_ptx_load_relaxed_sys(mok_control(c.args, MOK_LINE_EPOCH));
    c.tokens = mok_count_tokens(&c);
    c.token_blocks = mok_blocks_of(c.tokens);
    /* It loads tiles; the maps were written since it ran here last. */
    for (int map = 0; map < MAP_COUNT; ++map) mok_ptx_fence_map(&c.args->maps[map]);
  }
  mok_meet_cta(&c);
  mok_roles(&c, 0, 0);

  /* The last launch has ended, so nobody uses the other set. */
  unsigned *next = mok_counter_set(&c, c.epoch + 1);
  for (int i = c.cta * PLAN_THREADS + mok_thread(); i < COUNTER_WORDS; i += c.ctas * PLAN_THREADS) next[i] = 0;
  return c;
}

MOK_FN void mok_leave(mok_cta *c) {
  __syncthreads();
  if (mok_thread() != 0) return;
  enum { RANK_EXITS = 0, LAUNCH_EXITS = 1 }; /* words of the line; the second one of the launch's first rank only */
  unsigned *exits = mok_control(c->args, MOK_LINE_EXITS);
  if (mok_ptx_fetch_add(&exits[RANK_EXITS], 1) == (unsigned)c->ctas - 1) {
    exits[RANK_EXITS] = 0;
    *mok_control(c->args, MOK_LINE_GRID_BARRIER) = 0;
    *mok_control(c->args, MOK_LINE_EPOCH) = c->epoch + 1;
  }
  const mok_rank_args *first = &c->launch->ranks[0];
  unsigned *launch_exits = &mok_control(first, MOK_LINE_EXITS)[LAUNCH_EXITS];
  if (mok_ptx_fetch_add(launch_exits, 1) == (unsigned)(c->ctas * c->launch->num_ranks_here) - 1) {
    *launch_exits = 0;
    *mok_control(first, MOK_LINE_TICKET) = 0;
  }
}

/* Registers of a thread while warpgroups multiply: warpgroup 0 lends some of its own to the others, and takes them back when all
 * have returned theirs. A kernel of two warpgroups has enough for everybody. */
enum {
  MOK_REGISTERS = 65536 / PLAN_THREADS / 8 * 8, /* as the launch shares them out */
  MOK_LENDS = MOK_REGISTERS < 232,
  MOK_REGISTERS_LENDING = MOK_GATHERS ? 72 : 40,
  MOK_REGISTERS_MULTIPLYING = MOK_GATHERS ? 216 : 232
};
static_assert(!MOK_LENDS || MOK_CONSUMERS * (MOK_REGISTERS_MULTIPLYING - MOK_REGISTERS) <= MOK_REGISTERS - MOK_REGISTERS_LENDING,
              "what warpgroup 0 lends is enough for the others");

/* Each instance gets a copy of the CTA's struct. An aborted CTA starts no worker. Warpgroup 0 loads, the others multiply. */
template <int first_warp, int warps, int instances, typename worker_function>
MOK_FN void mok_spawn(mok_cta *c, worker_function worker) {
  static_assert(first_warp >= 0 && first_warp + warps * instances <= MOK_WARPS, "a CTA has PLAN_THREADS / 32 warps");
  constexpr bool lends = MOK_LENDS && first_warp == 0 && warps <= 4 && instances == 1,
                 multiplies = MOK_LENDS && first_warp == 4 && warps == 4;
  if (c->aborted) return;
  if (lends && mok_warp() < 4) mok_ptx_fewer_registers<MOK_REGISTERS_LENDING>();
  const int warp = mok_warp() - first_warp;
  if (warp >= 0 && warp < warps * instances) {
    if (multiplies) mok_ptx_more_registers<MOK_REGISTERS_MULTIPLYING>();
    mok_cta mine = *c;
    mine.instance = warp / warps;
    mine.instances = instances;
    mine.first_warp = first_warp + mine.instance * warps;
    mine.warps = warps;
    mine.warp = warp % warps;
    mine.maps = c->args->maps;
    mok_ptx_keep(mine.shared);
    mok_ptx_keep(mine.maps);
    mine.owed = MOK_NOTHING_OWED;
    mine.turn = 0;
    worker(&mine);
    if (warps == 4) mok_pay(&mine);
    c->stage = mine.stage;
    c->parity = mine.parity;
    c->has_slots = mine.has_slots;
    c->aborted = mine.aborted;
    if (multiplies) {
      mok_meet(&mine, false); /* between two setmaxnreg of a warpgroup, as there may have been no task */
      mok_ptx_fewer_registers<MOK_REGISTERS>();
    }
  }
}

/* Nobody takes registers back before all have returned theirs. For most threads, and in most phases for all of them, nothing
 * changes here: one instruction for everybody tells ptxas what the code that follows may use. */
MOK_FN void mok_join(mok_cta *c) {
  mok_meet_cta(c);
  if (MOK_LENDS) mok_ptx_more_registers<MOK_REGISTERS>();
}

#endif
