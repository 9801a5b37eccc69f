/* A kernel of the module as plain C: what emit prints, check proves and simulate runs.
 *
 * mok_ir_kernel_view reads everything at once, checks that all references resolve, and copies names into the arena; the tree
 * stays valid when the module changes or dies (only the `op` members then dangle). It works from assign-roles on; members that a
 * later pass fills in are NULL, 0 or empty before it:
 *   tile            extents, tile sizes, task spaces, order
 *   allocate-rings  spaces, offsets, slots
 *   insert-sync     counters, waits, signals
 *   lower-to-cuda   every member whose comment shows CUDA text
 */
#ifndef MOK_IR_QUERY_H
#define MOK_IR_QUERY_H

#include "ir.h"

/* A named extent made by `tile`: an enumerator of kernel.cu. */
typedef struct mok_ir_extent {
  const char *name;     /* "up_columns" */
  int64_t value;        /* 16 */
  const char *origin;   /* "ceil(intermediate / 128)", names of the description or plan; for the comment */
  const char *constant; /* CUDA: "UP_COLUMNS" */
} mok_ir_extent;

/* A count that is a number, a plan field or an extent. */
typedef struct mok_ir_count {
  const char *symbol; /* "pull_warps", "mma_instances", "warps" (= threads / 32); NULL: only a number */
  int64_t value;      /* always filled in */
  const char *text;   /* CUDA: "PLAN_PULL_WARPS", "MMA_INSTANCES", "1" */
} mok_ir_count;

/* Something the caller passes: a member of mok_rank_args. In the module @args.NAME. */
typedef struct mok_ir_argument {
  const char *name; /* "x", "topk_ids", "gate", "shared_down", "out" */
  const char *type; /* "tensor<?x7168xbf16>" */
} mok_ir_argument;

typedef struct mok_ir_region {
  const char *name;  /* as in mok_layout: "ring_x" */
  const char *type;  /* "memref<?x7168xbf16>" */
  const char *space; /* "heap", "local", "shared"; NULL before allocate-rings */
  int64_t offset, bytes;
  bool ring; /* rows are held at row_block % ring_slots */
} mok_ir_region;

/* A place that an op reads or writes. */
typedef struct mok_ir_place {
  const char *name;                /* "ring_x", or "x" for an argument */
  const mok_ir_region *region;     /* NULL: an argument */
  const mok_ir_argument *argument; /* NULL: a region */
} mok_ir_place;

typedef enum mok_ir_base { MOK_IR_ROW_BLOCK, MOK_IR_TOKEN_BLOCK } mok_ir_base;
typedef enum mok_ir_edge {
  MOK_IR_BULK_TO_BULK,
  MOK_IR_GENERIC_TO_BULK,
  MOK_IR_BULK_TO_GENERIC,
  MOK_IR_GENERIC_TO_GENERIC,
  MOK_IR_READ_TO_WRITE,
  MOK_IR_NUM_EDGES
} mok_ir_edge;

/* A product of extents: up_columns * mma_instances. */
typedef struct mok_ir_factors {
  const mok_ir_extent *const *factor;
  size_t count;
  int64_t value; /* the product */
} mok_ir_factors;

typedef struct mok_ir_counter {
  const char *name;            /* "h_ready" */
  mok_ir_base per;             /* one word for each of these */
  int64_t word, words;         /* first word in a counter set, number of words */
  mok_ir_factors target;       /* signals of one word when its producers are done */
  const char *constant;        /* CUDA: "COUNTER_H_READY" */
  const char *target_constant; /* CUDA: "H_READY_TARGET" */
} mok_ir_counter;

typedef struct mok_ir_product {
  const char *name; /* "up", "down", "shared_up", "shared_down" */
  const char *tile; /* prefix of the plan's tile fields: "gate_up" or "down" */
  int64_t m, n, k, stages;
  mok_ir_place a;                   /* rows x k_extent; of a gathered product what its rows are picked from */
  mok_ir_argument const *const *b;  /* weights: gate and up, or one */
  size_t b_count;                   /* 2: gated, n is gate and up together */
  mok_ir_place out;                 /* rows x columns; name NULL: each row is stored where it came from (store_pushed) */
  const char *k_extent;             /* description field: "hidden", "intermediate", "shared_intermediate" */
  const char *columns;              /* same, of out */
  mok_ir_base rows;                 /* token_block for the shared expert */
  const mok_activation *activation; /* NULL: none */
  bool has_clamp;
  double clamp;
  const char *structure; /* CUDA: "product_up" */
  mok_loc loc;
} mok_ir_product;

/* One point of the protocol: which word of a counter. lag NULL: base; else base - lag ("row_block - ring_slots"). */
typedef struct mok_ir_index {
  mok_ir_base base;
  const char *lag;       /* plan field "ring_slots" */
  const char *base_text; /* CUDA: "t.row_block" */
  const char *lag_text;  /* CUDA: "PLAN_RING_SLOTS" */
} mok_ir_index;

typedef enum mok_ir_op_kind {
  MOK_IR_WAIT,
  MOK_IR_SIGNAL,
  MOK_IR_SORT_ROUTES,
  MOK_IR_PUBLISH_TOKENS,
  MOK_IR_PLACE_EXPERTS,
  MOK_IR_PLACE_ROWS,
  MOK_IR_PULL,
  MOK_IR_PUSH,
  MOK_IR_LOAD,
  MOK_IR_LOAD_GATHERED,
  MOK_IR_MMA,
  MOK_IR_STORE,
  MOK_IR_STORE_PUSHED,
  MOK_IR_STORE_SPLIT,
  MOK_IR_REDUCE,
  MOK_IR_NUM_OP_KINDS
} mok_ir_op_kind;

/* How an op kind touches memory. */
typedef enum mok_proxy { MOK_PROXY_NONE, MOK_PROXY_GENERIC, MOK_PROXY_BULK } mok_proxy;
typedef struct mok_op_facts {
  const char *name; /* "pull": the op is mok.pull */
  mok_proxy reads, writes;
  bool reads_peers, writes_peers; /* of its heap regions, other ranks' copies too */
  bool writes_routes;             /* of its heap regions, the slots of its rows' routes: a slot has one row, so one writer */
  const char *call;               /* primitive, "mok_pull_rows"; NULL: printed by other rules */
} mok_op_facts;
extern const mok_op_facts mok_op_table[MOK_IR_NUM_OP_KINDS];

/* One step of a task's body, in order. */
typedef struct mok_ir_op {
  mok_ir_op_kind kind;
  /* wait, signal */
  const mok_ir_counter *counter;
  mok_ir_index index;
  mok_ir_edge edge;
  const char *edge_text;   /* CUDA: "MOK_EDGE_BULK_TO_BULK" */
  mok_ir_factors target;   /* wait */
  const char *target_text; /* CUDA: "H_READY_TARGET", or its factors when it is not the counter's target */
  bool lap;                /* wait: skip while row_block < lag, the first lap */
  const char *why;         /* wait: "ring_x slot: every up tile of the lap before has read it" */
  /* load, load_gathered, mma, store, store_pushed, store_split */
  const mok_ir_product *product;
  /* the places this op touches; a load reads its product's a, a store writes its out, first of all */
  const mok_ir_place *reads, *writes;
  size_t read_count, write_count;
  const char *call; /* CUDA: "mok_pull_rows", "mok_store_activated" */
  mok_loc loc;
  const void *op; /* MlirOperation.ptr, for passes */
} mok_ir_op;

typedef enum mok_ir_space {
  MOK_IR_ONCE,               /* one call by the whole worker; the primitive shares the work out itself */
  MOK_IR_ROW_BLOCK_COLUMN,   /* row_blocks x extent */
  MOK_IR_ROW_BLOCK_PIECE,    /* row_blocks x extent */
  MOK_IR_TOKEN_BLOCK_COLUMN, /* token_blocks x extent */
  MOK_IR_TOKEN               /* tokens */
} mok_ir_space;

typedef struct mok_ir_task {
  const char *name; /* "up"; the same task may have a share in several workers */
  mok_ir_space space;
  bool blocks_inner; /* the row or token block varies fastest: index = second * blocks + block; else block * extent + second */
  const mok_ir_extent *extent; /* of column or piece; NULL for once and token */
  bool per_minibatch;          /* its turn comes once per minibatch */
  bool ahead;                  /* in round r for minibatch r; the phase's others for r - 1, if some run ahead */
  int order;                   /* position in the phase's order, once before per_minibatch; -1 when the phase has none */
  const mok_ir_op *ops;
  size_t op_count;
  const char *enumerator; /* CUDA: "TASK_UP" */
  mok_loc loc;
  const void *op;
} mok_ir_task;

typedef struct mok_ir_worker {
  const char *name; /* "load" */
  mok_ir_count first_warp, warps, instances;
  bool shares_cta; /* true: all instances of a CTA work on each task together (mok_cta_first); false: each takes its own
                      (mok_first) */
  const mok_ir_task *tasks;
  size_t task_count;
  const char *function; /* CUDA: "compute_load" */
  mok_loc loc;
  const void *op;
} mok_ir_worker;

typedef struct mok_ir_role {
  const char *name; /* "comm" */
  const char *ctas; /* plan field: "grid" (all CTAs), "sms_comm", "sms_compute" */
  int64_t cluster;  /* CTAs that take a tile index together, for neighbouring blocks; 1: each its own */
  const mok_ir_worker *workers;
  size_t worker_count;
  const char *enumerator; /* CUDA: "ROLE_COMM"; NULL for a role of all CTAs */
  const char *argument;   /* CUDA: "comm_ctas", member of mok_args; NULL for a role of all CTAs */
  mok_loc loc;
} mok_ir_role;

typedef struct mok_ir_barrier {
  bool rank;            /* rank barrier; else grid barrier */
  const char *name;     /* "routed"; NULL for a grid barrier */
  const char *constant; /* CUDA: "BARRIER_ROUTED"; NULL for a grid barrier */
} mok_ir_barrier;

/* Roles between two barriers run at once. */
typedef struct mok_ir_item {
  const mok_ir_role *role;       /* NULL: a barrier */
  const mok_ir_barrier *barrier; /* NULL: a role */
} mok_ir_item;

typedef struct mok_ir_phase {
  const char *name; /* "experts" */
  const mok_ir_item *items;
  size_t item_count;
  const char *const *once; /* task names, in the global order of a rank's tasks */
  size_t once_count;
  const char *const *per_minibatch; /* then these for each minibatch */
  size_t per_minibatch_count;
  size_t ahead_count;   /* the first ones of per_minibatch run a minibatch ahead of the others */
  const char *constant; /* CUDA: "MOK_PHASE_EXPERTS" */
  mok_loc loc;
} mok_ir_phase;

typedef struct mok_kernel_view {
  const char *name; /* "forward" */
  const mok_ir_argument *arguments;
  size_t argument_count;
  const mok_ir_region *regions;
  size_t region_count;
  const mok_ir_extent *extents;
  size_t extent_count;
  const mok_ir_counter *counters;
  size_t counter_count;
  const mok_ir_product *products;
  size_t product_count;
  const mok_ir_phase *phases;
  size_t phase_count;
  const char *function; /* CUDA: "mok_forward" */
  mok_loc loc;
  const void *op;
} mok_kernel_view;

/* The module's kernel `name` (NULL: its only one). MOK_ERR_CODEGEN when the module has none or is still at layer altitude. */
MOK_MUST_USE mok_status mok_ir_kernel_view(mok_arena *arena, const mok_module *module, const char *name,
                                           const mok_kernel_view **out);

const char *mok_ir_edge_name(mok_ir_edge edge);  /* "bulk_to_bulk" */
const char *mok_ir_base_name(mok_ir_base base);  /* "row_block" */
const char *mok_ir_op_name(mok_ir_op_kind kind); /* "wait" */
/* Hands all stages of a tile to the multiplying worker. */
static inline bool mok_ir_loads(mok_ir_op_kind kind) { return kind == MOK_IR_LOAD || kind == MOK_IR_LOAD_GATHERED; }
/* Takes the accumulator of a tile away. */
static inline bool mok_ir_stores(mok_ir_op_kind kind) {
  return kind == MOK_IR_STORE || kind == MOK_IR_STORE_PUSHED || kind == MOK_IR_STORE_SPLIT;
}

#endif
