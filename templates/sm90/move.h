/* Moving rows between ranks, one warp per piece: x from the ranks that hold the tokens, y back to them. */
#ifndef MOK_MOVE_H
#define MOK_MOVE_H

enum { MOK_ROW_BYTES = PLAN_HIDDEN * 2 };

/* A row of H bf16, 16-byte aligned. */
MOK_FN void mok_copy_row(char *to, const char *from) {
  enum : int { step = 32 * 16, together = 4 };
  int at = mok_lane() * 16;
  for (; at + (together - 1) * step < MOK_ROW_BYTES; at += together * step) {
    uint4 v[together];
#pragma unroll
    for (int i = 0; i < together; ++i) v[i] = mok_ptx_load_16(from + at + i * step);
#pragma unroll
    for (int i = 0; i < together; ++i) mok_ptx_store_16(to + at + i * step, v[i]);
  }
  for (; at < MOK_ROW_BYTES; at += step) mok_ptx_store_16(to + at, mok_ptx_load_16(from + at));
}

MOK_FN mok_route mok_row_source(const mok_cta *c, const mok_task *t, int row) {
  return ((const mok_route *)mok_local(c, LAYOUT_ROW_SOURCE_OFFSET))[(mok_index)t->row_block * PLAN_ROW_PADDING + row];
}
MOK_FN char *mok_ring_row(const mok_cta *c, const mok_task *t, mok_index ring, int row) {
  return mok_local(c, ring) + ((mok_index)t->slot * PLAN_ROW_PADDING + row) * MOK_ROW_BYTES;
}

MOK_FN void mok_pull_rows(mok_cta *c, const mok_task *t) {
  if (c->aborted) return;
  const int first = t->column * PLAN_DISPATCH_ROWS, last = mok_min(first + PLAN_DISPATCH_ROWS, t->rows);
  for (int row = first; row < last; ++row) {
    const mok_route source = mok_row_source(c, t, row);
    const char *x = (const char *)mok_published_x(c, source.rank);
    mok_copy_row(mok_ring_row(c, t, LAYOUT_RING_X_OFFSET, row), x + (mok_index)(source.route / PLAN_TOP_K) * MOK_ROW_BYTES);
  }
}

#ifdef LAYOUT_RING_Y_OFFSET
MOK_FN void mok_push_rows(mok_cta *c, const mok_task *t) {
  if (c->aborted) return;
  const int first = t->column * PLAN_DISPATCH_ROWS, last = mok_min(first + PLAN_DISPATCH_ROWS, t->rows);
  for (int row = first; row < last; ++row) {
    const mok_route source = mok_row_source(c, t, row);
    char *combine = mok_heap(c, source.rank, LAYOUT_COMBINE_OFFSET);
    mok_copy_row(combine + (mok_index)source.route * MOK_ROW_BYTES, mok_ring_row(c, t, LAYOUT_RING_Y_OFFSET, row));
  }
}
#endif

#endif
