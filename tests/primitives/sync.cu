/* Waits, signals and barriers. Memory changes hands by what the edge or barrier under test promises and by nothing else, many
 * times over, and who gets it checks every word. Some scenarios lack a partner and must end in a fault. */
#include "mok_target.h"

#include "cases.h"

enum {
  ROW_WORDS = PLAN_HIDDEN / 2,
  ITEM_WORDS = SYNC_RING_ROWS * ROW_WORDS,
  BLOCKS = PLAN_CAPACITY_ROWS / PLAN_ROW_PADDING,
  ITEMS = BLOCKS < COUNTER_WORDS / 4 ? BLOCKS : COUNTER_WORDS / 4,
  /* Counters: an item is filled, pushed, pulled, read. */
  FILLED = 0,
  PUSHED = ITEMS,
  PULLED = 2 * ITEMS,
  READ = 3 * ITEMS
};
static_assert(SYNC_RING_ROWS <= PLAN_DISPATCH_ROWS && SYNC_SLOTS <= PLAN_RING_SLOTS, "an item is one task, in a slot of its own");
static_assert(PLAN_HIDDEN % 2 == 0 && SYNC_RING_ROWS % SYNC_FILLERS == 0, "rows are words, tasks are rows");

/* Shares words 0 .. count - 1 out over an instance's threads; its first warp is a multiple of its warps. */
#ifdef __CUDACC__
#define FOR_EACH_WORD(i, count, warps) for (int i = (int)threadIdx.x % (32 * (warps)); i < (count); i += 32 * (warps))
#else
#define FOR_EACH_WORD(i, count, warps) for (int i = 0; i < (count); ++i)
#endif

MOK_FN int scenario(const mok_cta *c) { return ((const int *)c->args->shared_down.base)[WORD_SCENARIO]; }
MOK_FN int *answer(const mok_cta *c) { return (int *)c->args->shared_up.base; }

/* Another one for each launch, item and word. */
MOK_FN unsigned value(const mok_cta *c, int item, int word) {
  return ((unsigned)word + 1) * 2654435761u ^ ((unsigned)item * 40503u + (unsigned)c->epoch * 6700417u);
}
MOK_FN unsigned *ring_words(const mok_cta *c, mok_index ring, int slot) {
  return (unsigned *)mok_local(c, ring) + (mok_index)slot * PLAN_ROW_PADDING * ROW_WORDS;
}
MOK_FN unsigned *combine_words(const mok_cta *c, int rank, int row) {
  return (unsigned *)mok_heap(c, rank, LAYOUT_COMBINE_OFFSET) + (mok_index)row * ROW_WORDS;
}
template <int warps>
MOK_FN void write_words(const mok_cta *c, unsigned *to, int first, int count, int item) {
  FOR_EACH_WORD(i, count, warps) to[first + i] = value(c, item, first + i);
}
template <int warps>
MOK_FN void check_words(const mok_cta *c, const unsigned *words, int count, int item) {
  FOR_EACH_WORD(i, count, warps) if (words[i] != value(c, item, i)) answer(c)[SYNC_WRONG] = item + 1;
}

/* ---- every kind of edge, and rings of a few slots ----
 *
 * A fill task writes half an item to ring_y; push copies the item to combine, which is x as well; pull copies it to ring_x; a
 * check task reads it there and gives the slot back. */

template <int warps>
MOK_FN void fill(mok_cta *c, mok_index j) {
  enum { words = ITEM_WORDS / SYNC_FILLERS };
  const int item = (int)(j / SYNC_FILLERS), slot = item % SYNC_SLOTS;
  if (item >= SYNC_SLOTS) mok_wait(c, READ, item - SYNC_SLOTS, 1, MOK_EDGE_READ_TO_WRITE);
  write_words<warps>(c, ring_words(c, LAYOUT_RING_Y_OFFSET, slot), (int)(j % SYNC_FILLERS) * words, words, item);
  mok_signal(c, FILLED, item, MOK_EDGE_GENERIC_TO_BULK);
}
template <int warps>
MOK_FN void check(mok_cta *c, mok_index item) {
  mok_wait(c, PULLED, (int)item, 1, MOK_EDGE_BULK_TO_GENERIC);
  check_words<warps>(c, ring_words(c, LAYOUT_RING_X_OFFSET, (int)item % SYNC_SLOTS), ITEM_WORDS, (int)item);
  answer(c)[SYNC_DONE + item] = (int)c->epoch + 1;
  mok_signal(c, READ, (int)item, MOK_EDGE_READ_TO_WRITE);
}

template <int warps>
MOK_WORKER void fill_items(mok_cta *c) {
  for (mok_index j = mok_first(c); j < SYNC_FILLERS * ITEMS; j += mok_stride(c)) fill<warps>(c, j);
}
template <int warps>
MOK_WORKER void check_items(mok_cta *c) {
  for (mok_index item = mok_first(c); item < ITEMS; item += mok_stride(c)) check<warps>(c, item);
}
/* CTAs of even number fill, the others check. */
MOK_WORKER void fill_or_check(mok_cta *c) {
  const int first = c->role_cta / 2, step = c->role_ctas / 2;
  if (c->role_cta % 2 == 0)
    for (mok_index j = first; j < SYNC_FILLERS * ITEMS; j += step) fill<PLAN_WARPS>(c, j);
  else
    for (mok_index item = first; item < ITEMS; item += step) check<PLAN_WARPS>(c, item);
}

MOK_FN mok_task item_task(int item) {
  const mok_task t = {0, 0, item, item % SYNC_SLOTS, 0, SYNC_RING_ROWS, 0};
  return t;
}
MOK_WORKER void push_items(mok_cta *c) {
  for (mok_index item = mok_first(c); item < ITEMS; item += mok_stride(c)) {
    const mok_task t = item_task((int)item);
    mok_wait(c, FILLED, (int)item, SYNC_FILLERS, MOK_EDGE_GENERIC_TO_BULK);
    mok_push_rows(c, &t);
    mok_signal(c, PUSHED, (int)item, MOK_EDGE_BULK_TO_BULK);
  }
}
MOK_WORKER void pull_items(mok_cta *c) {
  for (mok_index item = mok_first(c); item < ITEMS; item += mok_stride(c)) {
    const mok_task t = item_task((int)item);
    mok_wait(c, PUSHED, (int)item, 1, MOK_EDGE_BULK_TO_BULK);
    mok_pull_rows(c, &t);
    mok_signal(c, PULLED, (int)item, MOK_EDGE_BULK_TO_GENERIC);
  }
}

MOK_FN void run_pipeline(mok_cta *c) {
  static_assert(PLAN_WARPS == 8, "two instances of four warps");
  switch (c->role) {
    case 0:
      switch (scenario(c)) {
        case SYNC_PIPELINE_WARP_GROUP:
          mok_spawn<0, 1, 4>(c, fill_items<1>);
          mok_spawn<4, 4, 1>(c, check_items<4>);
          break;
        case SYNC_PIPELINE_GROUP_WARP:
          mok_spawn<0, 4, 1>(c, fill_items<4>);
          mok_spawn<4, 1, 4>(c, check_items<1>);
          break;
        case SYNC_PIPELINE_CTAS:
          mok_spawn<0, PLAN_WARPS, 1>(c, fill_or_check);
          break;
      }
      break;
    case 1:
      mok_spawn<0, 1, PLAN_PULL_WARPS>(c, pull_items);
      mok_spawn<PLAN_PULL_WARPS, 1, PLAN_PUSH_WARPS>(c, push_items);
      break;
  }
  mok_join(c);
  mok_grid_barrier(c);
}

/* ---- barriers ---- */

/* x's row cta + 1 to ring_x; the table of sources says so. */
MOK_WORKER void pull_neighbour(mok_cta *c) {
  const mok_task t = {0, 0, c->cta, c->cta, 0, 1, 0};
  mok_pull_rows(c, &t);
}

/* Generic writes, bulk reads behind a barrier; bulk writes, generic reads behind the next. x is combine here. */
MOK_FN void run_grid_barrier(mok_cta *c) {
  for (int round = 0; round < SYNC_ROUNDS; ++round) {
    write_words<PLAN_WARPS>(c, combine_words(c, c->args->rank, c->cta), 0, ROW_WORDS, round * c->ctas + c->cta);
    mok_grid_barrier(c);
    mok_spawn<0, 1, 1>(c, pull_neighbour);
    mok_join(c);
    mok_grid_barrier(c);
    const int other = (c->cta + 2) % c->ctas, source = (other + 1) % c->ctas;
    check_words<PLAN_WARPS>(c, ring_words(c, LAYOUT_RING_X_OFFSET, other), ROW_WORDS, round * c->ctas + source);
  }
  answer(c)[SYNC_DONE + c->cta] = (int)c->epoch + 1;
}

/* Row p of this CTA's block of ring_y to rank p. */
MOK_WORKER void push_to_peers(mok_cta *c) {
  const mok_task t = {0, 0, c->cta, c->cta, 0, PLAN_GPUS, 0};
  mok_push_rows(c, &t);
}

/* Every CTA writes to every rank and reads what every CTA of every rank wrote: generic writes before the first barrier, bulk ones
 * before the second. */
MOK_FN void run_rank_barrier(mok_cta *c) {
  const int writers = PLAN_GPUS * c->ctas, self = c->args->rank * c->ctas + c->cta, own = c->args->rank;
  for (int peer = 0; peer < PLAN_GPUS; ++peer)
    write_words<PLAN_WARPS>(c, combine_words(c, peer, self), 0, ROW_WORDS, self * PLAN_GPUS + peer);
  mok_rank_barrier(c, 0);
  for (int from = 0; from < writers; ++from)
    check_words<PLAN_WARPS>(c, combine_words(c, own, from), ROW_WORDS, from * PLAN_GPUS + own);

  for (int peer = 0; peer < PLAN_GPUS; ++peer)
    write_words<PLAN_WARPS>(c, ring_words(c, LAYOUT_RING_Y_OFFSET, c->cta) + peer * ROW_WORDS, 0, ROW_WORDS,
                            (writers + self) * PLAN_GPUS + peer);
  mok_grid_barrier(c);
  mok_spawn<PLAN_PULL_WARPS, 1, 1>(c, push_to_peers);
  mok_join(c);
  mok_rank_barrier(c, SYNC_LAST_BARRIER);
  for (int from = writers; from < 2 * writers; ++from)
    check_words<PLAN_WARPS>(c, combine_words(c, own, from), ROW_WORDS, from * PLAN_GPUS + own);
  answer(c)[SYNC_DONE + c->cta] = (int)c->epoch + 1;
}

/* ---- faults ---- */

MOK_WORKER void wait_in_vain(mok_cta *c) {
  mok_wait(c, SYNC_LOST_COUNTER, SYNC_LOST_INDEX, SYNC_LOST_TARGET, MOK_EDGE_GENERIC_TO_GENERIC);
}
MOK_WORKER void signal_once(mok_cta *c) { mok_signal(c, SYNC_LOST_COUNTER, SYNC_LOST_INDEX, MOK_EDGE_GENERIC_TO_GENERIC); }

/* Every CTA waits, so that nobody waits for them in a barrier meanwhile. */
MOK_FN void lose_signal(mok_cta *c) {
  if (c->cta == 0) mok_spawn<0, 1, 1>(c, signal_once);
  mok_join(c);
  mok_spawn<0, 4, 1>(c, wait_in_vain);
  mok_join(c);
}

MOK_KERNEL void mok_forward(const MOK_GRID_CONSTANT mok_args args) {
  mok_cta cta = mok_enter(&args);
  mok_cta *c = &cta;
  mok_roles(c, args.comm_ctas, args.compute_ctas);
  switch (scenario(c)) {
    case SYNC_PIPELINE_WARP_GROUP:
    case SYNC_PIPELINE_GROUP_WARP:
    case SYNC_PIPELINE_CTAS:
      run_pipeline(c);
      break;
    case SYNC_GRID_BARRIER:
      run_grid_barrier(c);
      break;
    case SYNC_RANK_BARRIER:
      run_rank_barrier(c);
      break;
    case SYNC_LOST_SIGNAL:
      lose_signal(c);
      break;
    case SYNC_ABSENT_CTA:
      if (c->cta != c->ctas - 1) mok_grid_barrier(c);
      break;
    case SYNC_ABSENT_RANK:
      if (c->args->rank != 1) mok_rank_barrier(c, SYNC_LAST_BARRIER);
      break;
    case SYNC_POISONED_RANK:
      if (c->args->rank == 1) lose_signal(c);
      mok_rank_barrier(c, SYNC_LAST_BARRIER);
      break;
  }
  mok_leave(c);
}
