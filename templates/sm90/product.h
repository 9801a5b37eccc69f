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
  MOK_PAY_STAGE = 2,   /* of a tile: by then the rows of the one before have usually been written */
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
    b_bytes = P::n * MOK_PITCH,
    bytes = b_offset + b_bytes,
    parts = halves > PLAN_CLUSTER ? halves : PLAN_CLUSTER, /* of B, each a box of the tensor map */
    part_rows = P::n / parts,
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
/* Whether the other CTA of the cluster has a block of the same expert. Blocks of tokens have the same weights. */
template <class P>
MOK_FN bool mok_shares_b(const mok_cta *c, const mok_task *t) {
  if (PLAN_CLUSTER == 1) return false;
  if (P::tokens) return true;
  return mok_local_int(c, LAYOUT_BLOCK_EXPERT_OFFSET)[t->row_block ^ 1] >> MOK_BLOCK_ROWS_BITS == t->expert;
}

/* B arrives in parts of part_rows rows. In a cluster whose CTAs multiply by the same weights each loads one part for both, so a
 * stage is free when the warps of all CTAs have read it. One thread. */
template <class P>
MOK_FN void mok_load_b(const mok_cta *c, const mok_task *t, int k, unsigned to, unsigned full) {
  using tile = mok_tile<P>;
  const int column = k * P::k, row = t->column * tile::half_columns; /* row of the weight = column of the output */
  const int mine = mok_cluster_cta(c);
#pragma unroll
  for (int part = 0; part < tile::parts; ++part) {
    const unsigned b = to + part * tile::part_rows * MOK_PITCH;
    const void *map = &c->maps[P::b_map + (P::gated ? part : 0)];
    const int first = row + (P::gated ? 0 : part * tile::part_rows);
    if (!c->shares_b) mok_ptx_tensor_load_3d(b, map, column, first, t->expert, full);
    else if (part == mine) mok_ptx_tensor_load_3d_multicast(b, map, column, first, t->expert, full, (1 << PLAN_CLUSTER) - 1);
  }
}

MOK_FN unsigned mok_stage_address(const mok_cta *c) {
  return c->shared + (unsigned)((int)LAYOUT_PIPELINE_OFFSET + c->stage * MOK_STAGE_BYTES);
}

/* An aborted CTA of a cluster goes on loading: another one may count on it. */
template <class P>
MOK_FN void mok_load_stage(mok_cta *c, const mok_task *t, int k) {
  using tile = mok_tile<P>;
  const unsigned full = mok_full_barrier(c, c->stage), a = mok_stage_address(c);
  if (k == 0) c->shares_b = mok_shares_b<P>(c, t);
  /* The first lap finds every stage free. Who arrives waits, so that nobody is a lap ahead. */
  if (MOK_GATHERS || mok_is_leader(c)) mok_wait_empty(mok_empty_barrier(c, c->stage), c->parity ^ 1);
  if (mok_is_leader(c)) {
    if (c->aborted && PLAN_CLUSTER == 1) {
      mok_ptx_barrier_arrive(full);
    } else {
      mok_ptx_barrier_expect(full, tile::bytes);
      mok_ptx_tensor_load_2d(a, &c->maps[P::a_map], k * P::k, t->slot * PLAN_ROW_PADDING, full);
      mok_load_b<P>(c, t, k, a + tile::b_offset, full);
    }
  }
  if (MOK_GATHERS) mok_ptx_barrier_arrive(full); /* with the number of arrivals of a gathered stage */
  mok_next_stage(c);
}

/* Gives the stage before the next one back. */
MOK_FN void mok_free_last_stage(const mok_cta *c) {
  const unsigned empty = mok_empty_barrier(c, (c->stage == 0 ? MOK_STAGES : c->stage) - 1);
  if (PLAN_CLUSTER == 1) {
    if (mok_lane() == 0) mok_ptx_barrier_arrive(empty);
  } else if (mok_lane() < PLAN_CLUSTER) {
    mok_ptx_barrier_arrive_cluster(mok_ptx_map_shared(empty, mok_lane()));
  }
}

/* A stage is given back when the products of the one after it have been started and its own are done: one is always in flight
 * until the tile's last. */
template <class P>
MOK_FN void mok_mma_stage(mok_cta *c, const mok_task *t, int k, mok_accumulator<P> &acc) {
  (void)t;
  const unsigned full = mok_full_barrier(c, c->stage);
  /* All lanes pay or none: each has tested the barrier for itself. */
  if (c->owed != MOK_NOTHING_OWED &&
      (k == MOK_PAY_STAGE || !__all_sync(0xffffffffu, mok_ptx_barrier_test(full, c->parity))))
    mok_pay(c);
  mok_wait_barrier(full, c->parity);
  if (P::gathered) mok_ptx_fence_async_shared(); /* A was written by ordinary accesses */
  const unsigned stage = mok_stage_address(c);
  const unsigned a = mok_operand(stage + c->instance * MOK_GROUP_ROWS * MOK_PITCH);
  const unsigned b = mok_operand(stage + mok_tile<P>::b_offset);
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

/* A tile leaves through staging, each warp's 16 rows by themselves, in pieces of piece_columns columns. */
template <class P>
struct mok_way_out {
  using tile = mok_tile<P>;
  int row;                       /* of the tile, this lane's; lanes from 16 on have none */
  int first;                     /* column of the result */
  unsigned staging, matrix_row;  /* of the warp; where this lane's rows of matrices go: rows 0-7, 8-15, then the right ones */
  mok_bf16 *out;                 /* first column of the tile in this lane's row of the result; null: not a real row */

  template <class place>
  MOK_FN mok_way_out(const mok_cta *c, const mok_task *t, place row_at) {
    const int lane = mok_lane(), warp_row = c->instance * MOK_GROUP_ROWS + c->warp * 16;
    row = warp_row + lane;
    first = t->column * tile::half_columns;
    staging = c->shared + (unsigned)((int)LAYOUT_STAGING_OFFSET + warp_row * tile::staging_pitch);
    matrix_row = staging + lane % 16 * tile::staging_pitch + lane / 16 * 16;
    out = lane < 16 && row < t->rows ? row_at(row) + first : (mok_bf16 *)0;
  }

  /* value(i) in the place of acc.v[i], for the columns from `begin` on. */
  template <class function>
  MOK_FN void put(int begin, function value) const {
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
  }
  /* Columns of the piece that begins at `begin` and are inside the result. */
  MOK_FN int real(int begin) const {
    return mok_min(mok_min(tile::piece_columns, tile::half_columns - begin), P::columns - first - begin);
  }
};

/* By bulk copies, a row each: mok_signal waits for them. */
template <class P, class place, class function>
MOK_FN void mok_store_values(mok_cta *c, const mok_task *t, place row_at, function value) {
  using tile = mok_tile<P>;
  if (c->aborted) return;
  const mok_way_out<P> way(c, t, row_at);
#pragma unroll
  for (int begin = 0; begin < tile::half_columns; begin += tile::piece_columns) {
    mok_ptx_bulk_wait_read<0>();
    __syncwarp();
    way.put(begin, value);
    mok_ptx_fence_async_shared();
    __syncwarp();
    if (way.out && way.real(begin) > 0)
      mok_ptx_bulk_store(way.out + begin, way.staging + mok_lane() * tile::staging_pitch, (unsigned)way.real(begin) * 2);
    mok_ptx_bulk_commit();
  }
}

/* Where row `row` of a tile begins in the product's own result. */
template <class P>
struct mok_rows_out {
  mok_bf16 *first;
  MOK_FN mok_rows_out(const mok_cta *c, const mok_task *t) : first(P::out(c, t)) {}
  MOK_FN mok_bf16 *operator()(int row) const { return first + (mok_index)row * P::out_stride; }
};

template <class P>
MOK_FN void mok_store(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  mok_store_values<P>(c, t, mok_rows_out<P>(c, t), [&](int i) { return acc.v[i]; });
}

template <class P>
MOK_FN void mok_store_activated(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  mok_store_values<P>(c, t, mok_rows_out<P>(c, t),
                      [&](int i) { return P::gated ? activate(acc.v[i], acc.v[P::n / 4 + i]) : activate(0.0f, acc.v[i]); });
}

/* Rows of this rank's own tokens to their slots, the others to the ring. */
template <class P>
MOK_FN void mok_store_split(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a row of this rank's is a row of region combine");
  mok_store_values<P>(
      c, t,
      [&](int row) {
        const mok_route source = mok_row_source(c, t, row);
        if (mok_is_moved(c, source)) return P::out(c, t) + (mok_index)row * P::out_stride;
        return (mok_bf16 *)mok_heap(c, c->args->rank, LAYOUT_COMBINE_OFFSET) + (mok_index)source.route * PLAN_HIDDEN;
      },
      [&](int i) { return acc.v[i]; });
}

/* By ordinary stores of 16 bytes, half a warp for a row: nobody waits for them before the rank barrier, where each thread fences
 * its own. They are read once, much later, so they should not push weights and tokens out of L2. */
template <class P>
MOK_FN void mok_store_pushed(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  using tile = mok_tile<P>;
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a pushed row is a row of region combine");
  static_assert(tile::piece_columns <= 16 * 8, "sixteen lanes copy a row of a piece");
  if (c->aborted) return;
  const mok_way_out<P> way(c, t, [&](int row) {
    const mok_route source = mok_row_source(c, t, row);
    return (mok_bf16 *)mok_heap(c, source.rank, LAYOUT_COMBINE_OFFSET) + (mok_index)source.route * PLAN_HIDDEN;
  });
  const int lane = mok_lane(), column = lane % 16 * 8;
  mok_ptx_bulk_wait_read<0>(); /* of the tile before */
#pragma unroll
  for (int begin = 0; begin < tile::half_columns; begin += tile::piece_columns) {
    __syncwarp();
    way.put(begin, [&](int i) { return acc.v[i]; });
    __syncwarp();
    const bool inside = column < way.real(begin);
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const int row = i + lane / 16;
      mok_bf16 *out = (mok_bf16 *)__shfl_sync(0xffffffffu, (unsigned long long)way.out, row);
      const uint4 v = mok_ptx_load_shared_16(way.staging + row * tile::staging_pitch + column * 2);
      if (out && inside) mok_ptx_store_16_streaming(out + begin + column, v);
    }
  }
}

#endif
