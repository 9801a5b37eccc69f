/* Memory of epilogue-2xhost on 2 x host: byte offsets and sizes of every region in its space. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "mok_plan.h"

/* heap: symmetric, the same on every rank; peers read and write it */
#define LAYOUT_FLAGS_OFFSET         0LL           /* 4 x 32 u32: one 128-byte line per (rank barrier, peer) */
#define LAYOUT_FLAGS_BYTES          512LL
#define LAYOUT_X_OFFSET             512LL         /* 64 x 136 bf16: this rank's tokens, read by peers */
#define LAYOUT_X_BYTES              17408LL
#define LAYOUT_ROUTE_OFFSETS_OFFSET 17920LL       /* 6 i32: first entry of each expert in route_list */
#define LAYOUT_ROUTE_OFFSETS_BYTES  24LL
#define LAYOUT_ROUTE_LIST_OFFSET    18048LL       /* 192 i32: this rank's valid routes, sorted by expert */
#define LAYOUT_ROUTE_LIST_BYTES     768LL
#define LAYOUT_COMBINE_OFFSET       18816LL       /* 192 x 136 bf16: y of each route, written by the expert's owner */
#define LAYOUT_COMBINE_BYTES        52224LL
#define LAYOUT_HEAP_BYTES           71168LL       /* all of them */

/* local: this rank's workspace */
#define LAYOUT_CONTROL_OFFSET       0LL           /* 8 x 32 u32: epoch, ticket, exits, grid barrier, abort, error record, spare */
#define LAYOUT_CONTROL_BYTES        1024LL
#define LAYOUT_COUNTERS_OFFSET      1024LL        /* 2 x 28 u32: two sets by epoch parity */
#define LAYOUT_COUNTERS_BYTES       224LL
#define LAYOUT_EXPERT_BASE_OFFSET   1280LL        /* 4 i32: first padded row of each local expert */
#define LAYOUT_EXPERT_BASE_BYTES    16LL
#define LAYOUT_EXPERT_ROWS_OFFSET   1536LL        /* 3 i32: real rows of each local expert */
#define LAYOUT_EXPERT_ROWS_BYTES    12LL
#define LAYOUT_BLOCK_EXPERT_OFFSET  1792LL        /* 9 i32: local expert and real rows of each row block */
#define LAYOUT_BLOCK_EXPERT_BYTES   36LL
#define LAYOUT_ROW_SOURCE_OFFSET    2048LL        /* 576 route: rank and route of each padded row; rank -1: padding */
#define LAYOUT_ROW_SOURCE_BYTES     4608LL
#define LAYOUT_RING_X_OFFSET        6656LL        /* 64 x 136 bf16: dispatched rows */
#define LAYOUT_RING_X_BYTES         17408LL
#define LAYOUT_RING_H_OFFSET        24064LL       /* 64 x 88 bf16: activations */
#define LAYOUT_RING_H_BYTES         11264LL
#define LAYOUT_SHARED_H_OFFSET      35328LL       /* 64 x 200 bf16: shared expert's activations */
#define LAYOUT_SHARED_H_BYTES       25600LL
#define LAYOUT_SHARED_Y_OFFSET      60928LL       /* 64 x 136 bf16: shared expert's output */
#define LAYOUT_SHARED_Y_BYTES       17408LL
#define LAYOUT_LOCAL_BYTES          78336LL       /* all of them */

/* shared: dynamic shared memory of one CTA; regions of two roles may overlap */
#define LAYOUT_PIPELINE_OFFSET      0LL           /* compute: 6 x 14336 byte: A and B of each stage */
#define LAYOUT_PIPELINE_BYTES       86016LL
#define LAYOUT_SLOTS_OFFSET         0LL           /* comm: 32 x 272 byte: pieces of rows on their way; pulling warps first */
#define LAYOUT_SLOTS_BYTES          8704LL
#define LAYOUT_SLOT_BARRIERS_OFFSET 8704LL        /* comm: 32 x 8 byte: one per slot */
#define LAYOUT_SLOT_BARRIERS_BYTES  256LL
#define LAYOUT_STAGING_OFFSET       86016LL       /* compute: 64 x 56 bf16: a tile on its way out, up to 128 columns at a time; 8 of padding */
#define LAYOUT_STAGING_BYTES        7168LL
#define LAYOUT_BARRIERS_OFFSET      93184LL       /* compute: 12 x 8 byte: full, then empty, of each stage */
#define LAYOUT_BARRIERS_BYTES       96LL
#define LAYOUT_CTA_OFFSET           93312LL       /* 64 u32: what one thread tells its CTA */
#define LAYOUT_CTA_BYTES            256LL
#define LAYOUT_SHARED_BYTES         93568LL       /* all of them */

/* Words of a counter set. */
enum {
  COUNTER_X_READY = 0,            /* 9, one per row block */
  COUNTER_H_READY = 9,            /* 9, one per row block */
  COUNTER_H_DONE = 18,            /* 9, one per row block */
  COUNTER_SHARED_H_READY = 27,    /* 1, one per token block */
  COUNTER_WORDS = 28,
};

/* Tensor maps of a rank, MAP_<PRODUCT>_<OPERAND>. */
enum {
  MAP_SHARED_UP_X = 0,
  MAP_SHARED_UP_SHARED_GATE = 1,
  MAP_SHARED_UP_SHARED_UP = 2,
  MAP_SHARED_DOWN_SHARED_H = 3,
  MAP_SHARED_DOWN_SHARED_DOWN = 4,
  MAP_UP_RING_X = 5,
  MAP_UP_GATE = 6,
  MAP_UP_UP = 7,
  MAP_DOWN_RING_H = 8,
  MAP_DOWN_DOWN = 9,
  MAP_COUNT = 10,
};

static_assert(LAYOUT_HEAP_BYTES == PLAN_SYMMETRIC_BYTES, "the plan counts the heap");
static_assert(LAYOUT_LOCAL_BYTES == PLAN_LOCAL_BYTES, "the plan counts the local workspace");
static_assert(LAYOUT_SHARED_BYTES <= PLAN_SHARED_BYTES_PER_CTA, "a CTA has the shared memory");
static_assert(PLAN_RING_SLOTS * PLAN_ROW_PADDING == PLAN_RING_ROWS, "a slot holds a row block");
static_assert(LAYOUT_FLAGS_BYTES == 2LL * PLAN_GPUS * 128, "flags has its size");
static_assert(LAYOUT_X_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_HIDDEN, "x has its size");
static_assert(LAYOUT_ROUTE_OFFSETS_BYTES == 4LL * (PLAN_EXPERTS + 1), "route_offsets has its size");
static_assert(LAYOUT_ROUTE_LIST_BYTES == 4LL * PLAN_TOKENS_PER_GPU * PLAN_TOP_K, "route_list has its size");
static_assert(LAYOUT_COMBINE_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_TOP_K * PLAN_HIDDEN, "combine has its size");
static_assert(LAYOUT_COUNTERS_BYTES == 2LL * 4 * COUNTER_WORDS, "counters has its size");
static_assert(LAYOUT_ROW_SOURCE_BYTES == 8LL * PLAN_CAPACITY_ROWS, "row_source has its size");
static_assert(LAYOUT_RING_X_BYTES == 2LL * PLAN_RING_ROWS * PLAN_HIDDEN, "ring_x has its size");
static_assert(LAYOUT_RING_H_BYTES == 2LL * PLAN_RING_ROWS * PLAN_INTERMEDIATE, "ring_h has its size");
static_assert(LAYOUT_SHARED_H_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_SHARED_INTERMEDIATE, "shared_h has its size");
static_assert(LAYOUT_SHARED_Y_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_HIDDEN, "shared_y has its size");

#endif
