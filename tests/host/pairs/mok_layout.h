/* Memory of pairs on 1 x H200: byte offsets and sizes of every region in its space. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "mok_plan.h"

/* heap: symmetric, the same on every rank; peers read and write it */
#define LAYOUT_FLAGS_OFFSET         0LL           /* 2 x 32 u32: one 128-byte line per (rank barrier, peer) */
#define LAYOUT_FLAGS_BYTES          256LL
#define LAYOUT_ROUTE_OFFSETS_OFFSET 256LL         /* 9 i32: first entry of each expert in route_list */
#define LAYOUT_ROUTE_OFFSETS_BYTES  36LL
#define LAYOUT_ROUTE_LIST_OFFSET    384LL         /* 960 i32: this rank's valid routes, sorted by expert */
#define LAYOUT_ROUTE_LIST_BYTES     3840LL
#define LAYOUT_COMBINE_OFFSET       4224LL        /* 960 x 256 bf16: y of each route, written by the expert's owner */
#define LAYOUT_COMBINE_BYTES        491520LL
#define LAYOUT_HEAP_BYTES           495872LL      /* all of them */

/* local: this rank's workspace */
#define LAYOUT_CONTROL_OFFSET       0LL           /* 8 x 32 u32: epoch, ticket, exits, grid barrier, abort, error record, spare */
#define LAYOUT_CONTROL_BYTES        1024LL
#define LAYOUT_COUNTERS_OFFSET      1024LL        /* 2 x 48 u32: two sets by epoch parity */
#define LAYOUT_COUNTERS_BYTES       384LL
#define LAYOUT_EXPERT_BASE_OFFSET   1536LL        /* 9 i32: first padded row of each local expert */
#define LAYOUT_EXPERT_BASE_BYTES    36LL
#define LAYOUT_EXPERT_ROWS_OFFSET   1792LL        /* 8 i32: real rows of each local expert */
#define LAYOUT_EXPERT_ROWS_BYTES    32LL
#define LAYOUT_BLOCK_EXPERT_OFFSET  2048LL        /* 24 i32: local expert and real rows of each row block */
#define LAYOUT_BLOCK_EXPERT_BYTES   96LL
#define LAYOUT_ROW_SOURCE_OFFSET    2304LL        /* 1536 route: rank and route of each padded row; rank -1: padding */
#define LAYOUT_ROW_SOURCE_BYTES     12288LL
#define LAYOUT_RING_H_OFFSET        14592LL       /* 768 x 128 bf16: activations */
#define LAYOUT_RING_H_BYTES         196608LL
#define LAYOUT_LOCAL_BYTES          211200LL      /* all of them */

/* shared: dynamic shared memory of one CTA; regions of two roles may overlap */
#define LAYOUT_PIPELINE_OFFSET      0LL           /* compute: 8 x 12288 byte: A and B of each stage */
#define LAYOUT_PIPELINE_BYTES       98304LL
#define LAYOUT_STAGING_OFFSET       98304LL       /* compute: 64 x 40 bf16: a tile on its way out, up to 128 columns at a time; 8 of padding */
#define LAYOUT_STAGING_BYTES        5120LL
#define LAYOUT_BARRIERS_OFFSET      103424LL      /* compute: 16 x 8 byte: full, then empty, of each stage */
#define LAYOUT_BARRIERS_BYTES       128LL
#define LAYOUT_CTA_OFFSET           103552LL      /* 64 u32: what one thread tells its CTA */
#define LAYOUT_CTA_BYTES            256LL
#define LAYOUT_SHARED_BYTES         103808LL      /* all of them */

/* Words of a counter set. */
enum {
  COUNTER_H_READY = 0,            /* 24, one per row block */
  COUNTER_H_DONE = 24,            /* 24, one per row block */
  COUNTER_WORDS = 48,
};

/* Tensor maps of a rank, MAP_<PRODUCT>_<OPERAND>. */
enum {
  MAP_UP_GATE = 0,
  MAP_UP_UP = 1,
  MAP_DOWN_RING_H = 2,
  MAP_DOWN_DOWN = 3,
  MAP_COUNT = 4,
};

static_assert(LAYOUT_HEAP_BYTES == PLAN_SYMMETRIC_BYTES, "the plan counts the heap");
static_assert(LAYOUT_LOCAL_BYTES == PLAN_LOCAL_BYTES, "the plan counts the local workspace");
static_assert(LAYOUT_SHARED_BYTES <= PLAN_SHARED_BYTES_PER_CTA, "a CTA has the shared memory");
static_assert(PLAN_RING_SLOTS * PLAN_ROW_PADDING == PLAN_RING_ROWS, "a slot holds a row block");
static_assert(LAYOUT_FLAGS_BYTES == 2LL * PLAN_GPUS * 128, "flags has its size");
static_assert(LAYOUT_ROUTE_OFFSETS_BYTES == 4LL * (PLAN_EXPERTS + 1), "route_offsets has its size");
static_assert(LAYOUT_ROUTE_LIST_BYTES == 4LL * PLAN_TOKENS_PER_GPU * PLAN_TOP_K, "route_list has its size");
static_assert(LAYOUT_COMBINE_BYTES == 2LL * PLAN_TOKENS_PER_GPU * PLAN_TOP_K * PLAN_HIDDEN, "combine has its size");
static_assert(LAYOUT_COUNTERS_BYTES == 2LL * 4 * COUNTER_WORDS, "counters has its size");
static_assert(LAYOUT_ROW_SOURCE_BYTES == 8LL * PLAN_CAPACITY_ROWS, "row_source has its size");
static_assert(LAYOUT_RING_H_BYTES == 2LL * PLAN_RING_ROWS * PLAN_INTERMEDIATE, "ring_h has its size");

#endif
