/* Products: one warp copies stages of A and B into shared memory, warpgroups multiply them on the tensor cores.
 *
 * A stage holds A[m, k], then B[n, k], rows of k bf16. Inside a row the 16-byte pieces are exchanged by the row's number, so
 * that the eight rows that ldmatrix reads at once lie in different banks. A stage has two barriers: `full` completes when the
 * copies have landed, `empty` when every multiplying warp has read it.
 */
#ifndef MOK_PRODUCT_H
#define MOK_PRODUCT_H

/* kernel.cu's: the activation of one column. */
MOK_FN float activate(float gate, float up);

enum { MOK_STAGE_BYTES = (int)(LAYOUT_PIPELINE_BYTES / MOK_STAGES) };

/* How a product's tile lies in a stage, and how the multiplying warpgroups share it. */
template <class P>
struct mok_tile {
  enum : int {
    halves = P::gated ? 2 : 1,
    half_columns = P::n / halves, /* output columns of a tile */
    pitch = P::k * 2,             /* bytes of a row */
    pieces = P::k / 8,            /* of 16 bytes in a row */
    exchanged = (pieces % 8 == 0 ? 8 : pieces % 4 == 0 ? 4 : 2) - 1,
    b_offset = P::m * pitch,
    /* Warpgroups split the rows first, 64 at a time, then the columns of each half. A warp has 16 of every 64 rows. */
    row_groups = P::m / 64 < MOK_CONSUMERS ? P::m / 64 : MOK_CONSUMERS,
    column_groups = MOK_CONSUMERS / row_groups,
    row_tiles = P::m / 64 / row_groups,                                        /* of 16 rows in a warp */
    column_tiles = (half_columns / 8 + column_groups - 1) / column_groups,     /* of 8 columns in a warp and half */
    even = half_columns / 8 % column_groups == 0 && MOK_CONSUMERS % row_groups == 0, /* no warp has less than the others */
  };
  static_assert(P::m % 64 == 0 && P::m / 64 % row_groups == 0, "warpgroups take 64 rows at a time");
  static_assert(P::n % 16 == 0 && P::k % 16 == 0, "mma.sync takes 8 columns of each half and 16 of k");
  static_assert(P::stages == MOK_STAGES && (P::m + P::n) * pitch <= MOK_STAGE_BYTES, "the tile fits a stage");
};

template <class P>
struct mok_accumulator {
  float v[mok_tile<P>::row_tiles][mok_tile<P>::halves][mok_tile<P>::column_tiles][4];
};

template <class P>
MOK_FN void mok_clear(mok_accumulator<P> &acc) {
  using tile = mok_tile<P>;
#pragma unroll
  for (int r = 0; r < tile::row_tiles; ++r)
#pragma unroll
    for (int h = 0; h < tile::halves; ++h)
#pragma unroll
      for (int j = 0; j < tile::column_tiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) acc.v[r][h][j][i] = 0.0f;
}

MOK_FN void mok_next_stage(mok_cta *c) {
  c->stage++;
  if (c->stage == MOK_STAGES) {
    c->stage = 0;
    c->parity ^= 1;
  }
}

MOK_FN void mok_wait_stage(unsigned barrier, unsigned parity) {
  while (!mok_ptx_barrier_try_wait(barrier, parity)) {
  }
}

/* Copies rows x k bf16 into shared memory; zeros where row >= real_rows or column >= real_columns. Both are multiples of 8. */
template <class P, int rows>
MOK_FN void mok_load_rows(unsigned to, const mok_bf16 *from, mok_index stride, int real_rows, int real_columns) {
  using tile = mok_tile<P>;
#pragma unroll 4
  for (int i = mok_lane(); i < rows * tile::pieces; i += 32) {
    const int row = i / tile::pieces, piece = i % tile::pieces;
    const bool real = row < real_rows && piece * 8 < real_columns;
    const mok_bf16 *source = real ? from + row * stride + piece * 8 : from;
    mok_ptx_copy_async_16(to + row * tile::pitch + (piece ^ (row & tile::exchanged)) * 16, source, real ? 16 : 0);
  }
}

template <class P>
MOK_FN void mok_load_stage(mok_cta *c, const mok_task *t, int k) {
  using tile = mok_tile<P>;
  mok_wait_stage(mok_empty_barrier(c->stage), c->parity ^ 1); /* the first lap finds every stage free */
  if (c->aborted) {
    mok_ptx_barrier_arrive(mok_full_barrier(c->stage));
  } else {
    const unsigned a = mok_shared_address((int)LAYOUT_PIPELINE_OFFSET + c->stage * MOK_STAGE_BYTES);
    const int column = k * P::k, real_columns = P::k_extent - column;
    mok_load_rows<P, P::m>(a, P::a(c, t) + column, P::a_stride, t->rows, real_columns);
    const int first = t->column * tile::half_columns; /* row of the weight = column of the output */
#pragma unroll
    for (int half = 0; half < tile::halves; ++half) {
      const mok_rows b = P::b(c, t, half);
      mok_load_rows<P, tile::half_columns>(a + tile::b_offset + half * tile::half_columns * tile::pitch,
                                           b.base + first * b.stride + column, b.stride, P::columns - first, real_columns);
    }
    mok_ptx_copy_async_arrive(mok_full_barrier(c->stage));
  }
  mok_next_stage(c);
}

/* First row and first column tile of this warp in a tile; the column tile may lie beyond the half if the split is uneven. */
template <class P>
MOK_FN int mok_warp_row(const mok_cta *c) {
  using tile = mok_tile<P>;
  return c->instance % tile::row_groups * tile::row_tiles * 64 + c->warp * 16;
}
template <class P>
MOK_FN int mok_warp_column_tile(const mok_cta *c) {
  return c->instance / mok_tile<P>::row_groups * mok_tile<P>::column_tiles;
}

template <class P>
MOK_FN void mok_mma_stage(mok_cta *c, const mok_task *t, int k, mok_accumulator<P> &acc) {
  using tile = mok_tile<P>;
  (void)t;
  (void)k;
  mok_wait_stage(mok_full_barrier(c->stage), c->parity);
  if (!c->aborted) {
    const int lane = mok_lane(), column_tile = mok_warp_column_tile<P>(c);
    const unsigned stage = mok_shared_address((int)LAYOUT_PIPELINE_OFFSET + c->stage * MOK_STAGE_BYTES);
    /* ldmatrix: lane l names row l % 8 of matrix l / 8. A: rows 0-7 and 8-15 left in k, then right in k; B: left, right. */
    const unsigned a = stage + (mok_warp_row<P>(c) + lane % 16) * tile::pitch;
    const unsigned b = stage + tile::b_offset + (column_tile * 8 + lane % 8) * tile::pitch;
    const unsigned exchange = lane & tile::exchanged;
    const unsigned a_first = (lane / 16 ^ exchange) * 16, b_first = (lane / 8 % 2 ^ exchange) * 16; /* byte in the row, step 0 */
#pragma unroll
    for (int step = 0; step < P::k / 16; ++step) {
      const unsigned a_byte = a_first ^ step * 32, b_byte = b_first ^ step * 32;
      unsigned a_part[tile::row_tiles][4];
#pragma unroll
      for (int r = 0; r < tile::row_tiles; ++r) mok_ptx_load_matrix_x4(a_part[r], a + r * 64 * tile::pitch + a_byte);
#pragma unroll
      for (int h = 0; h < tile::halves; ++h) {
#pragma unroll
        for (int j = 0; j < tile::column_tiles; ++j) {
          if (!tile::even && column_tile + j >= tile::half_columns / 8) continue;
          unsigned b_part[2];
          mok_ptx_load_matrix_x2(b_part, b + (h * tile::half_columns + j * 8) * tile::pitch + b_byte);
#pragma unroll
          for (int r = 0; r < tile::row_tiles; ++r) mok_ptx_mma(acc.v[r][h][j], a_part[r], b_part);
        }
      }
    }
  }
  __syncwarp();
  if (mok_lane() == 0) mok_ptx_barrier_arrive(mok_empty_barrier(c->stage));
  mok_next_stage(c);
}

/* Writes value(r, j, i) of every real row and column of this warp to row_at(row), a whole row of the result. In an m16n8 tile a
 * lane holds two neighbouring columns of row lane / 4 (i = 0, 1) and of the row 8 below (i = 2, 3). */
template <class P, class place, class function>
MOK_FN void mok_store_values(const mok_cta *c, const mok_task *t, place row_at, function value) {
  using tile = mok_tile<P>;
  if (c->aborted) return;
  const int lane = mok_lane(), column_tile = mok_warp_column_tile<P>(c);
  const int first = t->column * tile::half_columns + column_tile * 8 + lane % 4 * 2;
#pragma unroll
  for (int r = 0; r < tile::row_tiles; ++r) {
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const int row = mok_warp_row<P>(c) + r * 64 + lane / 4 + below * 8;
      if (row >= t->rows) continue;
      mok_bf16 *out = row_at(row) + first;
#pragma unroll
      for (int j = 0; j < tile::column_tiles; ++j) {
        if (!tile::even && column_tile + j >= tile::half_columns / 8) continue;
        if (first + j * 8 < P::columns)
          mok_ptx_store_4(out + j * 8, mok_ptx_bf16x2(value(r, j, below * 2), value(r, j, below * 2 + 1)));
      }
    }
  }
}

template <class P>
MOK_FN void mok_store(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  mok_store_values<P>(
      c, t, [&](int row) { return P::out(c, t) + (mok_index)row * P::out_stride; },
      [&](int r, int j, int i) { return acc.v[r][0][j][i]; });
}

template <class P>
MOK_FN void mok_store_activated(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  mok_store_values<P>(
      c, t, [&](int row) { return P::out(c, t) + (mok_index)row * P::out_stride; },
      [&](int r, int j, int i) {
        return P::gated ? activate(acc.v[r][0][j][i], acc.v[r][mok_tile<P>::halves - 1][j][i])
                        : activate(0.0f, acc.v[r][0][j][i]);
      });
}

/* Stores to peers: each thread fences its own at the rank barrier that follows. */
template <class P>
MOK_FN void mok_store_pushed(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a pushed row is a row of region combine");
  mok_store_values<P>(
      c, t,
      [&](int row) {
        const mok_route source = mok_row_source(c, t, row);
        return (mok_bf16 *)mok_heap(c, source.rank, LAYOUT_COMBINE_OFFSET) + (mok_index)source.route * PLAN_HIDDEN;
      },
      [&](int r, int j, int i) { return acc.v[r][0][j][i]; });
}

#endif
