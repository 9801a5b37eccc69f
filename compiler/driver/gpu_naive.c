/* The layer by the kernels of tests/gpu/naive.cu, on the first device, expert by expert. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../tests/reference/random.h"
#include "gpu_run.h"

enum { PIECE_ROWS = 8192, TILE = 64, ELEMENT_BLOCKS = 2048 };

/* Memory of the first device. Tokens and routes are numbered over all ranks. */
typedef struct naive {
  mok_gpu_run *run;
  const mok_kernel *kernel;
  mok_gpu_block *blocks;
  int64_t tokens;                          /* of all ranks */
  mok_cu_pointer x, ids, weights, y, out;  /* y: [routes, H] */
  mok_cu_pointer shared_y;                 /* [tokens, H], 0: none */
  mok_cu_pointer gate, up, down;           /* one expert's weights */
  mok_cu_pointer list;                     /* [PIECE_ROWS] routes */
  mok_cu_pointer gate_sum, up_sum, sum, h; /* of PIECE_ROWS rows */
} naive;

static mok_status alloc(naive *n, int64_t count, size_t each, const char *what, mok_cu_pointer *out) {
  return mok_gpu_alloc(n->run->session, n->kernel, &n->blocks, (size_t)count * each, what, out);
}

static mok_status make_memory(naive *n) {
  const mok_model *m = n->run->model;
  const int64_t H = m->hidden, S = m->shared_intermediate;
  const int64_t I = m->intermediate > S ? m->intermediate : S; /* of the wider expert */
  for (int64_t r = 0; r < m->gpus; ++r) n->tokens += n->run->problem->ranks[r].tokens;
  MOK_TRY(alloc(n, n->tokens * H, 2, "the check's tokens", &n->x));
  MOK_TRY(alloc(n, n->tokens * m->top_k, 4, "the check's ids", &n->ids));
  MOK_TRY(alloc(n, n->tokens * m->top_k, 4, "the check's weights of routes", &n->weights));
  MOK_TRY(alloc(n, n->tokens * m->top_k * H, 2, "the check's expert outputs", &n->y));
  MOK_TRY(alloc(n, n->tokens * H, 2, "the check's output", &n->out));
  if (S > 0) MOK_TRY(alloc(n, n->tokens * H, 2, "the check's shared output", &n->shared_y));
  MOK_TRY(alloc(n, I * H, 2, "the check's gate weights", &n->gate));
  MOK_TRY(alloc(n, I * H, 2, "the check's up weights", &n->up));
  MOK_TRY(alloc(n, I * H, 2, "the check's down weights", &n->down));
  MOK_TRY(alloc(n, PIECE_ROWS, 4, "the check's routes", &n->list));
  MOK_TRY(alloc(n, PIECE_ROWS * I, 4, "the check's sums", &n->gate_sum));
  MOK_TRY(alloc(n, PIECE_ROWS * I, 4, "the check's sums", &n->up_sum));
  MOK_TRY(alloc(n, PIECE_ROWS * H, 4, "the check's sums", &n->sum));
  return alloc(n, PIECE_ROWS * I, 2, "the check's activations", &n->h);
}

static mok_status upload(naive *n) {
  const mok_cuda *cuda = &n->kernel->cuda;
  const mok_model *m = n->run->model;
  const size_t row = (size_t)m->hidden * 2, routes = (size_t)m->top_k * 4;
  mok_cu_stream stream = n->run->streams[0];
  size_t first = 0;
  for (int64_t r = 0; r < m->gpus; ++r) {
    const mok_rank_problem *rank = &n->run->problem->ranks[r];
    const size_t T = (size_t)rank->tokens;
    if (T == 0) continue;
    MOK_CU_TRY(cuda, cuMemcpyHtoDAsync(n->x + first * row, rank->x, T * row, stream));
    MOK_CU_TRY(cuda, cuMemcpyHtoDAsync(n->ids + first * routes, rank->ids, T * routes, stream));
    MOK_CU_TRY(cuda, cuMemcpyHtoDAsync(n->weights + first * routes, rank->weights, T * routes, stream));
    first += T;
  }
  return MOK_OK;
}

/* c[rows, columns] = a b^T; list 0: rows of a in order. */
static mok_status product(naive *n, mok_cu_pointer c, mok_cu_pointer a, mok_cu_pointer list, int divisor, mok_cu_pointer b,
                          int rows, int columns, int depth) {
  void *parameters[] = {&c, &a, &list, &divisor, &b, &rows, &columns, &depth};
  return mok_gpu_start(n->run, 0, "naive_product", (unsigned)(columns + TILE - 1) / TILE, (unsigned)(rows + TILE - 1) / TILE,
                       parameters);
}

/* One expert of width I on `rows` rows of x, list[i] / divisor of them; list 0: from row `first` on. y goes to to[list[i]], or
 * on. */
static mok_status expert_rows(naive *n, mok_cu_pointer x, mok_cu_pointer list, int divisor, mok_cu_pointer to, int rows,
                              int64_t width) {
  const mok_model *m = n->run->model;
  int H = (int)m->hidden, I = (int)width, activation = (int)mok_expected_activation(m);
  mok_cu_pointer gate = mok_is_gated(m) ? n->gate_sum : 0;
  float limit = m->clamp.present ? (float)m->clamp.value : INFINITY;
  uint64_t count = (uint64_t)rows * (uint64_t)I;
  if (gate) MOK_TRY(product(n, gate, x, list, divisor, n->gate, rows, I, H));
  MOK_TRY(product(n, n->up_sum, x, list, divisor, n->up, rows, I, H));
  void *activate[] = {&n->h, &gate, &n->up_sum, &count, &activation, &limit};
  MOK_TRY(mok_gpu_start(n->run, 0, "naive_activate", ELEMENT_BLOCKS, 1, activate));
  MOK_TRY(product(n, n->sum, n->h, 0, 1, n->down, rows, H, I));
  void *scatter[] = {&to, &n->sum, &list, &rows, &H};
  return mok_gpu_start(n->run, 0, "naive_scatter", ELEMENT_BLOCKS, 1, scatter);
}

static mok_status make_weights(naive *n, const int streams[3], int64_t expert, int64_t width) {
  const mok_model *m = n->run->model;
  const uint64_t count = (uint64_t)width * (uint64_t)m->hidden, first = (uint64_t)expert * count, seed = n->run->problem->seed;
  if (mok_is_gated(m))
    MOK_TRY(
        mok_gpu_fill(n->run, 0, n->gate, mok_random_key(seed, (uint64_t)streams[0]), first, count, mok_weight_scale(m->hidden)));
  MOK_TRY(mok_gpu_fill(n->run, 0, n->up, mok_random_key(seed, (uint64_t)streams[1]), first, count, mok_weight_scale(m->hidden)));
  return mok_gpu_fill(n->run, 0, n->down, mok_random_key(seed, (uint64_t)streams[2]), first, count, mok_weight_scale(width));
}

static mok_status wait_for_device(const naive *n) {
  MOK_CU_TRY(&n->kernel->cuda, cuStreamSynchronize(n->run->streams[0]));
  return mok_interrupt_check();
}

static mok_status routed_experts(naive *n) {
  static const int streams[] = {MOK_STREAM_GATE, MOK_STREAM_UP, MOK_STREAM_DOWN};
  const mok_model *m = n->run->model;
  int *list = MOK_NEW_ARRAY(n->run->session->arena, PIECE_ROWS, int);
  for (int64_t e = 0; e < m->experts; ++e) {
    if (n->run->problem->expert_rows[e] == 0) continue;
    MOK_TRY(make_weights(n, streams, e, m->intermediate));
    int rows = 0;
    int64_t first = 0; /* token of the rank */
    for (int64_t r = 0; r < m->gpus; ++r) {
      const mok_rank_problem *rank = &n->run->problem->ranks[r];
      const int64_t routes = rank->tokens * m->top_k;
      for (int64_t i = 0; i <= routes; ++i) {
        const bool last = i == routes && r == m->gpus - 1;
        if (i < routes && rank->ids[i] == e) list[rows++] = (int)(first * m->top_k + i);
        if (rows < PIECE_ROWS && !(last && rows > 0)) continue;
        MOK_CU_TRY(&n->kernel->cuda, cuMemcpyHtoDAsync(n->list, list, (size_t)rows * sizeof list[0], n->run->streams[0]));
        MOK_TRY(expert_rows(n, n->x, n->list, (int)m->top_k, n->y, rows, m->intermediate));
        MOK_TRY(wait_for_device(n)); /* list and sums are used again */
        rows = 0;
      }
      first += rank->tokens;
    }
  }
  return MOK_OK;
}

static mok_status shared_expert(naive *n) {
  static const int streams[] = {MOK_STREAM_SHARED_GATE, MOK_STREAM_SHARED_UP, MOK_STREAM_SHARED_DOWN};
  const mok_model *m = n->run->model;
  const size_t row = (size_t)m->hidden * 2;
  if (m->shared_intermediate == 0) return MOK_OK;
  MOK_TRY(make_weights(n, streams, 0, m->shared_intermediate));
  for (int64_t first = 0; first < n->tokens; first += PIECE_ROWS) {
    const int rows = (int)(n->tokens - first < PIECE_ROWS ? n->tokens - first : PIECE_ROWS);
    MOK_TRY(expert_rows(n, n->x + (size_t)first * row, 0, 1, n->shared_y + (size_t)first * row, rows, m->shared_intermediate));
  }
  return wait_for_device(n);
}

static mok_status combine(naive *n) {
  const mok_model *m = n->run->model;
  int experts = (int)m->experts, top_k = (int)m->top_k, H = (int)m->hidden;
  uint64_t count = (uint64_t)n->tokens * (uint64_t)H;
  if (count == 0) return MOK_OK;
  void *parameters[] = {&n->out, &n->y, &n->shared_y, &n->ids, &n->weights, &experts, &top_k, &H, &count};
  MOK_TRY(mok_gpu_start(n->run, 0, "naive_combine", ELEMENT_BLOCKS, 1, parameters));
  return wait_for_device(n);
}

static mok_status download(naive *n, mok_expected *out) {
  mok_arena *arena = n->run->session->arena;
  const mok_model *m = n->run->model;
  const size_t H = (size_t)m->hidden;
  size_t first = 0;
  out->rows = MOK_NEW_ARRAY(arena, (size_t)m->gpus, float *);
  out->checked = MOK_NEW_ARRAY(arena, (size_t)m->gpus, bool *);
  for (int64_t r = 0; r < m->gpus; ++r) {
    const size_t T = (size_t)n->run->problem->ranks[r].tokens;
    uint16_t *bits = MOK_NEW_ARRAY(arena, T * H, uint16_t);
    out->rows[r] = MOK_NEW_ARRAY(arena, T * H, float);
    out->checked[r] = MOK_NEW_ARRAY(arena, T, bool);
    memset(out->checked[r], true, T);
    if (T > 0) MOK_CU_TRY(&n->kernel->cuda, cuMemcpyDtoH(bits, n->out + first * H * 2, T * H * 2));
    for (size_t i = 0; i < T * H; ++i) {
      const uint32_t word = (uint32_t)bits[i] << 16;
      memcpy(&out->rows[r][i], &word, sizeof word);
    }
    first += T;
  }
  return MOK_OK;
}

static mok_status compute(naive *n, mok_expected *out) {
  MOK_TRY(make_memory(n));
  MOK_TRY(upload(n));
  MOK_TRY(routed_experts(n));
  MOK_TRY(shared_expert(n));
  MOK_TRY(combine(n));
  return download(n, out);
}

mok_status mok_gpu_run_naive(mok_gpu_run *run, mok_expected *out) {
  naive n = {.run = run, .kernel = run->kernels[0]};
  MOK_TRY(mok_kernel_enter(n.kernel));
  mok_status status = compute(&n, out);
  mok_gpu_free(n.kernel, &n.blocks);
  mok_kernel_leave(n.kernel);
  return mok_status_context(status, "computing the layer by the naive kernels");
}
