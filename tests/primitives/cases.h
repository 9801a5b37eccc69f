/* What the kernels (*.cu) and the checkers (check_*.c) of this folder agree on; C, C++ and NVRTC.
 *
 * A launch is told what to do by the ints at mok_rank_args.shared_down.base and answers in those at shared_up.base. */
#ifndef MOK_PRIMITIVE_CASES_H
#define MOK_PRIMITIVE_CASES_H

/* Words of shared_down.base. */
enum { WORD_SCENARIO = 0, WORD_TASKS = 1, WORD_FIRST_TASK = 4 };

/* ---- product.cu: WORD_SCENARIO is the shape's id. Every instance signals every tile: counter 0, the word of its block ---- */

enum { STORE_PLAIN, STORE_ACTIVATED, STORE_PUSHED };
enum { PRODUCT_EXPERTS = 2, PRODUCT_OUT_PAD = 8, PRODUCT_WEIGHT_PAD = 8 }; /* columns after a row that are nobody's */

/* Row blocks of a routed product have experts of their own, as the table block_expert says; a product of tokens is of every
 * expert. In a kernel that gathers, every second tile takes its rows from tokens anywhere: row i is that of
 * PRODUCT_TOKEN_OF(i, T). */
#define PRODUCT_IS_ROUTED(id, store) ((store) == STORE_PUSHED || (id) / 2 % 2 == 1)
#define PRODUCT_IS_GATHERED(expert, column) (((expert) + (column)) % 2 == 1)
#define PRODUCT_TOKEN_OF(row, tokens) (((row)*7 + 3) % (tokens))

/* SHAPE(id, n, gated, k_extent, columns, store): every n; depths and widths of less than a tile, of whole tiles and of a tile and
 * some more; many tiles of one stage. A pushed product has PLAN_HIDDEN columns. */
#define PRODUCT_SHAPES(SHAPE)                  \
  SHAPE(0, 16, 1, 8, 8, STORE_ACTIVATED)       \
  SHAPE(1, 32, 0, 64, 24, STORE_PLAIN)         \
  SHAPE(2, 48, 1, 72, 40, STORE_ACTIVATED)     \
  SHAPE(3, 64, 0, 136, 64, STORE_PLAIN)        \
  SHAPE(4, 80, 1, 200, 48, STORE_ACTIVATED)    \
  SHAPE(5, 96, 0, 8, 104, STORE_PLAIN)         \
  SHAPE(6, 112, 1, 520, 64, STORE_ACTIVATED)   \
  SHAPE(7, 128, 0, 264, 136, STORE_PLAIN)      \
  SHAPE(8, 144, 1, 64, 80, STORE_ACTIVATED)    \
  SHAPE(9, 160, 0, 136, 168, STORE_PLAIN)      \
  SHAPE(10, 176, 1, 128, 96, STORE_ACTIVATED)  \
  SHAPE(11, 192, 0, 72, 200, STORE_PLAIN)      \
  SHAPE(12, 208, 1, 200, 112, STORE_ACTIVATED) \
  SHAPE(13, 224, 0, 328, 232, STORE_PLAIN)     \
  SHAPE(14, 240, 1, 136, 128, STORE_ACTIVATED) \
  SHAPE(15, 256, 0, 520, 264, STORE_PLAIN)     \
  SHAPE(16, 256, 1, 136, 136, STORE_ACTIVATED) \
  SHAPE(17, 96, 0, 72, 0, STORE_PUSHED)        \
  SHAPE(18, 16, 0, 64, 264, STORE_PLAIN)

/* Of kernels that gather. */
#define GATHER_SHAPES(SHAPE)                  \
  SHAPE(0, 16, 1, 8, 24, STORE_ACTIVATED)     \
  SHAPE(1, 48, 0, 72, 152, STORE_PLAIN)       \
  SHAPE(2, 128, 1, 200, 136, STORE_ACTIVATED) \
  SHAPE(3, 256, 0, 136, 264, STORE_PLAIN)     \
  SHAPE(4, 208, 1, 520, 112, STORE_ACTIVATED) \
  SHAPE(5, 96, 0, 72, 0, STORE_PUSHED)        \
  SHAPE(6, 16, 0, 64, 264, STORE_PLAIN)

/* Of the plans that differ in activation and clamp only. */
#define EPILOGUE_SHAPES(SHAPE)             \
  SHAPE(0, 16, 1, 24, 16, STORE_ACTIVATED) \
  SHAPE(1, 80, 0, 72, 88, STORE_ACTIVATED) \
  SHAPE(2, 256, 1, 136, 136, STORE_ACTIVATED)

/* ---- sync.cu ---- */

enum {
  SYNC_PIPELINE_WARP_GROUP, /* rows change hands across every kind of edge: written by a warp, checked by four */
  SYNC_PIPELINE_GROUP_WARP, /* by four warps, a warp */
  SYNC_PIPELINE_CTAS,       /* by whole CTAs */
  SYNC_GRID_BARRIER,
  SYNC_RANK_BARRIER,
  SYNC_LOST_SIGNAL, /* from here on: what ends in a fault */
  SYNC_ABSENT_CTA,
  SYNC_ABSENT_RANK,
  SYNC_POISONED_RANK
};
enum {
  SYNC_SLOTS = 3,     /* of the rings, used in turn */
  SYNC_FILLERS = 2,   /* tasks that fill one item */
  SYNC_RING_ROWS = 4, /* rows of an item */
  SYNC_ROUNDS = 5,
  SYNC_LOST_COUNTER = 5,
  SYNC_LOST_INDEX = 2,
  SYNC_LOST_TARGET = 3,
  SYNC_LAST_BARRIER = 1
};
/* Words of the answer. */
enum { SYNC_WRONG = 0, SYNC_DONE = 1 }; /* SYNC_DONE + item, or + CTA: the launch's epoch + 1 */

/* ---- route.cu: the answer has the row blocks as each CTA read them, then the fields of each block's task ---- */

enum { ROUTE_MOST_CTAS = 16, ROUTE_TASK_WORDS = 8 };

/* ---- move.cu: words of a task ---- */

enum { MOVE_ROW_BLOCK, MOVE_SLOT, MOVE_ROWS, MOVE_PIECE, MOVE_TASK_WORDS };

#endif
