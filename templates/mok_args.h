/* Launch ABI: what the caller hands to a kernel. Compiled by C (runtime, tool), by NVRTC and by the host target's C++ compiler;
 * fixed-width fields only, no padding holes, so that all of them agree. Pointers are device pointers on a GPU. */
#ifndef MOK_ARGS_H
#define MOK_ARGS_H

#define MOK_ARGS_ABI 1
#define MOK_MAX_RANKS 72

/* One weight family [experts, rows, columns] bf16, columns contiguous. Strides in elements. */
typedef struct mok_weight {
  const void *base;
  long long expert_stride;
  long long row_stride;
} mok_weight;

/* Bits of mok_args.phases: all for a whole step, one after the other for a staged one. */
enum { MOK_PHASE_ROUTE = 1, MOK_PHASE_EXPERTS = 2, MOK_PHASE_REDUCE = 4, MOK_PHASE_ALL = 7 };

/* One rank's arguments. T = tokens of this rank, H, I, k: mok_plan.h. */
typedef struct mok_rank_args {
  const void *x;                /* [T, H] bf16, 16-byte aligned; may be NULL when T = 0 */
  const int *topk_ids;          /* [T, k]; -1: no route */
  const float *topk_weights;    /* [T, k] */
  void *out;                    /* [T, H] bf16 */
  mok_weight gate, up;          /* [E_local, I, H]; gate unused by an activation without one */
  mok_weight down;              /* [E_local, H, I] */
  mok_weight shared_gate, shared_up, shared_down; /* one expert of width shared_intermediate */
  void *local;                  /* local workspace, LAYOUT_LOCAL_BYTES, zeroed once at creation */
  void *heap[MOK_MAX_RANKS];    /* every rank's symmetric heap as mapped here, own one included */
  const int *tokens_dev;        /* if not NULL: the token count, read once per launch; then `tokens` is its bound */
  int tokens;                   /* 0 .. PLAN_TOKENS_PER_GPU */
  int rank;
} mok_rank_args;

typedef struct mok_args {
  const mok_rank_args *ranks;   /* the ranks of this launch: one, or all co-located ones */
  int num_ranks_here;
  unsigned phases;
  int comm_ctas, compute_ctas;  /* CTAs of one rank, bounded by the plan */
} mok_args;

#endif
