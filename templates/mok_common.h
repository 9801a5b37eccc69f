/* The primitives that are the same on every target. mok_target.h includes this after its macros, mok_bf16 and mok_cta. */
#ifndef MOK_COMMON_H
#define MOK_COMMON_H

/* A target may define it: these bytes are about to be read. */
#ifndef MOK_READS
#define MOK_READS(at, bytes) ((void)0)
#endif

/* A target may define it: every thread reads from here on what the CTA's members have just been set to. */
#ifndef MOK_SETTLE
#define MOK_SETTLE() ((void)0)
#endif

/* Experts floor(r * E / R) .. floor((r + 1) * E / R) - 1 live on rank r. */
MOK_FN int mok_first_expert(int rank) { return (int)((mok_index)rank * PLAN_EXPERTS / PLAN_GPUS); }
MOK_FN int mok_local_experts(int rank) { return mok_first_expert(rank + 1) - mok_first_expert(rank); }

MOK_FN int mok_min(int a, int b) { return a < b ? a : b; }
MOK_FN mok_index mok_min_index(mok_index a, mok_index b) { return a < b ? a : b; }
MOK_FN int mok_max(int a, int b) { return a > b ? a : b; }

/* Limits of clamped activations. A NaN stays a NaN. */
MOK_FN float mok_at_most(float value, float limit) { return value > limit ? limit : value; }
MOK_FN float mok_clip(float value, float limit) { return value > limit ? limit : value < -limit ? -limit : value; }

MOK_FN float mok_silu(float x) { return x / (1.0f + mok_exp(-x)); }
MOK_FN float mok_gelu(float x) { return 0.5f * x * (1.0f + mok_erf(x * 0.70710678118654752f)); }
MOK_FN float mok_relu2(float x) { return x > 0.0f ? x * x : x != x ? x : 0.0f; }

/* Where a padded row comes from: {rank, token * k + slot}; rank -1: padding. Element type "route" of the layout. */
typedef struct mok_route {
  int rank;
  int route;
} mok_route;

/* Rows that pull and push move: all, or with own_rows = "direct" those of other ranks. */
MOK_FN bool mok_is_moved(const mok_cta *c, mok_route source) { return PLAN_OWN_ROWS == 0 || source.rank != c->args->rank; }

/* Rows of a weight: row r starts at base + r * stride. */
typedef struct mok_rows {
  const mok_bf16 *base;
  mok_index stride;
} mok_rows;

MOK_FN mok_rows mok_expert_rows(const mok_weight *weight, int expert) {
  const mok_rows rows = {(const mok_bf16 *)weight->base + expert * weight->expert_stride, weight->row_stride};
  return rows;
}

/* Regions: byte offsets of mok_layout.h into this rank's local workspace and into a rank's symmetric heap. */
MOK_FN char *mok_local(const mok_cta *c, mok_index offset) { return (char *)c->args->local + offset; }
MOK_FN char *mok_heap(const mok_cta *c, int rank, mok_index offset) { return (char *)c->args->heap[rank] + offset; }
MOK_FN mok_bf16 *mok_local_bf16(const mok_cta *c, mok_index offset) { return (mok_bf16 *)mok_local(c, offset); }
MOK_FN int *mok_local_int(const mok_cta *c, mok_index offset) { return (int *)mok_local(c, offset); }
MOK_FN unsigned *mok_control(const mok_rank_args *args, int line) {
  return (unsigned *)((char *)args->local + LAYOUT_CONTROL_OFFSET) + line * MOK_LINE_WORDS;
}
MOK_FN unsigned *mok_counter_set(const mok_cta *c, unsigned epoch) {
  return (unsigned *)mok_local(c, LAYOUT_COUNTERS_OFFSET) + (mok_index)(epoch % 2) * COUNTER_WORDS;
}
MOK_FN const mok_bf16 *mok_x(const mok_cta *c) { return (const mok_bf16 *)c->args->x; }

/* Tokens where peers (R > 1) or this rank's own dispatch (R = 1) read them. */
MOK_FN const mok_bf16 *mok_published_x(const mok_cta *c, int rank) {
#if PLAN_GPUS > 1
  return (const mok_bf16 *)mok_heap(c, rank, LAYOUT_X_OFFSET);
#else
  (void)rank;
  return mok_x(c);
#endif
}

MOK_FN bool mok_phase(const mok_cta *c, unsigned phase) { return (c->launch->phases & phase) != 0; }

MOK_FN void mok_roles(mok_cta *c, int ctas_0, int ctas_1) {
  const bool split = ctas_0 + ctas_1 > 0;
  const int role = split && c->cta >= ctas_0;
  c->role = role;
  c->role_cta = c->cta - (role == 1 ? ctas_0 : 0);
  c->role_ctas = split ? (role == 1 ? ctas_1 : ctas_0) : c->ctas;
  MOK_SETTLE();
}

/* Neighbouring indices go to different CTAs, so that a few tasks spread over all SMs. */
MOK_FN mok_index mok_first(const mok_cta *c) { return (mok_index)c->instance * c->role_ctas + c->role_cta; }
MOK_FN mok_index mok_stride(const mok_cta *c) { return (mok_index)c->instances * c->role_ctas; }
/* CTAs of a cluster take the same index, for neighbouring blocks. */
MOK_FN mok_index mok_cta_first(const mok_cta *c) { return c->role_cta / PLAN_CLUSTER; }
MOK_FN mok_index mok_cta_stride(const mok_cta *c) { return c->role_ctas / PLAN_CLUSTER; }
MOK_FN int mok_cluster_cta(const mok_cta *c) { return c->role_cta % PLAN_CLUSTER; }
/* Blocks of rows, so many that a cluster's CTAs always have one each; the last may be empty. */
MOK_FN int mok_blocks_of(int rows) {
  return (rows + PLAN_ROW_PADDING * PLAN_CLUSTER - 1) / (PLAN_ROW_PADDING * PLAN_CLUSTER) * PLAN_CLUSTER;
}

MOK_FN void mok_read_routing(mok_cta *c) {
  const int *end = mok_local_int(c, LAYOUT_EXPERT_BASE_OFFSET) + mok_local_experts(c->args->rank);
  MOK_READS(end, 4);
  c->row_blocks = *end / PLAN_ROW_PADDING;
  MOK_SETTLE();
}

MOK_FN mok_task mok_no_task(void) {
  const mok_task task = {MOK_TASK_END, 0, 0, 0, 0, 0, 0};
  return task;
}

/* A word of block_expert: a row block's expert and its real rows, so that a task is known after one load. */
enum { MOK_BLOCK_ROWS_BITS = 9 };
static_assert(PLAN_ROW_PADDING < 1 << MOK_BLOCK_ROWS_BITS && PLAN_EXPERTS < 1 << (31 - MOK_BLOCK_ROWS_BITS),
              "rows and expert of a block fit a word");
/* Block `block` of an expert that has `rows` rows in all. */
MOK_FN int mok_block_word(int expert, int block, int rows) {
  return expert << MOK_BLOCK_ROWS_BITS | mok_max(0, mok_min(PLAN_ROW_PADDING, rows - block * PLAN_ROW_PADDING));
}

MOK_FN mok_task mok_row_task(const mok_cta *c, int kind, int minibatch, int row_block, int column) {
  const int *word = mok_local_int(c, LAYOUT_BLOCK_EXPERT_OFFSET) + row_block;
  MOK_READS(word, 4);
  const int expert = *word >> MOK_BLOCK_ROWS_BITS, rows = *word & ((1 << MOK_BLOCK_ROWS_BITS) - 1);
  const mok_task task = {kind, minibatch, row_block, row_block % PLAN_RING_SLOTS, expert, rows, column};
  return task;
}

MOK_FN mok_task mok_token_task(const mok_cta *c, int kind, int token_block, int column) {
  const int rows = mok_max(0, mok_min(PLAN_ROW_PADDING, c->tokens - token_block * PLAN_ROW_PADDING));
  const mok_task task = {kind, 0, token_block, token_block, 0, rows, column};
  return task;
}

/* Tiles of `blocks` blocks and `columns` columns, as indices: a cluster's CTAs take one together, for neighbouring blocks. Blocks
 * vary fastest. An index is within a minibatch, so 32 bits hold it. */
MOK_FN mok_index mok_tiles(int blocks, int columns) { return (mok_index)(blocks / PLAN_CLUSTER) * columns; }
MOK_FN int mok_tile_block(const mok_cta *c, int blocks, mok_index i) {
  return (int)((unsigned)i % (unsigned)(blocks / PLAN_CLUSTER)) * PLAN_CLUSTER + mok_cluster_cta(c);
}
MOK_FN int mok_tile_column(int blocks, mok_index i) { return (int)((unsigned)i / (unsigned)(blocks / PLAN_CLUSTER)); }

/* Tile i of the row blocks first .. first + blocks - 1; tile i of all token blocks. */
MOK_FN mok_task mok_row_tile(const mok_cta *c, int kind, int minibatch, int first, int blocks, mok_index i) {
  return mok_row_task(c, kind, minibatch, first + mok_tile_block(c, blocks, i), mok_tile_column(blocks, i));
}
MOK_FN mok_task mok_token_tile(const mok_cta *c, int kind, mok_index i) {
  return mok_token_task(c, kind, mok_tile_block(c, c->token_blocks, i), mok_tile_column(c->token_blocks, i));
}

#endif
