/* Tile loads, products and epilogues: every shape of PRODUCT_SHAPES, EPILOGUE_SHAPES or GATHER_SHAPES, as a generated kernel has
 * them. x is [T, k_extent], gate and up are [PRODUCT_EXPERTS, columns, k_extent], out is [PRODUCT_EXPERTS, row blocks, columns]
 * with PRODUCT_OUT_PAD columns more. */
#include "mok_target.h"

#include "cases.h"

#include "activate.h"

enum {
  INSTANCES = PLAN_THREADS / 128 - 1,
  OUT_BLOCKS = (PLAN_TOKENS_PER_GPU + PLAN_ROW_PADDING - 1) / PLAN_ROW_PADDING,
};

MOK_FN int shape_of(const mok_cta *c) { return ((const int *)c->args->shared_down.base)[WORD_SCENARIO]; }

template <int id, int shape_n, int shape_gated, int shape_k, int shape_columns, int shape_store, int shape_gathered>
struct product {
  enum : int {
    m = PLAN_GATE_UP_M,
    n = shape_n,
    k = PLAN_GATE_UP_K,
    stages = PLAN_GATE_UP_STAGES,
    k_extent = shape_k,
    columns = shape_store == STORE_PUSHED ? PLAN_HIDDEN : shape_columns,
    k_tiles = (k_extent + k - 1) / k,
    gathered = shape_gathered,
    routed = PRODUCT_IS_ROUTED(id, shape_store),
    tokens = !routed,
    a_map = 0,
    b_map = 1,
    gated = shape_gated,
    a_stride = k_extent,
    out_stride = columns + PRODUCT_OUT_PAD,
    instances = INSTANCES,
    store = shape_store,
    across = (columns * (1 + gated) + n - 1) / n, /* tiles */
  };
  MOK_FN static const mok_bf16 *a(const mok_cta *c, const mok_task *t) {
    return (const mok_bf16 *)c->args->x + (mok_index)t->row_block * PLAN_ROW_PADDING * a_stride;
  }
  MOK_FN static const mok_bf16 *a_row(const mok_cta *c, const mok_task *t, int row) {
    const int token = PRODUCT_TOKEN_OF(t->row_block * PLAN_ROW_PADDING + row, c->tokens);
    return (const mok_bf16 *)c->args->x + (mok_index)token * a_stride;
  }
  MOK_FN static mok_rows b(const mok_cta *c, const mok_task *t, int half) {
    return mok_expert_rows(half == 0 ? &c->args->gate : &c->args->up, t->expert);
  }
  MOK_FN static mok_bf16 *out(const mok_cta *c, const mok_task *t) {
    return (mok_bf16 *)c->args->out + (mok_index)(t->expert * OUT_BLOCKS + t->row_block) * PLAN_ROW_PADDING * out_stride;
  }
  MOK_FN static mok_task task(const mok_cta *c, mok_index i) {
    const mok_index of_expert = mok_tiles(c->token_blocks, across), expert = of_expert ? i / of_expert : PRODUCT_EXPERTS;
    if (expert >= (routed ? 1 : PRODUCT_EXPERTS)) return mok_no_task();
    mok_task t = mok_token_tile(c, 0, i % of_expert);
    if (routed) t = mok_row_task(c, 0, 0, t.row_block, t.column);
    else t.expert = (int)expert;
    t.slot = t.row_block; /* as in x */
    return t;
  }
};

template <class P>
MOK_FN void load_tile(mok_cta *c, const mok_task &t) {
  if constexpr ((int)P::gathered) {
    mok_gathered<P> rows;
    mok_gather(c, &t, rows);
    for (int k = 0; k < P::k_tiles; ++k) mok_load_gathered(c, &t, k, rows);
    mok_gather_end(c, &t, rows);
  } else {
    for (int k = 0; k < P::k_tiles; ++k) mok_load_stage<P>(c, &t, k);
  }
}

template <class P>
MOK_FN void multiply_tile(mok_cta *c, const mok_task &t) {
  mok_accumulator<P> acc;
  mok_clear(acc);
  for (int k = 0; k < P::k_tiles; ++k) mok_mma_stage(c, &t, k, acc);
  mok_finish(c, acc);
  if constexpr ((int)P::store == STORE_PUSHED) {
    mok_store_pushed(c, &t, acc);
    mok_signal(c, 0, t.row_block, MOK_EDGE_READ_TO_WRITE);
  } else {
    if constexpr ((int)P::store == STORE_ACTIVATED) mok_store_activated(c, &t, acc);
    else mok_store(c, &t, acc);
    mok_signal(c, 0, t.row_block, MOK_EDGE_BULK_TO_BULK);
  }
}

/* Tiles of P, in a kernel that gathers every second one of G, which differs in that only. CTAs of a cluster agree which. */
template <class P, class G>
MOK_FN void load_tiles(mok_cta *c) {
  for (mok_index i = mok_cta_first(c);; i += mok_cta_stride(c)) {
    const mok_task t = P::task(c, i);
    if (t.kind == MOK_TASK_END) break;
    if (G::gathered && PRODUCT_IS_GATHERED(P::routed ? 0 : t.expert, t.column)) load_tile<G>(c, t);
    else load_tile<P>(c, t);
  }
}

template <class P, class G>
MOK_FN void multiply_tiles(mok_cta *c) {
  for (mok_index i = mok_cta_first(c);; i += mok_cta_stride(c)) {
    const mok_task t = P::task(c, i);
    if (t.kind == MOK_TASK_END) break;
    if (G::gathered && PRODUCT_IS_GATHERED(P::routed ? 0 : t.expert, t.column)) multiply_tile<G>(c, t);
    else multiply_tile<P>(c, t);
  }
}

#ifdef FAMILY_epilogue
#define SHAPES EPILOGUE_SHAPES
#elif defined(FAMILY_gather)
#define SHAPES GATHER_SHAPES
#else
#define SHAPES PRODUCT_SHAPES
#endif

#define PRODUCT(id, n, gated, k, columns, store, gathered) product<id, n, gated, k, columns, store, gathered>
#define SHAPE(id, n, gated, k, columns, store)                                                                          \
  case id:                                                                                                              \
    EACH_TILE<PRODUCT(id, n, gated, k, columns, store, 0), PRODUCT(id, n, gated, k, columns, store, PLAN_OWN_ROWS)>(c); \
    break;

MOK_WORKER void load(mok_cta *c) {
  switch (shape_of(c)) {
#define EACH_TILE load_tiles
    SHAPES(SHAPE)
#undef EACH_TILE
  }
}

MOK_WORKER void multiply(mok_cta *c) {
  switch (shape_of(c)) {
#define EACH_TILE multiply_tiles
    SHAPES(SHAPE)
#undef EACH_TILE
  }
}

MOK_KERNEL void mok_forward(const MOK_GRID_CONSTANT mok_args args) {
  mok_cta cta = mok_enter(&args);
  mok_cta *c = &cta;
  mok_roles(c, args.comm_ctas, args.compute_ctas);
  switch (c->role) {
    case 1:
      mok_spawn<0, PLAN_OWN_ROWS ? 4 : 1, 1>(c, load); /* gathering takes a warpgroup */
      mok_spawn<4, 4, INSTANCES>(c, multiply);
      break;
  }
  mok_join(c);
  mok_rank_barrier(c, 0);
  mok_leave(c);
}
