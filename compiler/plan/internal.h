/* What the planner's rules share: the load of one rank, a choice, and what a choice costs. */
#ifndef MOK_PLAN_INTERNAL_H
#define MOK_PLAN_INTERNAL_H

#include "plan.h"

enum {
  MOK_WIRE_ELEMENT_BYTES = 2, /* rows travel as bf16 */
  MOK_MAX_STAGES = 8,         /* the search's limit; a fixed `stages` may be larger */
  MOK_SLOT_LIMIT = 4096,      /* bytes of one copy: pieces of this size fill the link with the fewest SMs */
  MOK_MAX_WARP_SLOTS = 4,
  MOK_STAGING_COLUMNS = 128,
  MOK_STAGING_PADDING = 8,     /* columns: rows 16 bytes longer than a power of two begin in different banks */
  MOK_SHARED_ALIGN = 1024,     /* of a 128-byte-swizzled operand */
  MOK_RING_MINIBATCHES = 4,    /* dispatch, both products and combine work on one each */
  MOK_PRODUCT_MINIBATCHES = 3, /* the products alone: one being filled, one that waits its turn, one being read */
};

static inline int64_t mok_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t mok_max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t mok_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static inline int64_t mok_round_up(int64_t a, int64_t b) { return mok_ceil_div(a, b) * b; }
static inline double mok_max_us(double a, double b) { return a > b ? a : b; }

/* What the layer asks of the busiest rank under balanced routing, before anything is chosen. */
typedef struct mok_load {
  int64_t ranks, tokens, top_k, experts, local_experts;
  int64_t hidden, intermediate, shared;  /* columns; shared = width of the shared expert, 0: none */
  int64_t up_columns, shared_up_columns; /* gate and up together */
  int64_t element_bytes;                 /* in the products */
  int64_t row_bytes;                     /* of one row on the wire */
  int64_t rows;                          /* real rows of the rank's experts */
  int64_t remote_rows, local_rows;       /* of them from peers and from this rank */
  int64_t sent_rows;                     /* routes of this rank's tokens to peers */
  int64_t worst_routes;                  /* every route of every rank: what one rank may get */
  int64_t weight_bytes;
  bool gated;
} mok_load;

/* One point of the search. Row counts in row blocks of m. */
typedef struct mok_choice {
  int64_t m, up_n, down_n, k, stages, cluster, threads;
  int64_t comm, own_rows, readiness, dedup;
  int64_t comm_sms, compute_sms;
  int64_t pull_warps, push_warps, slot_bytes, warp_slots;
  int64_t minibatch_blocks, ring_blocks;
} mok_choice;

/* What a tile costs, independent of the SM split and the minibatch. */
typedef struct mok_tile_cost {
  double up_us, down_us, shared_down_us; /* one tile on its SMs */
  int64_t up, down, shared_up;           /* tiles across */
  int64_t blocks, token_blocks;
} mok_tile_cost;

/* Rates of one (placement, warps, SM count), independent of tiles and minibatch. */
typedef struct mok_comm_cost {
  double busy_us;                  /* all rows of a layer, margin included */
  double pull_us_row, push_us_row; /* one row while nothing else moves */
  double wire_us;                  /* floor: bytes of the busier direction at the link's rate */
  double interference_us;          /* what the copies take from the products' SMs */
} mok_comm_cost;

typedef struct mok_cost {
  double up_tile_us, down_tile_us; /* one tile on its SMs */
  double products_us;              /* the compute role, first tile to last */
  double shared_us;                /* part of it that needs no dispatch */
  double comm_us, wire_us, memory_us;
  double launch_us, route_us, first_us, last_us, reduce_us;
  double forward_us, exposed_us;
} mok_cost;

mok_load mok_load_of(const mok_model *model);

/* Rows of one rank's experts, padding to m expected with unsorted real routing. Closed form, no transcendental functions. */
int64_t mok_padded_rows(const mok_load *load, int64_t m);
/* Rows that hold any routing: every route of every rank on this one, each expert's last block all padding but one row. */
/* In steps of `blocks` row blocks. */
int64_t mok_capacity_rows(const mok_load *load, int64_t m, int64_t blocks);
/* Blocks of which each CTA of a cluster has one, where it does not share the rows of a tile. */
static inline int64_t mok_blocks_at_once(const mok_choice *c) { return c->m > 128 ? 1 : c->cluster; }

/* The description's word, or what "auto" stands for: direct where this version builds it. */
int64_t mok_own_rows_of(const mok_model *model);
/* Rows that communication copies: with own_rows = "direct" only those of other ranks. */
static inline int64_t mok_moved_rows(const mok_load *l, const mok_choice *c) {
  return c->own_rows == MOK_OWN_DIRECT ? l->remote_rows : l->rows;
}
/* One rank that reads and writes its rows in place has nobody to move rows for. */
static inline bool mok_moves_rows(const mok_load *l, const mok_choice *c) {
  return l->ranks > 1 || c->own_rows != MOK_OWN_DIRECT;
}

/* Share of the routes to peers that remains with one copy per (token, rank), 1 without. */
double mok_wire_share(const mok_load *load, int64_t dedup);

/* tiles.c */
typedef struct mok_tile_list {
  mok_choice tiles[256]; /* m, n, k, stages, cluster, threads and the communication warps filled in */
  size_t count;
} mok_tile_list;
int64_t mok_tile_columns(int64_t columns, int64_t n); /* tiles across */
int64_t mok_stage_bytes(int64_t m, int64_t n, int64_t k, int64_t cluster, int64_t element_bytes);
int64_t mok_sms_per_tile(int64_t m);
/* Most stages that fit beside staging (and the slots, where they share a CTA with the products); 0: not one. */
int64_t mok_stages_that_fit(const mok_choice *c, const mok_load *load, const mok_gpu *gpu);
/* Tiles worth costing for `comm`, best first, every fixed schedule field respected. m = 0: any m. Empty: nothing fits. */
void mok_tiles_list(const mok_model *model, const mok_load *load, const mok_gpu *gpu, int64_t comm, mok_tile_list *out);
/* Why "auto" does not choose clusters of two; NULL: it may. */
const char *mok_pairs_problem(const mok_model *model, const mok_gpu *gpu);
/* Threads, warps and slots that follow from the tile and the placement. */
void mok_roles_of(mok_choice *c, const mok_load *load, const mok_gpu *gpu);

/* cost.c */
double mok_tile_us(const mok_gpu *gpu, const mok_choice *c, int64_t n, int64_t depth, int64_t element_bytes);
mok_comm_cost mok_comm_cost_of(const mok_load *load, const mok_gpu *gpu, const mok_choice *c);
mok_tile_cost mok_tile_cost_of(const mok_load *load, const mok_gpu *gpu, const mok_choice *c);
mok_cost mok_cost_of(const mok_load *load, const mok_gpu *gpu, const mok_choice *c, const mok_tile_cost *tile,
                     const mok_comm_cost *comm);
double mok_products_floor_us(const mok_load *load, const mok_gpu *gpu);
double mok_memory_floor_us(const mok_load *load, const mok_gpu *gpu);
double mok_backward_us(const mok_model *model, const mok_load *load, const mok_cost *forward);

/* search.c: best choice of a placement with the given dedup. false: no tile fits. */
bool mok_search(const mok_model *model, const mok_load *load, const mok_gpu *gpu, int64_t comm, int64_t dedup, mok_choice *best,
                mok_cost *cost);
/* Best SM split and minibatch for a fixed tile. */
bool mok_search_tile(const mok_model *model, const mok_load *load, const mok_gpu *gpu, const mok_choice *tile, mok_choice *best,
                     mok_cost *cost);

/* schedule.c: fixed fields that no search can meet, each at its place. */
void mok_schedule_check(const mok_model *model, const mok_load *load, const mok_gpu *gpu, mok_diag *diag);

/* layout.c */
mok_layout mok_layout_of(mok_arena *arena, const mok_model *model, const mok_choice *c, int64_t capacity_rows);
int64_t mok_rank_bytes(const mok_model *model, const mok_choice *c, int64_t capacity_rows); /* heap and local of that layout */
int64_t mok_saved_bytes(const mok_model *model, const mok_load *load, int64_t m);

/* Partial waves of a minibatch have tiles of the next one: there is one, and the ring has room for both. */
static inline bool mok_fills_waves(const mok_plan *p) { return mok_plan_runs_ahead(p) && p->padded_rows > p->minibatch_rows; }

/* reason.c: why[] and warnings of a filled plan. */
typedef struct mok_alternatives {
  double forward_us[3];  /* by placement, 0: nothing fits */
  double dedup_us[2];    /* off, on */
  double cluster_us;     /* pairs of CTAs, 0: nothing fits */
  double own_rows_us[2]; /* copy, direct; 0: nothing fits */
  int64_t ring_wanted;   /* minibatches before memory or capacity cut it */
} mok_alternatives;
void mok_reasons(mok_arena *arena, mok_plan *plan, const mok_load *load, const mok_choice *c, const mok_cost *cost,
                 const mok_alternatives *other);
void mok_warnings(mok_arena *arena, mok_plan *plan, const mok_load *load, const mok_cost *cost, const mok_alternatives *other);
/* The only way decimals get into texts: no locale, and halves always away from zero. */
const char *mok_decimal(mok_arena *arena, double value, int digits);
const char *mok_short_text(mok_arena *arena, double value);  /* two decimals below 1, one below 100 */
const char *mok_bytes_text(mok_arena *arena, int64_t bytes); /* "1.25 GB", decimal units, exact below 10 KB */

#endif
