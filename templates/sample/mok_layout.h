/* Memory of sample on 2 x H200: byte offsets and sizes of every region in its space. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "mok_plan.h"

/* heap: symmetric, the same on every rank; peers read and write it */
#define LAYOUT_FLAGS_OFFSET         0LL           /* 4 x 32 u32: one 128-byte line per (rank barrier, peer) */
#define LAYOUT_FLAGS_BYTES          512LL
#define LAYOUT_X_OFFSET             512LL         /* 256 x 256 bf16: this rank's tokens, read by peers */
#define LAYOUT_X_BYTES              131072LL
#define LAYOUT_ROUTE_OFFSETS_OFFSET 131584LL      /* 9 i32: first entry of each expert in route_list */
#define LAYOUT_ROUTE_OFFSETS_BYTES  36LL
#define LAYOUT_ROUTE_LIST_OFFSET    131712LL      /* 512 i32: this rank's valid routes, sorted by expert */
#define LAYOUT_ROUTE_LIST_BYTES     2048LL
#define LAYOUT_COMBINE_OFFSET       133760LL      /* 512 x 256 bf16: y of each route, written by the expert's owner */
#define LAYOUT_COMBINE_BYTES        262144LL
#define LAYOUT_HEAP_BYTES           396032LL      /* all of them */

/* local: this rank's workspace */
#define LAYOUT_CONTROL_OFFSET       0LL           /* 8 x 32 u32: epoch, ticket, exits, grid barrier, abort, error record, spare */
#define LAYOUT_CONTROL_BYTES        1024LL
#define LAYOUT_COUNTERS_OFFSET      1024LL        /* 2 x 50 u32: two sets by epoch parity */
#define LAYOUT_COUNTERS_BYTES       400LL
#define LAYOUT_EXPERT_BASE_OFFSET   1536LL        /* 5 i32: first padded row of each local expert */
#define LAYOUT_EXPERT_BASE_BYTES    20LL
#define LAYOUT_EXPERT_ROWS_OFFSET   1792LL        /* 4 i32: real rows of each local expert */
#define LAYOUT_EXPERT_ROWS_BYTES    16LL
#define LAYOUT_BLOCK_EXPERT_OFFSET  2048LL        /* 12 i32: local expert and real rows of each row block */
#define LAYOUT_BLOCK_EXPERT_BYTES   48LL
#define LAYOUT_ROW_SOURCE_OFFSET    2304LL        /* 1536 route: rank and route of each padded row; rank -1: padding */
#define LAYOUT_ROW_SOURCE_BYTES     12288LL
#define LAYOUT_RING_X_OFFSET        14592LL       /* 512 x 256 bf16: dispatched rows */
#define LAYOUT_RING_X_BYTES         262144LL
#define LAYOUT_RING_H_OFFSET        276736LL      /* 512 x 128 bf16: activations */
#define LAYOUT_RING_H_BYTES         131072LL
#define LAYOUT_RING_Y_OFFSET        407808LL      /* 512 x 256 bf16: expert outputs */
#define LAYOUT_RING_Y_BYTES         262144LL
#define LAYOUT_SHARED_H_OFFSET      669952LL      /* 256 x 128 bf16: shared expert's activations */
#define LAYOUT_SHARED_H_BYTES       65536LL
#define LAYOUT_SHARED_Y_OFFSET      735488LL      /* 256 x 256 bf16: shared expert's output */
#define LAYOUT_SHARED_Y_BYTES       131072LL
#define LAYOUT_LOCAL_BYTES          866560LL      /* all of them */

/* shared: dynamic shared memory of one CTA; regions of two roles may overlap */
#define LAYOUT_PIPELINE_OFFSET      0LL           /* compute: 8 x 18432 byte: A and B of each stage */
#define LAYOUT_PIPELINE_BYTES       147456LL
#define LAYOUT_SLOTS_OFFSET         0LL           /* comm: 48 x 512 byte: pieces of rows on their way; pulling warps first */
#define LAYOUT_SLOTS_BYTES          24576LL
#define LAYOUT_SLOT_BARRIERS_OFFSET 24576LL       /* comm: 48 x 8 byte: one per slot */
#define LAYOUT_SLOT_BARRIERS_BYTES  384LL
#define LAYOUT_STAGING_OFFSET       147456LL      /* compute: 128 x 24 bf16: a tile on its way out, up to 128 columns at a time; 8 of padding */
#define LAYOUT_STAGING_BYTES        6144LL
#define LAYOUT_BARRIERS_OFFSET      153600LL      /* compute: 16 x 8 byte: full, then empty, of each stage */
#define LAYOUT_BARRIERS_BYTES       128LL
#define LAYOUT_CTA_OFFSET           153728LL      /* 64 u32: what one thread tells its CTA */
#define LAYOUT_CTA_BYTES            256LL
#define LAYOUT_SHARED_BYTES         153984LL      /* all of them */

/* Words of a counter set. */
enum {
  COUNTER_X_READY = 0,            /* 12, one per row block */
  COUNTER_H_READY = 12,           /* 12, one per row block */
  COUNTER_Y_READY = 24,           /* 12, one per row block */
  COUNTER_Y_DONE = 36,            /* 12, one per row block */
  COUNTER_SHARED_H_READY = 48,    /* 2, one per token block */
  COUNTER_WORDS = 50,
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
static_assert(LAYOUT_RING_Y_BYTES == 2LL * PLAN_RING_ROWS * PLAN_HIDDEN, "ring_y has its size");
static_assert(LAYOUT_SHARED_H_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_SHARED_INTERMEDIATE, "shared_h has its size");
static_assert(LAYOUT_SHARED_Y_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_HIDDEN, "shared_y has its size");

#endif
