/* Products: one thread loads stages of A and B into shared memory by tensor copies, warpgroups multiply them by wgmma, and
 * results leave through shared memory by bulk copies, one for each row.
 *
 * A stage holds A[m, k], then B[n, k], rows of 128 bytes in the tensor maps' 128-byte swizzle, which wgmma reads as it is. It has
 * two barriers: `full` completes when the copies have landed, `empty` when every multiplying warp has read it. A warpgroup has 64
 * rows of the tile and all its columns, so gate and up of one column, n / 2 apart in B, sit in the same thread.
 */
#ifndef MOK_PRODUCT_H
#define MOK_PRODUCT_H

/* kernel.cu's: the activation of one column. */
MOK_FN float activate(float gate, float up);

enum {
  MOK_STAGE_BYTES = (int)(LAYOUT_PIPELINE_BYTES / MOK_STAGES),
  MOK_GROUP_ROWS = 64, /* of one wgmma, so of a warpgroup */
  MOK_PITCH = 128,     /* bytes of a row of A or B in a stage */
};
static_assert(LAYOUT_PIPELINE_OFFSET % 1024 == 0 && MOK_STAGE_BYTES % 1024 == 0,
              "the swizzle repeats every 1024 bytes of shared memory, so operands begin there");

/* How a product's tile lies in a stage and on its way out. */
template <class P>
struct mok_tile {
  enum : int {
    halves = P::gated ? 2 : 1,
    half_columns = P::n / halves, /* output columns of a tile */
    b_offset = P::m * MOK_PITCH,
    bytes = (P::m + P::n) * MOK_PITCH,
    staging_pitch = (int)(LAYOUT_STAGING_BYTES / P::m), /* bytes of a row in staging */
    piece_columns = staging_pitch / 2 - 8,              /* 8 of padding: eight rows lie in different banks */
    pieces = (half_columns + piece_columns - 1) / piece_columns,
  };
  static_assert(P::m == MOK_GROUP_ROWS * MOK_CONSUMERS && P::instances == MOK_CONSUMERS, "each warpgroup has 64 rows of a tile");
  static_assert(P::n % 16 == 0 && P::n <= 256, "wgmma takes up to 256 columns, and a half of a gated tile 8 at a time");
  static_assert(P::k * 2 == MOK_PITCH, "a row of a stage is one line of the swizzle");
  static_assert(P::stages == MOK_STAGES && bytes <= MOK_STAGE_BYTES, "the tile fits a stage");
  static_assert(staging_pitch % 32 == 16 && piece_columns % 16 == 0,
                "stmatrix writes 8 rows of 16 bytes without a bank conflict");
};

template <class P>
struct mok_accumulator {
  float v[P::n / 2]; /* 8 columns are 4 values: two neighbouring columns of row lane / 4 of the warp, then of the row 8 below */
};

/* The first wgmma of a tile overwrites. */
template <class P>
MOK_FN void mok_clear(mok_accumulator<P> &acc) {
#pragma unroll
  for (int i = 0; i < P::n / 2; ++i) acc.v[i] = 0.0f;
}

MOK_FN void mok_next_stage(mok_cta *c) {
  c->stage++;
  if (c->stage == MOK_STAGES) {
    c->stage = 0;
    c->parity ^= 1;
  }
}
template <class P>
MOK_FN void mok_load_stage(mok_cta *c, const mok_task *t, int k) {
  using tile = mok_tile<P>;
  if (mok_lane() == 0) {
    const unsigned full = mok_full_barrier(c->stage);
    mok_wait_barrier(mok_empty_barrier(c->stage), c->parity ^ 1); /* the first lap finds every stage free */
    if (c->aborted) {
      mok_ptx_barrier_arrive(full);
    } else {
      const unsigned a = mok_shared_address((int)LAYOUT_PIPELINE_OFFSET + c->stage * MOK_STAGE_BYTES);
      const int column = k * P::k, row = t->column * tile::half_columns; /* row of the weight = column of the output */
      mok_ptx_barrier_expect(full, tile::bytes);
      mok_ptx_tensor_load_2d(a, mok_map(c, P::a_map), column, t->slot * PLAN_ROW_PADDING, full);
#pragma unroll
      for (int half = 0; half < tile::halves; ++half)
        mok_ptx_tensor_load_3d(a + tile::b_offset + half * tile::half_columns * MOK_PITCH, mok_map(c, P::b_map + half), column,
                               row, t->expert, full);
    }
  }
  mok_next_stage(c);
}

/* Descriptor of an operand (asynchronous warpgroup: matrix descriptor): address, and distance of 8-row groups, in units of 16
 * bytes; 128-byte swizzle. 16 more values of k are 32 bytes further. */
MOK_FN unsigned long long mok_operand(unsigned shared_address) {
  const unsigned low = shared_address >> 4 | 1u << 16, high = 8 * MOK_PITCH / 16 | 1u << 30;
  return (unsigned long long)high << 32 | low;
}
enum { MOK_OPERAND_STEP = 32 / 16 };

/* Gives the stage before the next one back. */
MOK_FN void mok_free_last_stage(const mok_cta *c) {
  if (mok_lane() == 0) mok_ptx_barrier_arrive(mok_empty_barrier((c->stage == 0 ? MOK_STAGES : c->stage) - 1));
}

/* A stage is given back when the products of the one after it have been started and its own are done: one is always in flight
 * until the tile's last. */
template <class P>
MOK_FN void mok_mma_stage(mok_cta *c, const mok_task *t, int k, mok_accumulator<P> &acc) {
  (void)t;
  mok_wait_barrier(mok_full_barrier(c->stage), c->parity);
  const unsigned stage = mok_shared_address((int)LAYOUT_PIPELINE_OFFSET + c->stage * MOK_STAGE_BYTES);
  const unsigned long long a = mok_operand(stage + c->instance * MOK_GROUP_ROWS * MOK_PITCH);
  const unsigned long long b = mok_operand(stage + mok_tile<P>::b_offset);
  mok_ptx_wgmma_fence();
#pragma unroll
  for (int step = 0; step < P::k / 16; ++step)
    mok_wgmma<P::n>::multiply(acc.v, a + step * MOK_OPERAND_STEP, b + step * MOK_OPERAND_STEP, step > 0 ? 1 : k);
  mok_ptx_wgmma_commit();
  mok_ptx_wgmma_wait<1>();
  if (k > 0) mok_free_last_stage(c);
  mok_next_stage(c);
}

template <class P>
MOK_FN void mok_finish(mok_cta *c, mok_accumulator<P> &acc) {
  mok_ptx_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < P::n / 2; ++i) mok_ptx_pin(acc.v[i]);
  mok_free_last_stage(c);
}

/* Stores value(i) in the place of acc.v[i] for the first half_columns columns; row_at(row) is where a row of the result lies. A
 * warp writes its 16 rows into its part of staging, and its lanes copy a row each: mok_signal waits for these copies. */
template <class P, class place, class function>
MOK_FN void mok_store_values(mok_cta *c, const mok_task *t, place row_at, function value) {
  using tile = mok_tile<P>;
  if (c->aborted) return;
  const int lane = mok_lane(), warp_row = c->instance * MOK_GROUP_ROWS + c->warp * 16, row = warp_row + lane;
  const unsigned staging = mok_shared_address((int)LAYOUT_STAGING_OFFSET + warp_row * tile::staging_pitch);
  const unsigned matrix_row =
      staging + lane % 16 * tile::staging_pitch + lane / 16 * 16; /* matrices: rows 0-7, 8-15; right ones */
  const int first = t->column * tile::half_columns;
  mok_bf16 *out = lane < 16 && row < t->rows ? row_at(row) + first : (mok_bf16 *)0;
#pragma unroll
  for (int piece = 0; piece < tile::pieces; ++piece) {
    const int begin = piece * tile::piece_columns;
    mok_ptx_bulk_wait_read<0>();
    __syncwarp();
#pragma unroll
    for (int column = 0; column < tile::piece_columns; column += 16) {
      const int left = tile::half_columns - begin - column, i = (begin + column) / 2;
      if (left <= 0) continue;
      const unsigned upper = mok_ptx_bf16x2(value(i), value(i + 1)), lower = mok_ptx_bf16x2(value(i + 2), value(i + 3));
      if (left >= 16) {
        mok_ptx_store_matrix_x4(matrix_row + column * 2, upper, lower, mok_ptx_bf16x2(value(i + 4), value(i + 5)),
                                mok_ptx_bf16x2(value(i + 6), value(i + 7)));
      } else {
        mok_ptx_store_matrix_x2(matrix_row + column * 2, upper, lower);
      }
    }
    mok_ptx_fence_async_shared();
    __syncwarp();
    const int real = mok_min(mok_min(tile::piece_columns, tile::half_columns - begin), P::columns - first - begin);
    if (out && real > 0) mok_ptx_bulk_store(out + begin, staging + lane * tile::staging_pitch, (unsigned)real * 2);
    mok_ptx_bulk_commit();
  }
}

template <class P>
MOK_FN void mok_store(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  mok_store_values<P>(
      c, t, [&](int row) { return P::out(c, t) + (mok_index)row * P::out_stride; }, [&](int i) { return acc.v[i]; });
}

template <class P>
MOK_FN void mok_store_activated(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  mok_store_values<P>(
      c, t, [&](int row) { return P::out(c, t) + (mok_index)row * P::out_stride; },
      [&](int i) { return P::gated ? activate(acc.v[i], acc.v[P::n / 4 + i]) : activate(0.0f, acc.v[i]); });
}

/* Stores to peers: each thread awaits and fences its own at the rank barrier that follows. */
template <class P>
MOK_FN void mok_store_pushed(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a pushed row is a row of region combine");
  mok_store_values<P>(
      c, t,
      [&](int row) {
        const mok_route source = mok_row_source(c, t, row);
        return (mok_bf16 *)mok_heap(c, source.rank, LAYOUT_COMBINE_OFFSET) + (mok_index)source.route * PLAN_HIDDEN;
      },
      [&](int i) { return acc.v[i]; });
}

#endif
