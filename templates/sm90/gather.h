/* Operand A gathered row by row: rows of a block lie where their tokens are, and go from there to a stage without a copy between.
 *
 * A whole warpgroup loads. Each thread copies 16 bytes of every 16th row, cp.async, to where a tensor copy would have put them:
 * piece p of row r, of 8, lies at p ^ r % 8. B comes by tensor copies that its first thread issues. A stage is full when B has
 * landed and each of the 128 threads' copies have: `full` counts 1 + 128 arrivals, also when the stage is a tensor copy's alone.
 */
#ifndef MOK_GATHER_H
#define MOK_GATHER_H

enum { MOK_PIECE_BYTES = 16, MOK_ROW_STEP = 128 / (MOK_PITCH / MOK_PIECE_BYTES) };

template <class P>
struct mok_gathered {
  const mok_bf16 *piece[P::m / MOK_ROW_STEP]; /* this thread's piece of its rows for k = 0; null: a row of zeros */
};

template <class P>
MOK_FN void mok_gather(const mok_cta *c, const mok_task *t, mok_gathered<P> &rows) {
  const int thread = mok_instance_thread(c), piece = thread % 8, first = thread / 8;
#pragma unroll
  for (int i = 0; i < P::m / MOK_ROW_STEP; ++i) {
    const int row = first + i * MOK_ROW_STEP;
    rows.piece[i] = row < t->rows && !c->aborted ? P::a_row(c, t, row) + piece * 8 : (const mok_bf16 *)0;
  }
}

template <class P>
MOK_FN void mok_load_gathered(mok_cta *c, const mok_task *t, int k, const mok_gathered<P> &rows) {
  using tile = mok_tile<P>;
  const int thread = mok_instance_thread(c), piece = thread % 8, first = thread / 8;
  const unsigned full = mok_full_barrier(c, c->stage), a = mok_stage_address(c);
  if (k == 0) c->shares_b = mok_shares_b<P>(c, t);
  mok_wait_empty(mok_empty_barrier(c, c->stage), c->parity ^ 1);
  if (thread == 0) {
    mok_ptx_barrier_expect(full, tile::b_bytes);
    mok_load_b<P>(c, t, k, a + tile::b_offset, full);
  }
  const bool inside = k * P::k + piece * 8 < P::k_extent;
  const unsigned to = a + first * MOK_PITCH + (piece ^ first % 8) * MOK_PIECE_BYTES;
#pragma unroll
  for (int i = 0; i < P::m / MOK_ROW_STEP; ++i)
    mok_ptx_copy_16(to + i * MOK_ROW_STEP * MOK_PITCH, rows.piece[i] + (mok_index)k * P::k, inside && rows.piece[i] ? 16 : 0);
  mok_ptx_copies_arrive(full);
  mok_next_stage(c);
}

template <class P>
MOK_FN void mok_gather_end(mok_cta *c, const mok_task *t, const mok_gathered<P> &rows) {
  (void)c, (void)t, (void)rows; /* a stage is handed over by the copies themselves */
}

#endif
