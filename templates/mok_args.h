/* Launch ABI: what the caller hands to a kernel. Compiled by C (runtime, tool), by NVRTC and by the host target's C++ compiler;
 * fixed-width fields only, no padding holes, so that all of them agree. Pointers are device pointers on a GPU. */
#ifndef MOK_ARGS_H
#define MOK_ARGS_H

#define MOK_ARGS_ABI 3
#define MOK_MAX_RANKS 72
#define MOK_MAX_MAPS 16

#ifdef __cplusplus
#define MOK_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define MOK_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* One weight family [experts, rows, columns] bf16, columns contiguous. Strides in elements. */
typedef struct mok_weight {
  const void *base;
  long long expert_stride;
  long long row_stride;
} mok_weight;

/* A tensor map, as the driver encodes it. In device memory it lies at a multiple of 64 bytes. */
typedef struct mok_tensor_map {
  unsigned long long words[16];
} mok_tensor_map;

/* Bits of mok_args.phases: all for a whole step, one after the other for a staged one. */
enum { MOK_PHASE_ROUTE = 1, MOK_PHASE_EXPERTS = 2, MOK_PHASE_REDUCE = 4, MOK_PHASE_ALL = 7 };

/* One rank's arguments. T = tokens of this rank, H, I, k: mok_plan.h. */
typedef struct mok_rank_args {
  mok_tensor_map maps[MOK_MAX_MAPS];              /* MAP_<PRODUCT>_<OPERAND> of mok_layout.h; GPUs only */
  const void *x;                                  /* [T, H] bf16, 16-byte aligned; may be NULL when T = 0 */
  const int *topk_ids;                            /* [T, k]; -1: no route */
  const float *topk_weights;                      /* [T, k] */
  void *out;                                      /* [T, H] bf16 */
  mok_weight gate, up;                            /* [E_local, I, H]; gate unused by an activation without one */
  mok_weight down;                                /* [E_local, H, I] */
  mok_weight shared_gate, shared_up, shared_down; /* one expert of width shared_intermediate */
  void *local;                                    /* local workspace, LAYOUT_LOCAL_BYTES, zeroed once at creation */
  void *heap[MOK_MAX_RANKS]; /* every rank's symmetric heap as mapped here, own one included; zeroed once at creation */
  const int *tokens_dev;     /* if not NULL: the token count, read once per launch; then `tokens` is its bound */
  int tokens;                /* 0 .. PLAN_TOKENS_PER_GPU */
  int rank;
  unsigned char unused[56]; /* so that every rank's maps lie at a multiple of 64 bytes */
} mok_rank_args;
MOK_STATIC_ASSERT(sizeof(mok_rank_args) == 2880, "mok_rank_args has the same layout for every compiler");

typedef struct mok_args {
  const mok_rank_args *ranks; /* the ranks of this launch: one, or all co-located ones */
  int num_ranks_here;
  unsigned phases;
  int comm_ctas, compute_ctas; /* CTAs of one rank, bounded by the plan; the grid is their sum times num_ranks_here */
  unsigned local_limit_ms;     /* a wait inside a rank gives up after this; 0: MOK_LOCAL_LIMIT_MS */
  unsigned peer_limit_ms;      /* a wait for another rank, which may start much later; 0: MOK_PEER_LIMIT_MS */
} mok_args;
#define MOK_LOCAL_LIMIT_MS 10000u
#define MOK_PEER_LIMIT_MS 600000u
MOK_STATIC_ASSERT(sizeof(mok_args) == 32, "mok_args has the same layout for every compiler");

/* Region `control` of the local workspace: u32 words on lines of 128 bytes, one line each. */
enum {
  MOK_LINE_WORDS = 32,
  MOK_LINE_EPOCH = 0,        /* launches finished */
  MOK_LINE_TICKET = 1,       /* CTAs that entered this launch; used of the launch's first rank only */
  MOK_LINE_EXITS = 2,        /* CTAs of this rank that left */
  MOK_LINE_GRID_BARRIER = 3, /* arrivals of this launch; the last CTA to leave clears it */
  MOK_LINE_ABORT = 4,        /* MOK_WAIT_IS_ of the wait that gave up; not 0: every wait gives up, in later launches too */
  MOK_LINE_INPUT_ERROR = 5,  /* words below; kept until the caller clears them */
  MOK_LINE_WAIT_ERROR = 6,   /* words below, of the first wait that expired */
  MOK_CONTROL_LINES = 8
};
/* Words of MOK_LINE_INPUT_ERROR. Such a route counts as -1; with too many tokens the rank computes nothing. */
enum {
  MOK_INPUT_BAD_IDS = 0,    /* ids outside 0..E-1 that are not -1 */
  MOK_INPUT_ROUTE = 1,      /* the first of them: token * k + slot ... */
  MOK_INPUT_ID = 2,         /* ... and its value */
  MOK_INPUT_BAD_TOKENS = 3, /* launches with a token count outside 0..PLAN_TOKENS_PER_GPU */
  MOK_INPUT_TOKENS = 4      /* the first such count */
};
/* Words of a flag line: the epoch, and the MOK_WAIT_IS_ of a rank that will not arrive any more. */
enum { MOK_FLAG_EPOCH = 0, MOK_FLAG_POISON = 1 };
enum { MOK_WAIT_IS_COUNTER = 1, MOK_WAIT_IS_GRID_BARRIER = 2, MOK_WAIT_IS_RANK_BARRIER = 3, MOK_WAIT_IS_POISONED = 4 };
/* Words of MOK_LINE_WAIT_ERROR. Text: mok_fault.h. */
enum {
  MOK_WAIT_KIND = 0, /* MOK_WAIT_IS_, 0: none */
  MOK_WAIT_RANK = 1,
  MOK_WAIT_ROLE = 2,
  MOK_WAIT_INSTANCE = 3, /* worker instance in its CTA */
  MOK_WAIT_CTA = 4,
  MOK_WAIT_COUNTER = 5, /* COUNTER_<NAME>, or the barrier's number */
  MOK_WAIT_INDEX = 6,   /* index into the counter, or the peer */
  MOK_WAIT_EXPECTED = 7,
  MOK_WAIT_SEEN = 8, /* of MOK_WAIT_IS_POISONED: the peer's reason */
  MOK_WAIT_WARP = 9, /* first warp of the worker instance */
  MOK_WAIT_LINE = 10 /* of kernel.cu, where worker, task and wait stand; 0: a barrier */
};

#endif
