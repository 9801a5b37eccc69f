/* Moving rows, and the sum at the end. */
#ifndef MOK_ROWS_H
#define MOK_ROWS_H

MOK_FN const mok_route *mok_block_source(const mok_cta *c, const mok_task *t) {
  return (const mok_route *)mok_local(c, LAYOUT_ROW_SOURCE_OFFSET) + (mok_index)t->row_block * PLAN_ROW_PADDING;
}

MOK_FN const mok_route *mok_read_source(const mok_cta *c, const mok_task *t, int first, int rows, const char *function,
                                        int line) {
  const mok_route *source = mok_block_source(c, t) + first;
  mok_own_access(false, source, 0, 1, rows * (int)sizeof *source, function, line, "reads routes");
  return source;
}

MOK_FN mok_route mok_row_source(const mok_cta *c, const mok_task *t, int row, const char *function = __builtin_FUNCTION(),
                                int line = __builtin_LINE()) {
  return *mok_read_source(c, t, row, 1, function, line);
}

#ifdef LAYOUT_SLOTS_OFFSET
/* Rows of a task go through the shared memory of their warp, a slot at a time: a row in pieces of PLAN_SLOT_BYTES. */
struct mok_transfer {
  mok_index row_bytes;
  int pieces; /* of a row */
  int first_slot;
  const char *function;
  int line;
};

MOK_FN char *mok_slot(mok_cta *c, int slot) { return mok_shared(c) + LAYOUT_SLOTS_OFFSET + (mok_index)slot * PLAN_SLOT_BYTES; }

/* Piece i of `count` from from_row(i / pieces) to to_row(i / pieces), with PLAN_WARP_SLOTS of them on their way. */
template <class place_from, class place_to>
MOK_FN void mok_transfer_rows(mok_cta *c, const mok_transfer &move, int rows, place_from from_row, place_to to_row) {
  const int count = rows * move.pieces;
  auto piece_bytes = [&](int i) {
    return mok_min(PLAN_SLOT_BYTES, (int)(move.row_bytes - (mok_index)(i % move.pieces) * PLAN_SLOT_BYTES));
  };
  auto load = [&](int i) {
    const int slot = move.first_slot + i % PLAN_WARP_SLOTS, bytes = piece_bytes(i);
    mok_mbarrier *barrier = &c->host->slots[slot];
    if (barrier->count == 0) mok_mbarrier_init(barrier, 1);
    mok_mbarrier_arrive(barrier, (unsigned)bytes);
    const char *from = from_row(i / move.pieces) + (mok_index)(i % move.pieces) * PLAN_SLOT_BYTES;
    const mok_copy copy = {mok_slot(c, slot), 0, 1, bytes, from, 0, 1, bytes};
    mok_issue_load(barrier, (unsigned)bytes, copy, move.function, move.line, "bulk load");
  };
  for (int i = 0; i < mok_min(PLAN_WARP_SLOTS, count); ++i) {
    mok_wait_stores_read(0); /* of the task before */
    load(i);
  }
  for (int i = 0; i < count; ++i) {
    const int slot = move.first_slot + i % PLAN_WARP_SLOTS, bytes = piece_bytes(i);
    mok_mbarrier *barrier = &c->host->slots[slot];
    mok_mbarrier_wait(barrier, barrier->arrivals, MOK_WAITS_SLOT, slot);
    char *to = to_row(i / move.pieces) + (mok_index)(i % move.pieces) * PLAN_SLOT_BYTES;
    const mok_copy copy = {to, 0, 1, bytes, mok_slot(c, slot), 0, 1, bytes};
    mok_issue_store(copy, move.function, move.line, "bulk store");
    if (i + PLAN_WARP_SLOTS < count) {
      mok_wait_stores_read(0);
      load(i + PLAN_WARP_SLOTS);
    }
  }
}

MOK_FN mok_transfer mok_transfer_of(const char *function, int line) {
  const mok_index row_bytes = PLAN_HIDDEN * (mok_index)sizeof(mok_bf16);
  const mok_transfer move = {row_bytes, (int)((row_bytes + PLAN_SLOT_BYTES - 1) / PLAN_SLOT_BYTES),
                             mok_host->current->first_warp * PLAN_WARP_SLOTS, function, line};
  return move;
}

struct mok_moved {
  int count, row[PLAN_DISPATCH_ROWS];
};

MOK_FN mok_moved mok_moved_of(const mok_cta *c, const mok_route *source, int rows) {
  mok_moved moved;
  moved.count = 0;
  for (int i = 0; i < rows; ++i)
    if (mok_is_moved(c, source[i])) moved.row[moved.count++] = i;
  return moved;
}

MOK_FN void mok_pull_rows(mok_cta *c, const mok_task *t, const char *function = __builtin_FUNCTION(),
                          int line = __builtin_LINE()) {
  char *ring = mok_local(c, LAYOUT_RING_X_OFFSET) + (mok_index)t->slot * PLAN_ROW_PADDING * PLAN_HIDDEN * 2;
  const int first = t->column * PLAN_DISPATCH_ROWS, rows = mok_min(PLAN_DISPATCH_ROWS, t->rows - first);
  if (rows <= 0 || c->aborted) return;
  const mok_route *source = mok_read_source(c, t, first, rows, function, line);
  const mok_transfer move = mok_transfer_of(function, line);
  const mok_moved moved = mok_moved_of(c, source, rows);
  mok_transfer_rows(
      c, move, moved.count,
      [&](int i) {
        const mok_route from = source[moved.row[i]];
        return (const char *)mok_published_x(c, from.rank) + (mok_index)(from.route / PLAN_TOP_K) * move.row_bytes;
      },
      [&](int i) { return ring + (first + moved.row[i]) * move.row_bytes; });
}

#ifdef LAYOUT_RING_Y_OFFSET
MOK_FN void mok_push_rows(mok_cta *c, const mok_task *t, const char *function = __builtin_FUNCTION(),
                          int line = __builtin_LINE()) {
  const char *ring = mok_local(c, LAYOUT_RING_Y_OFFSET) + (mok_index)t->slot * PLAN_ROW_PADDING * PLAN_HIDDEN * 2;
  const int first = t->column * PLAN_DISPATCH_ROWS, rows = mok_min(PLAN_DISPATCH_ROWS, t->rows - first);
  if (rows <= 0 || c->aborted) return;
  const mok_route *source = mok_read_source(c, t, first, rows, function, line);
  const mok_transfer move = mok_transfer_of(function, line);
  const mok_moved moved = mok_moved_of(c, source, rows);
  mok_transfer_rows(
      c, move, moved.count, [&](int i) { return ring + (first + moved.row[i]) * move.row_bytes; },
      [&](int i) {
        const mok_route to = source[moved.row[i]];
        return mok_heap(c, to.rank, LAYOUT_COMBINE_OFFSET) + (mok_index)to.route * move.row_bytes;
      });
}
#endif
#endif

MOK_FN void mok_reduce_token(mok_cta *c, int token, const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  const mok_bf16 *slots = (const mok_bf16 *)mok_heap(c, c->args->rank, LAYOUT_COMBINE_OFFSET);
  const mok_index first_route = (mok_index)token * PLAN_TOP_K;
  mok_bf16 *out = (mok_bf16 *)c->args->out + (mok_index)token * PLAN_HIDDEN;
  enum { PART = 256, ROW_BYTES = PLAN_HIDDEN * 2 };
#ifdef LAYOUT_SHARED_Y_OFFSET
  mok_own_access(false, mok_local_bf16(c, LAYOUT_SHARED_Y_OFFSET) + (mok_index)token * PLAN_HIDDEN, 0, 1, ROW_BYTES, function,
                 line, "adds the shared expert's row");
#endif
  for (mok_index route = first_route; route < first_route + PLAN_TOP_K; ++route)
    if (mok_is_expert(c->args->topk_ids[route]))
      mok_own_access(false, slots + route * PLAN_HIDDEN, 0, 1, ROW_BYTES, function, line, "adds a route's row");
  mok_own_access(true, out, 0, 1, ROW_BYTES, function, line, "writes the sum");
  for (int begin = 0; begin < PLAN_HIDDEN; begin += PART) {
    const int columns = mok_min(PART, PLAN_HIDDEN - begin);
    float sum[PART];
    for (int i = 0; i < columns; ++i) sum[i] = 0.0f;
#ifdef LAYOUT_SHARED_Y_OFFSET
    const mok_bf16 *shared = mok_local_bf16(c, LAYOUT_SHARED_Y_OFFSET) + (mok_index)token * PLAN_HIDDEN + begin;
    for (int i = 0; i < columns; ++i) sum[i] = mok_to_float(shared[i]);
#endif
    for (mok_index route = first_route; route < first_route + PLAN_TOP_K; ++route) {
      if (!mok_is_expert(c->args->topk_ids[route])) continue;
      const float weight = c->args->topk_weights[route];
      const mok_bf16 *y = slots + route * PLAN_HIDDEN + begin;
      for (int i = 0; i < columns; ++i) sum[i] += weight * mok_to_float(y[i]);
    }
    for (int i = 0; i < columns; ++i) out[begin + i] = mok_to_bf16(sum[i]);
  }
  mok_preempt();
}

#endif
