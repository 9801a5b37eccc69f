/* Moving rows, and the sum at the end. */
#ifndef MOK_ROWS_H
#define MOK_ROWS_H

MOK_FN const mok_route *mok_block_source(const mok_cta *c, const mok_task *t) {
  return (const mok_route *)mok_local(c, LAYOUT_ROW_SOURCE_OFFSET) + (mok_index)t->row_block * PLAN_ROW_PADDING;
}

MOK_FN void mok_pull_rows(mok_cta *c, const mok_task *t) {
  const mok_route *source = mok_block_source(c, t);
  mok_bf16 *ring = mok_local_bf16(c, LAYOUT_RING_X_OFFSET) + (mok_index)t->slot * PLAN_ROW_PADDING * PLAN_HIDDEN;
  const int first = t->column * PLAN_DISPATCH_ROWS, end = mok_min(first + PLAN_DISPATCH_ROWS, t->rows);
  for (int row = first; row < end; ++row) {
    const mok_bf16 *x = mok_published_x(c, source[row].rank) + (mok_index)(source[row].route / PLAN_TOP_K) * PLAN_HIDDEN;
    memcpy(ring + (mok_index)row * PLAN_HIDDEN, x, PLAN_HIDDEN * sizeof *x);
    mok_preempt();
  }
}

#ifdef LAYOUT_RING_Y_OFFSET
MOK_FN void mok_push_rows(mok_cta *c, const mok_task *t) {
  const mok_route *source = mok_block_source(c, t);
  const mok_bf16 *ring = mok_local_bf16(c, LAYOUT_RING_Y_OFFSET) + (mok_index)t->slot * PLAN_ROW_PADDING * PLAN_HIDDEN;
  const int first = t->column * PLAN_DISPATCH_ROWS, end = mok_min(first + PLAN_DISPATCH_ROWS, t->rows);
  for (int row = first; row < end; ++row) {
    mok_bf16 *slots = (mok_bf16 *)mok_heap(c, source[row].rank, LAYOUT_COMBINE_OFFSET);
    memcpy(slots + (mok_index)source[row].route * PLAN_HIDDEN, ring + (mok_index)row * PLAN_HIDDEN, PLAN_HIDDEN * sizeof *ring);
    mok_preempt();
  }
}
#endif

MOK_FN void mok_reduce_token(mok_cta *c, int token) {
  const mok_bf16 *slots = (const mok_bf16 *)mok_heap(c, c->args->rank, LAYOUT_COMBINE_OFFSET);
  const mok_index first_route = (mok_index)token * PLAN_TOP_K;
  mok_bf16 *out = (mok_bf16 *)c->args->out + (mok_index)token * PLAN_HIDDEN;
  enum { PART = 256 };
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
