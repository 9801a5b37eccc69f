/* Waiting and signalling: between workers of a CTA, CTAs of a rank, and ranks; and how a wait that never ends is given up.
 *
 * A wait that expires writes its record, sets the rank's abort word and goes on without waiting. Everybody else sees the word at
 * the next wait. Inside a phase an aborted worker runs its tasks out without touching memory, so that workers that hand stages
 * to each other stay in step; at the next barrier the whole CTA learns of it and later workers are not started.
 */
#ifndef MOK_SYNC_H
#define MOK_SYNC_H

MOK_FN int mok_thread() { return (int)threadIdx.x; }
MOK_FN int mok_lane() { return mok_ptx_lane(); }
/* From lane 0: so ptxas knows that it is the same in all lanes. */
MOK_FN int mok_warp() { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0); }

/* Barriers in shared memory, between workers of a CTA or a thread and its copies. */
MOK_FN void mok_wait_barrier(unsigned barrier, unsigned parity) {
  while (!mok_ptx_barrier_try_wait(barrier, parity)) {
  }
}

/* The same for a stage that warps of every CTA of the cluster have read. */
MOK_FN void mok_wait_empty(unsigned barrier, unsigned parity) {
  while (!(PLAN_CLUSTER > 1 ? mok_ptx_barrier_try_wait_cluster(barrier, parity) : mok_ptx_barrier_try_wait(barrier, parity))) {
  }
}

/* The threads of a worker instance meet; what each wrote before is visible to all after. True if `any` is true for one. */
MOK_FN bool mok_meet(const mok_cta *c, bool any) {
  if (c->warps != 1) return mok_ptx_barrier_or(1 + c->first_warp, c->warps * 32, any);
  const bool result = __any_sync(0xffffffffu, any) != 0;
  __syncwarp();
  return result;
}
MOK_FN int mok_instance_thread(const mok_cta *c) { return mok_thread() - c->first_warp * 32; }
MOK_FN bool mok_is_leader(const mok_cta *c) { return mok_instance_thread(c) == 0; }

/* What one thread waits for, as it is reported when the wait expires. */
typedef struct mok_waiting {
  int kind, number, index; /* number: counter or barrier; index: in the counter, or the peer */
  unsigned expected;
  int line; /* of kernel.cu */
} mok_waiting;

MOK_FN void mok_report_wait(const mok_cta *c, int kind, const mok_waiting &what, unsigned seen) {
  unsigned *record = mok_control(c->args, MOK_LINE_WAIT_ERROR);
  if (mok_ptx_compare_swap(&record[MOK_WAIT_KIND], 0, (unsigned)kind) == 0) {
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_RANK], (unsigned)c->args->rank);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_ROLE], (unsigned)c->role);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_INSTANCE], (unsigned)c->instance);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_CTA], (unsigned)c->cta);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_COUNTER], (unsigned)what.number);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_INDEX], (unsigned)what.index);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_EXPECTED], what.expected);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_SEEN], seen);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_WARP], (unsigned)c->first_warp);
    mok_ptx_store_relaxed_sys(&record[MOK_WAIT_LINE], (unsigned)what.line);
  }
  mok_ptx_store_release_sys(mok_control(c->args, MOK_LINE_ABORT), (unsigned)kind);
}

MOK_FN bool mok_is_aborted(const mok_cta *c) { return mok_ptx_load_relaxed_sys(mok_control(c->args, MOK_LINE_ABORT)) != 0; }

/* Back-off of one polling thread. False: give up, the rank is aborted or the limit has passed (then reported). */
typedef struct mok_patience {
  unsigned long long start;
  unsigned polls;
} mok_patience;

MOK_FN bool mok_keep_waiting(const mok_cta *c, mok_patience &patience, const mok_waiting &what, unsigned seen) {
  patience.polls++;
  if (patience.polls < 16) return true; /* the usual wait is shorter than a sleep */
  if (patience.polls == 16) patience.start = mok_ptx_time();
  mok_ptx_sleep(patience.polls < 256 ? 64 : 512);
  if (mok_is_aborted(c)) return false;
  unsigned limit_ms = what.kind == MOK_WAIT_IS_RANK_BARRIER ? c->launch->peer_limit_ms : c->launch->local_limit_ms;
  if (limit_ms == 0) limit_ms = what.kind == MOK_WAIT_IS_RANK_BARRIER ? MOK_PEER_LIMIT_MS : MOK_LOCAL_LIMIT_MS;
  if (mok_ptx_time() - patience.start < limit_ms * 1000000ull) return true;
  mok_report_wait(c, what.kind, what, seen);
  return false;
}

/* One thread waits until a word of this rank has counted up to `what.expected`. */
MOK_FN bool mok_poll(const mok_cta *c, const unsigned *word, const mok_waiting &what) {
  mok_patience patience = {0, 0};
  for (;;) {
    const unsigned seen = mok_ptx_load_acquire_gpu(word);
    if ((int)(seen - what.expected) >= 0) return true;
    if (!mok_keep_waiting(c, patience, what, seen)) return false;
  }
}

/* A multiplying warp puts the signal of a tile off until the tile's rows have been written, and goes on with the next tile: what
 * nobody waits for is not waited for here either. It pays, each warp by itself, some stages later, or as soon as it would have to
 * wait; the last warp of the warpgroup sends. Warps are never MOK_STORED_TURNS tiles apart, because they share the stages: with
 * tiles of one stage each, a warp pays for at most MOK_STAGES + 1 tiles more than another. */
MOK_FN void mok_pay(mok_cta *c) {
  if (c->owed == MOK_NOTHING_OWED) return;
  mok_ptx_bulk_wait<0>(); /* written, not only read */
  __syncwarp();
  if (mok_lane() == 0) {
    const int stored = MOK_CTA_STORED + c->instance * MOK_STORED_TURNS + (int)(c->turn % MOK_STORED_TURNS);
    if (mok_ptx_fetch_add_shared(mok_shared_address((int)LAYOUT_CTA_OFFSET + stored * 4), 1) % 4 == 3)
      mok_ptx_add_release_gpu(mok_counter_set(c, c->epoch) + c->owed, 1);
  }
  c->owed = MOK_NOTHING_OWED;
  c->turn++;
}

MOK_FN void mok_wait_at(mok_cta *c, int counter, int index, int target, mok_edge edge, int line) {
  mok_pay(c);
  bool gave_up = c->aborted;
  if (mok_is_leader(c) && !gave_up) {
    const mok_waiting what = {MOK_WAIT_IS_COUNTER, counter, index, (unsigned)target, line};
    gave_up = !mok_poll(c, mok_counter_set(c, c->epoch) + counter + index, what);
  }
  if (edge == MOK_EDGE_GENERIC_TO_BULK) mok_ptx_fence_async_global();
  c->aborted = mok_meet(c, gave_up); /* the leader's acquire reaches the others through the barrier */
}
#define mok_wait(c, counter, index, target, edge) mok_wait_at(c, counter, index, target, edge, __LINE__)

MOK_FN void mok_signal(mok_cta *c, int counter, int index, mok_edge edge) {
  if (c->warps == 4 && (edge == MOK_EDGE_BULK_TO_BULK || edge == MOK_EDGE_BULK_TO_GENERIC)) {
    mok_pay(c);
    if (!c->aborted) c->owed = counter + index;
    return;
  }
  if (edge == MOK_EDGE_BULK_TO_BULK || edge == MOK_EDGE_BULK_TO_GENERIC) mok_ptx_bulk_wait<0>(); /* written, not only read */
  if (edge == MOK_EDGE_GENERIC_TO_BULK) mok_ptx_fence_async_global();
  mok_meet(c, false);
  if (mok_is_leader(c) && !c->aborted) mok_ptx_add_release_gpu(mok_counter_set(c, c->epoch) + counter + index, 1);
}

/* The whole CTA meets, and learns whether any of its threads has given up; in a cluster, any thread of the cluster: its CTAs wait
 * for each other without a limit, so they work together or not at all. */
MOK_FN void mok_meet_cta(mok_cta *c) {
  c->aborted = __syncthreads_or(c->aborted) != 0;
#if PLAN_CLUSTER > 1
  const unsigned word = mok_shared_address((int)LAYOUT_CTA_OFFSET + MOK_CTA_ABORTED * 4);
  if (c->aborted && mok_thread() < PLAN_CLUSTER) mok_ptx_store_cluster(mok_ptx_map_shared(word, mok_thread()), 1);
  mok_ptx_cluster_barrier();
  c->aborted = __syncthreads_or(*(volatile unsigned *)mok_cta_word(MOK_CTA_ABORTED) != 0) != 0;
#endif
}

MOK_FN void mok_grid_barrier(mok_cta *c) {
  mok_ptx_bulk_wait<0>();
  mok_ptx_fence_async();
  __syncthreads();
  c->barriers++;
  if (mok_thread() == 0) {
    unsigned *arrivals = mok_control(c->args, MOK_LINE_GRID_BARRIER);
    const mok_waiting what = {MOK_WAIT_IS_GRID_BARRIER, (int)c->barriers - 1, 0, c->barriers * (unsigned)c->ctas, 0};
    mok_ptx_add_release_gpu(arrivals, 1);
    /* A CTA that gave up arrives as well: its word says so. */
    if (!c->aborted) c->aborted = !mok_poll(c, arrivals, what) || mok_is_aborted(c);
  }
  mok_meet_cta(c);
  mok_ptx_fence_async();
}

/* One thread waits for one peer. The flag is a launch number, so a peer that is ahead counts as arrived. */
MOK_FN bool mok_poll_peer(const mok_cta *c, int barrier, int peer) {
  const unsigned *flag = (const unsigned *)mok_heap(c, c->args->rank, LAYOUT_FLAGS_OFFSET) +
                         (mok_index)(barrier * PLAN_GPUS + peer) * MOK_LINE_WORDS;
  const mok_waiting what = {MOK_WAIT_IS_RANK_BARRIER, barrier, peer, c->epoch + 1, 0};
  mok_patience patience = {0, 0};
  for (;;) {
    const unsigned seen = mok_ptx_load_acquire_sys(&flag[MOK_FLAG_EPOCH]);
    if ((int)(seen - what.expected) >= 0) return true;
    const unsigned reason = mok_ptx_load_relaxed_sys(&flag[MOK_FLAG_POISON]);
    if (reason != 0) {
      mok_report_wait(c, MOK_WAIT_IS_POISONED, what, reason);
      return false;
    }
    if (!mok_keep_waiting(c, patience, what, seen)) return false;
  }
}

MOK_FN void mok_rank_barrier(mok_cta *c, int barrier) {
  const bool with_peers = PLAN_GPUS > 1 && c->launch->phases == MOK_PHASE_ALL;
  if (with_peers) mok_ptx_bulk_wait<0>();
  if (with_peers) mok_ptx_fence_sys(); /* every thread: its stores to peers, before its CTA arrives */
  mok_grid_barrier(c);
  if (!with_peers) return;
  if (c->cta == 0 && mok_thread() < PLAN_GPUS) {
    unsigned *flag = (unsigned *)mok_heap(c, mok_thread(), LAYOUT_FLAGS_OFFSET) +
                     (mok_index)(barrier * PLAN_GPUS + c->args->rank) * MOK_LINE_WORDS;
    if (c->aborted)
      mok_ptx_store_relaxed_sys(&flag[MOK_FLAG_POISON], mok_ptx_load_relaxed_sys(mok_control(c->args, MOK_LINE_ABORT)));
    else mok_ptx_store_release_sys(&flag[MOK_FLAG_EPOCH], c->epoch + 1);
  }
  /* Every CTA reads all flags itself: that is the grid barrier on this side too. */
  if (mok_thread() < PLAN_GPUS && !c->aborted) c->aborted = !mok_poll_peer(c, barrier, mok_thread());
  mok_meet_cta(c);
}

#endif
