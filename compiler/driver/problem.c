#include "problem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "../../tests/reference/random.h"
#include "parallel.h"
#include "routing.h"

mok_status mok_matrix_map(size_t bytes, const char *what, mok_matrix *out) {
  *out = (mok_matrix){NULL, bytes};
  if (bytes == 0) return MOK_OK;
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return MOK_ERROR(MOK_ERR_IO, "no memory for %s: %zu bytes: %s", what, bytes, strerror(errno));
  out->data = data;
  return MOK_OK;
}

void mok_matrix_unmap(mok_matrix *matrix) {
  if (matrix->data) munmap(matrix->data, matrix->bytes);
  *matrix = (mok_matrix){NULL, 0};
}

/* `count` normal numbers of a stream, from element `first` on. */
static void fill(uint16_t *out, uint64_t key, uint64_t first, size_t count, float scale) {
  for (size_t i = 0; i < count; ++i) out[i] = mok_random_bf16(mok_random_normal(mok_random_bits(key, first + i), scale));
}

/* Experts [experts, rows, columns] of one family, those with routes only; fan-in = columns. */
typedef struct family {
  mok_matrix *matrix;
  uint64_t key;
  float scale;
  size_t rows, columns;
  const int64_t *expert_rows; /* NULL: all */
} family;

static void fill_expert(void *user, int64_t e) {
  const family *f = user;
  if (f->expert_rows && f->expert_rows[e] == 0) return;
  const size_t size = f->rows * f->columns, first = (size_t)e * size;
  fill(f->matrix->data + first, f->key, first, size, f->scale);
}

static mok_status fill_family(const mok_problem *problem, mok_matrix *matrix, int stream, int64_t experts, int64_t rows,
                              int64_t columns, const int64_t *expert_rows, const char *what) {
  MOK_TRY(mok_matrix_map((size_t)experts * (size_t)rows * (size_t)columns * sizeof(uint16_t), what, matrix));
  family f = {.matrix = matrix,
              .key = mok_random_key(problem->seed, (uint64_t)stream),
              .scale = mok_weight_scale(columns),
              .rows = (size_t)rows,
              .columns = (size_t)columns,
              .expert_rows = expert_rows};
  return mok_parallel(experts, fill_expert, &f);
}

float mok_weight_scale(int64_t fan_in) {
  return mok_random_scale(1 / sqrt((double)fan_in));
} /* sqrt is correctly rounded everywhere */

mok_status mok_problem_make_weights(mok_problem *problem, const int64_t *used) {
  const mok_model *m = problem->model;
  const int64_t E = m->experts, H = m->hidden, I = m->intermediate, S = m->shared_intermediate;
  if (mok_is_gated(m)) {
    MOK_TRY(fill_family(problem, &problem->gate, MOK_STREAM_GATE, E, I, H, used, "the gate weights"));
    if (S > 0) MOK_TRY(fill_family(problem, &problem->shared_gate, MOK_STREAM_SHARED_GATE, 1, S, H, NULL, "shared gate weights"));
  }
  MOK_TRY(fill_family(problem, &problem->up, MOK_STREAM_UP, E, I, H, used, "the up weights"));
  MOK_TRY(fill_family(problem, &problem->down, MOK_STREAM_DOWN, E, H, I, used, "the down weights"));
  if (S > 0) {
    MOK_TRY(fill_family(problem, &problem->shared_up, MOK_STREAM_SHARED_UP, 1, S, H, NULL, "shared up weights"));
    MOK_TRY(fill_family(problem, &problem->shared_down, MOK_STREAM_SHARED_DOWN, 1, H, S, NULL, "shared down weights"));
  }
  return MOK_OK;
}

/* Refuses what would drive the machine into its swap: the pages that will be touched, against physical memory. `used`: experts
 * whose weights will be made, 0 if that is not known yet. */
static mok_status check_memory(const mok_model *m, size_t rows, size_t beside, int64_t used) {
  const double matrices = (double)(mok_up_columns(m) + m->intermediate) * (double)m->hidden * (double)sizeof(uint16_t);
  const double shared = m->intermediate > 0 ? matrices * (double)m->shared_intermediate / (double)m->intermediate : 0;
  const double weights = used > 0 ? matrices * (double)used + shared : 0;
  const double others = (double)beside + 2.0 * (double)rows; /* expected output, and output kept to compare launches: at most */
  const double need = weights + (double)rows + others;
  const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (need <= 0.9 * have) return MOK_OK;
  char of_weights[96] = "";
  if (used > 0)
    snprintf(of_weights, sizeof of_weights, "%.1f for the weights of %lld experts with routes, ", weights / 1e9, (long long)used);
  return MOK_ERROR(
      MOK_ERR_IO,
      "this run needs %.1f GB of memory and the machine has %.1f: %.1f for the tokens, %s%.1f for heaps, workspaces, "
      "CTAs and the reference; try fewer --tokens, -D workload.tokens_per_gpu=N, -D model.experts=N or "
      "-D topology.gpu=host",
      need / 1e9, have / 1e9, (double)rows / 1e9, of_weights, others / 1e9);
}

static size_t rounded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* Memory and routes of every rank; x is not yet made. */
static mok_status make_routes(mok_arena *arena, const mok_model *model, const int64_t *tokens, const mok_routing *routing,
                              uint64_t seed, size_t beside, mok_problem *out) {
  memset(out, 0, sizeof *out);
  out->model = model;
  out->seed = seed;
  out->ranks = MOK_NEW_ARRAY(arena, (size_t)model->gpus, mok_rank_problem);
  out->expert_rows = MOK_NEW_ARRAY(arena, (size_t)model->experts, int64_t);
  const size_t row = (size_t)model->hidden * sizeof(uint16_t), k = (size_t)model->top_k;

  size_t total = 0;
  for (int64_t r = 0; r < model->gpus; ++r) {
    const size_t T = (size_t)tokens[r];
    total += rounded(T * row) + rounded((T + 2) * row) + rounded(T * k * sizeof(int32_t)) + rounded(T * k * sizeof(float));
  }
  MOK_TRY(check_memory(model, total, beside, 0)); /* which experts have routes is not known before there are routes */
  MOK_TRY(mok_matrix_map(total, "the tokens", &out->rows));
  char *at = (char *)out->rows.data;
  for (int64_t r = 0; r < model->gpus; ++r) {
    mok_rank_problem *rank = &out->ranks[r];
    const size_t T = (size_t)tokens[r];
    rank->tokens = rank->rows = tokens[r];
    rank->x = (uint16_t *)at;
    at += rounded(T * row);
    rank->out = (uint16_t *)(at + row);
    at += rounded((T + 2) * row);
    rank->ids = (int32_t *)at;
    at += rounded(T * k * sizeof(int32_t));
    rank->weights = (float *)at;
    at += rounded(T * k * sizeof(float));
  }
  return mok_routing_fill(arena, out, routing);
}

enum { PIECE_ROWS = 256 }; /* rows of x between two polls for interruption */

typedef struct x_pieces {
  const mok_problem *problem;
  int64_t per_rank;
} x_pieces;

static void fill_x_piece(void *user, int64_t i) {
  const x_pieces *pieces = user;
  const mok_problem *problem = pieces->problem;
  const int64_t r = i / pieces->per_rank, first = i % pieces->per_rank * PIECE_ROWS, hidden = problem->model->hidden;
  const int64_t left = problem->ranks[r].tokens - first, rows = left < PIECE_ROWS ? left : PIECE_ROWS;
  if (rows <= 0) return;
  const uint64_t key = mok_random_key(problem->seed, (uint64_t)(MOK_STREAM_X + MOK_STREAMS_PER_RANK * r));
  const size_t at = (size_t)(first * hidden);
  fill(problem->ranks[r].x + at, key, at, (size_t)(rows * hidden), mok_random_scale(1));
}

static mok_status fill_x(const mok_problem *problem) {
  int64_t most = 0;
  for (int64_t r = 0; r < problem->model->gpus; ++r)
    if (problem->ranks[r].tokens > most) most = problem->ranks[r].tokens;
  x_pieces pieces = {problem, (most + PIECE_ROWS - 1) / PIECE_ROWS};
  return mok_parallel(problem->model->gpus * pieces.per_rank, fill_x_piece, &pieces);
}

mok_status mok_problem_make_tokens(mok_arena *arena, const mok_model *model, const int64_t *tokens, const mok_routing *routing,
                                   uint64_t seed, mok_problem *out) {
  MOK_TRY(make_routes(arena, model, tokens, routing, seed, 0, out));
  return fill_x(out);
}

mok_status mok_problem_make(mok_arena *arena, const mok_model *model, const int64_t *tokens, const mok_routing *routing,
                            uint64_t seed, size_t beside, mok_problem *out) {
  MOK_TRY(make_routes(arena, model, tokens, routing, seed, beside, out));
  int64_t used = 0;
  for (int64_t e = 0; e < model->experts; ++e) used += out->expert_rows[e] > 0;
  MOK_TRY(check_memory(model, out->rows.bytes, beside, used));
  MOK_TRY(fill_x(out));
  return mok_problem_make_weights(out, out->expert_rows);
}

void mok_problem_deinit(mok_problem *problem) {
  mok_matrix *const all[] = {&problem->gate,      &problem->up,          &problem->down, &problem->shared_gate,
                             &problem->shared_up, &problem->shared_down, &problem->rows};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) mok_matrix_unmap(all[i]);
}

void mok_problem_poison(mok_problem *problem) {
  const int64_t H = problem->model->hidden;
  for (int64_t r = 0; r < problem->model->gpus; ++r) {
    const mok_rank_problem *rank = &problem->ranks[r];
    memset(rank->out - H, 0xff, (size_t)((rank->rows + 2) * H) * sizeof(uint16_t)); /* 0xffff is a bf16 NaN */
  }
}
