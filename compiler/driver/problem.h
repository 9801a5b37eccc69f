/* One random instance of the layer, for `run`: tokens, inputs, routing and weights of every rank in one process. */
#ifndef MOK_DRIVER_PROBLEM_H
#define MOK_DRIVER_PROBLEM_H

#include "../../runtime/base/arena.h"
#include "../../runtime/base/status.h"
#include "../model/model.h"

typedef enum mok_routing_kind {
  MOK_ROUTING_UNIFORM,
  MOK_ROUTING_ZIPF,
  MOK_ROUTING_HOT,
  MOK_ROUTING_DUP,
  MOK_ROUTING_FILE
} mok_routing_kind;

typedef struct mok_routing {
  mok_routing_kind kind;
  double exponent;  /* zipf */
  int64_t expert;   /* hot */
  const char *path; /* file */
  double mask;      /* share of routes replaced by -1 */
} mok_routing;

/* "uniform", "zipf:S", "hot:E", "dup", "file:F"; checked against the model. */
MOK_MUST_USE mok_status mok_routing_parse(const mok_model *model, const char *text, mok_routing *out);

/* "N" for every rank, or "N0,N1,.." with one count for each; within the capacity. */
MOK_MUST_USE mok_status mok_tokens_parse(mok_arena *arena, const mok_model *model, const char *text, int64_t *tokens);

/* --check: "full" (0) or "sample:N" (N): how many tokens of each rank are compared. */
MOK_MUST_USE mok_status mok_sample_parse(const mok_model *model, const char *text, int64_t *sample);

typedef struct mok_rank_problem {
  int64_t tokens; /* of the launch at hand */
  int64_t rows;   /* of the arrays: the most tokens of a launch */
  uint16_t *x;    /* [rows, hidden] bf16 */
  int32_t *ids;   /* [rows, top_k] */
  float *weights; /* [rows, top_k] */
  uint16_t *out;  /* [rows, hidden] bf16; one guard row before and one behind; those past `tokens` are guards too */
} mok_rank_problem;

typedef struct mok_matrix {
  uint16_t *data; /* owned by the problem: mapped, untouched pages cost nothing */
  size_t bytes;
} mok_matrix;

typedef struct mok_problem {
  const mok_model *model;
  uint64_t seed;
  mok_rank_problem *ranks;                                        /* [gpus] */
  int64_t *expert_rows;                                           /* [experts], valid routes of all ranks */
  mok_matrix gate, up, down, shared_gate, shared_up, shared_down; /* of all experts; data NULL where the layer has none */
  mok_matrix rows;                                                /* x, ids, weights and out of every rank */
} mok_problem;

/* Makes the instance: tokens[gpus] tokens of each rank. `beside` bytes are what the run will need beside it and its expected
 * output. Weights of experts without a route are never made. Polls for interruption. A file of routes that does not fit is
 * MOK_ERR_IO; so is an instance larger than this machine's memory, before any of it is filled. */
MOK_MUST_USE mok_status mok_problem_make(mok_arena *arena, const mok_model *model, const int64_t *tokens,
                                         const mok_routing *routing, uint64_t seed, size_t beside, mok_problem *out);
/* The same in two steps: everything but the weights, then those of the experts with used[expert] != 0 and of the shared one. */
MOK_MUST_USE mok_status mok_problem_make_tokens(mok_arena *arena, const mok_model *model, const int64_t *tokens,
                                                const mok_routing *routing, uint64_t seed, mok_problem *out);
MOK_MUST_USE mok_status mok_problem_make_weights(mok_problem *problem, const int64_t *used);
/* What mok_random_normal takes for a weight matrix with so many columns. */
float mok_weight_scale(int64_t fan_in);
void mok_problem_deinit(mok_problem *problem); /* accepts a zeroed one */

/* Fills every rank's out and its guard rows with NaN. */
void mok_problem_poison(mok_problem *problem);

/* Zeroed memory from the system, page-aligned; MOK_ERR_IO says how much was asked for. */
MOK_MUST_USE mok_status mok_matrix_map(size_t bytes, const char *what, mok_matrix *out);
void mok_matrix_unmap(mok_matrix *matrix);

#endif
