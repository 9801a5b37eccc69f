/* Moving rows between ranks, one warp per task: x from the ranks that hold the tokens, y back to them (unless an epilogue does).
 *
 * A row passes through shared memory in pieces, by bulk copies. Each warp has a ring of PLAN_WARP_SLOTS slots, with a barrier
 * each: half of the ring is arriving while the other half is leaving.
 */
#ifndef MOK_MOVE_H
#define MOK_MOVE_H

enum {
  MOK_ROW_BYTES = PLAN_HIDDEN * 2,
};

MOK_FN mok_route mok_row_source(const mok_cta *c, const mok_task *t, int row) {
  return ((const mok_route *)mok_local(c, LAYOUT_ROW_SOURCE_OFFSET))[(mok_index)t->row_block * PLAN_ROW_PADDING + row];
}

#ifdef LAYOUT_SLOTS_OFFSET
enum {
  MOK_ROW_PIECES = (MOK_ROW_BYTES + PLAN_SLOT_BYTES - 1) / PLAN_SLOT_BYTES,
  MOK_ARRIVING = (PLAN_WARP_SLOTS + 1) / 2, /* slots */
};
static_assert(MOK_ROW_BYTES % 16 == 0 && PLAN_SLOT_BYTES % 16 == 0, "bulk copies move 16 bytes at a time");

MOK_FN char *mok_ring_row(const mok_cta *c, const mok_task *t, mok_index ring, int row) {
  return mok_local(c, ring) + ((mok_index)t->slot * PLAN_ROW_PADDING + row) * MOK_ROW_BYTES;
}

MOK_FN char *mok_from_lane(char *address, int lane) {
  return (char *)__shfl_sync(0xffffffffu, (unsigned long long)address, lane);
}

/* The ring's place in its lap is c->stage, c->parity. */
MOK_FN void mok_next_slot(int &slot, unsigned &parity) {
  slot++;
  if (slot == PLAN_WARP_SLOTS) {
    slot = 0;
    parity ^= 1;
  }
}

MOK_FN unsigned mok_piece_bytes(int piece) { return mok_min(PLAN_SLOT_BYTES, MOK_ROW_BYTES - piece * PLAN_SLOT_BYTES); }

/* Copies `rows` rows, at most 32; lane r holds both addresses of row r. The calling warp's slots begin at `first_slot` of the
 * CTA's. On return every row has been read; mok_signal waits until they have been written. */
MOK_FN void mok_copy_rows(mok_cta *c, int first_slot, int rows, char *from, char *to) {
  const unsigned slots = mok_shared_address((int)LAYOUT_SLOTS_OFFSET + first_slot * PLAN_SLOT_BYTES);
  const unsigned barriers = mok_shared_address((int)LAYOUT_SLOT_BARRIERS_OFFSET + first_slot * 8);
  const bool issues = mok_lane() == 0;
  if (issues && !c->has_slots) {
    /* A loop branches; unrolled, this would be predicated, which racecheck takes for a write of every lane. */
#pragma unroll 1
    for (int slot = 0; slot < PLAN_WARP_SLOTS; ++slot) mok_ptx_barrier_init(barriers + slot * 8, 1);
    mok_ptx_fence_barrier_init();
  }
  c->has_slots = true;
  mok_ptx_bulk_wait_read<0>(); /* of the last call */
  int leaving = c->stage;
  unsigned leaving_parity = c->parity;
  const int pieces = rows * MOK_ROW_PIECES;
  for (int i = 0; i < pieces + MOK_ARRIVING; ++i) {
    if (i >= MOK_ARRIVING) {
      const int piece = (i - MOK_ARRIVING) % MOK_ROW_PIECES;
      char *there = mok_from_lane(to, (i - MOK_ARRIVING) / MOK_ROW_PIECES) + piece * PLAN_SLOT_BYTES;
      if (issues) {
        mok_wait_barrier(barriers + leaving * 8, leaving_parity);
        mok_ptx_bulk_store(there, slots + leaving * PLAN_SLOT_BYTES, mok_piece_bytes(piece));
        mok_ptx_bulk_commit();
      }
      mok_next_slot(leaving, leaving_parity);
    }
    if (i < pieces) {
      const int piece = i % MOK_ROW_PIECES;
      char *here = mok_from_lane(from, i / MOK_ROW_PIECES) + piece * PLAN_SLOT_BYTES;
      if (issues) {
        const unsigned bytes = mok_piece_bytes(piece), barrier = barriers + c->stage * 8;
        mok_ptx_bulk_wait_read<PLAN_WARP_SLOTS - MOK_ARRIVING>(); /* the slot's last piece has left */
        mok_ptx_barrier_expect(barrier, bytes);
        mok_ptx_bulk_load(slots + c->stage * PLAN_SLOT_BYTES, here, bytes, barrier);
      }
      mok_next_slot(c->stage, c->parity);
    }
  }
}

/* The moved ones of `rows` rows, whose sources the lanes hold, go to the first lanes, with both addresses. Their number. */
MOK_FN int mok_moved_first(const mok_cta *c, int rows, mok_route source, char *&from, char *&to) {
  if (PLAN_OWN_ROWS == 0) return rows;
  const unsigned moved = __ballot_sync(0xffffffffu, mok_lane() < rows && mok_is_moved(c, source));
  unsigned rest = moved;
  for (int i = 0; i < mok_lane(); ++i) rest &= rest - 1;
  const int lane = rest != 0 ? __ffs(rest) - 1 : 0;
  from = mok_from_lane(from, lane);
  to = mok_from_lane(to, lane);
  return __popc(moved);
}

MOK_FN void mok_pull_rows(mok_cta *c, const mok_task *t) {
  if (c->aborted) return;
  const int last = mok_min((t->column + 1) * PLAN_DISPATCH_ROWS, t->rows);
  for (int first = t->column * PLAN_DISPATCH_ROWS; first < last; first += 32) {
    const int row = mok_min(first + mok_lane(), last - 1);
    const mok_route source = mok_row_source(c, t, row);
    char *x = (char *)mok_published_x(c, source.rank) + (mok_index)(source.route / PLAN_TOP_K) * MOK_ROW_BYTES;
    char *ring = mok_ring_row(c, t, LAYOUT_RING_X_OFFSET, row);
    const int rows = mok_moved_first(c, mok_min(32, last - first), source, x, ring);
    mok_copy_rows(c, c->instance * PLAN_WARP_SLOTS, rows, x, ring);
  }
}

#ifdef LAYOUT_RING_Y_OFFSET
MOK_FN void mok_push_rows(mok_cta *c, const mok_task *t) {
  if (c->aborted) return;
  const int last = mok_min((t->column + 1) * PLAN_DISPATCH_ROWS, t->rows);
  for (int first = t->column * PLAN_DISPATCH_ROWS; first < last; first += 32) {
    const int row = mok_min(first + mok_lane(), last - 1);
    const mok_route source = mok_row_source(c, t, row);
    char *combine = mok_heap(c, source.rank, LAYOUT_COMBINE_OFFSET) + (mok_index)source.route * MOK_ROW_BYTES;
    char *ring = mok_ring_row(c, t, LAYOUT_RING_Y_OFFSET, row);
    const int rows = mok_moved_first(c, mok_min(32, last - first), source, ring, combine);
    mok_copy_rows(c, (PLAN_PULL_WARPS + c->instance) * PLAN_WARP_SLOTS, rows, ring, combine);
  }
}
#endif
#endif

#endif
