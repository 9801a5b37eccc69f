#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../runtime/base/sha256.h"
#include "../../tests/reference/random.h"
#include "../../tests/reference/reference.h"
#include "parallel.h"

/* A mistake in one row of many hardly moves the error of the whole; no single token may be off by more than this times the limit.
 */
enum { TOKEN_FACTOR = 10 };

static float from_bf16(uint16_t bits) {
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

mok_reference_activation mok_expected_activation(const mok_model *model) {
  static const mok_reference_activation formulas[] = {
#define MOK_ACTIVATION(name, gated, value, doc) [MOK_ACTIVATION_##name] = MOK_REFERENCE_##name,
#include "../model/activations.def"
#undef MOK_ACTIVATION
  };
  return formulas[model->activation];
}

static mok_reference_layer layer_of(const mok_problem *problem) {
  const mok_model *m = problem->model;
  return (mok_reference_layer){
      .hidden = m->hidden,
      .experts = m->experts,
      .top_k = m->top_k,
      .activation = mok_expected_activation(m),
      .has_clamp = m->clamp.present,
      .clamp = m->clamp.value,
      .routed = {problem->gate.data, problem->up.data, problem->down.data, m->intermediate},
      .shared = {problem->shared_gate.data, problem->shared_up.data, problem->shared_down.data, m->shared_intermediate},
  };
}

/* First token of a rank that visits the expert with most rows, -1 if none does. */
static int64_t busiest_token(const mok_problem *problem, int64_t r) {
  const mok_model *m = problem->model;
  int64_t busiest = 0;
  for (int64_t e = 1; e < m->experts; ++e)
    if (problem->expert_rows[e] > problem->expert_rows[busiest]) busiest = e;
  for (int64_t i = 0; i < problem->ranks[r].tokens * m->top_k; ++i)
    if (problem->ranks[r].ids[i] == busiest) return i / m->top_k;
  return -1;
}

static void choose_tokens(const mok_problem *problem, int64_t r, int64_t sample, bool *checked) {
  const int64_t tokens = problem->ranks[r].tokens;
  if (sample == 0 || sample >= tokens) {
    memset(checked, true, (size_t)tokens);
    return;
  }
  int64_t left = sample;
  const int64_t first[] = {0, tokens - 1, busiest_token(problem, r)};
  for (size_t i = 0; i < sizeof first / sizeof first[0] && left > 0; ++i) {
    if (first[i] < 0 || checked[first[i]]) continue;
    checked[first[i]] = true;
    --left;
  }
  const uint64_t key = mok_random_key(problem->seed, (uint64_t)(MOK_STREAM_SAMPLE + MOK_STREAMS_PER_RANK * r));
  for (uint64_t draw = 0; left > 0; ++draw) { /* ends: sample < tokens */
    const uint32_t token = mok_random_below(key, draw, (uint32_t)tokens);
    if (checked[token]) continue;
    checked[token] = true;
    --left;
  }
}

/* One piece of work: a few tokens of one rank, so that a core gets its scratch memory rarely. */
enum { PIECE_TOKENS = 4 };
typedef struct reference_work {
  const mok_problem *problem;
  const mok_expected *expected;
  mok_reference_layer layer;
  const int64_t *first_piece; /* [gpus + 1] */
  atomic_bool no_memory;
} reference_work;

static void reference_piece(void *user, int64_t piece) {
  reference_work *work = user;
  const mok_model *m = work->problem->model;
  int64_t r = 0;
  while (piece >= work->first_piece[r + 1]) ++r;
  const mok_rank_problem *rank = &work->problem->ranks[r];
  const int64_t first = (piece - work->first_piece[r]) * PIECE_TOKENS;
  const int64_t last = first + PIECE_TOKENS < rank->tokens ? first + PIECE_TOKENS : rank->tokens;
  double *memory = malloc((size_t)(mok_reference_scratch(&work->layer) + m->hidden) * sizeof *memory);
  if (!memory) atomic_store(&work->no_memory, true);
  for (int64_t t = first; t < last && memory; ++t) {
    if (!work->expected->checked[r][t]) continue;
    double *row = memory + mok_reference_scratch(&work->layer);
    mok_reference_token(&work->layer, rank->x + t * m->hidden, rank->ids + t * m->top_k, rank->weights + t * m->top_k, memory,
                        row);
    for (int64_t c = 0; c < m->hidden; ++c) work->expected->rows[r][t * m->hidden + c] = (float)row[c];
  }
  free(memory);
}

void mok_expected_choose(mok_arena *arena, const mok_problem *problem, int64_t sample, mok_expected *out) {
  const mok_model *m = problem->model;
  out->rows = MOK_NEW_ARRAY(arena, (size_t)m->gpus, float *);
  out->checked = MOK_NEW_ARRAY(arena, (size_t)m->gpus, bool *);
  for (int64_t r = 0; r < m->gpus; ++r) {
    const int64_t values = problem->ranks[r].tokens * m->hidden;
    out->rows[r] = MOK_NEW_ARRAY(arena, (size_t)values, float);
    for (int64_t i = 0; i < values; ++i) out->rows[r][i] = NAN;
    out->checked[r] = MOK_NEW_ARRAY(arena, (size_t)problem->ranks[r].tokens, bool);
    choose_tokens(problem, r, sample, out->checked[r]);
  }
}

int64_t *mok_expected_experts(mok_arena *arena, const mok_problem *problem, const mok_expected *expected) {
  const mok_model *m = problem->model;
  int64_t *count = MOK_NEW_ARRAY(arena, (size_t)m->experts, int64_t);
  for (int64_t r = 0; r < m->gpus; ++r)
    for (int64_t i = 0; i < problem->ranks[r].tokens * m->top_k; ++i) {
      const int32_t id = problem->ranks[r].ids[i];
      if (expected->checked[r][i / m->top_k] && id >= 0 && id < m->experts) count[id] += 1;
    }
  return count;
}

mok_status mok_expected_compute(mok_arena *arena, const mok_problem *problem, mok_expected *expected) {
  const int64_t gpus = problem->model->gpus;
  int64_t *first_piece = MOK_NEW_ARRAY(arena, (size_t)gpus + 1, int64_t);
  for (int64_t r = 0; r < gpus; ++r)
    first_piece[r + 1] = first_piece[r] + (problem->ranks[r].tokens + PIECE_TOKENS - 1) / PIECE_TOKENS;
  reference_work work = {.problem = problem, .expected = expected, .layer = layer_of(problem), .first_piece = first_piece};
  MOK_TRY(mok_parallel(first_piece[gpus], reference_piece, &work));
  return work.no_memory ? MOK_ERROR(MOK_ERR_IO, "out of memory in the reference") : MOK_OK;
}

mok_status mok_expected_make(mok_arena *arena, const mok_problem *problem, int64_t sample, mok_expected *out) {
  mok_expected_choose(arena, problem, sample, out);
  return mok_expected_compute(arena, problem, out);
}

void mok_output_digest(const mok_problem *problem, char digest[17]) {
  mok_sha256 sha;
  uint8_t bytes[32];
  char hex[65];
  mok_sha256_init(&sha);
  for (int64_t r = 0; r < problem->model->gpus; ++r)
    mok_sha256_field(&sha, problem->ranks[r].out, (size_t)(problem->ranks[r].tokens * problem->model->hidden) * sizeof(uint16_t));
  mok_sha256_final(&sha, bytes);
  mok_sha256_hex(bytes, hex);
  memcpy(digest, hex, 16);
  digest[16] = '\0';
}

/* Values that no kernel may leave: poison or another non-number inside, anything but poison in the guard rows. */
static const char *find_poison(mok_arena *arena, const mok_problem *problem, int64_t r) {
  const int64_t H = problem->model->hidden;
  const mok_rank_problem *rank = &problem->ranks[r];
  for (int64_t i = -H; i < (rank->rows + 1) * H; ++i) {
    if (i == 0) i = rank->tokens * H;
    if (rank->out[i] == 0xffff) continue;
    return mok_arena_printf(arena, "rank %" PRId64 " token %" PRId64 " column %" PRId64 ": a write outside the output", r,
                            i < 0 ? -1 : i / H, i < 0 ? i + H : i % H);
  }
  for (int64_t i = 0; i < rank->tokens * H; ++i) {
    if ((rank->out[i] & 0x7f80) != 0x7f80) continue;
    return mok_arena_printf(arena, "rank %" PRId64 " token %" PRId64 " column %" PRId64 ": %s", r, i / H, i % H,
                            rank->out[i] == 0xffff ? "never written (poison)" : "not a finite number");
  }
  return NULL;
}

typedef struct token_error {
  double error, norm; /* squared */
  double worst;       /* largest absolute error */
  int64_t column;     /* of it */
} token_error;

static token_error compare_token(const uint16_t *out, const float *expected, int64_t columns) {
  token_error e = {0};
  for (int64_t c = 0; c < columns; ++c) {
    const double want = (double)expected[c], off = fabs((double)from_bf16(out[c]) - want);
    e.error += off * off;
    e.norm += want * want;
    if (!(off > e.worst)) continue;
    e.worst = off;
    e.column = c;
  }
  return e;
}

/* sqrt(error / norm), infinite for a value that is no number; a zero expectation must be met exactly. */
static double relative(double error, double norm) {
  if (error == 0) return 0;
  return norm == 0 || isnan(error) ? INFINITY : sqrt(error / norm);
}

void mok_verdict_make(mok_arena *arena, const mok_problem *problem, const mok_expected *expected, mok_verdict *out) {
  const int64_t H = problem->model->hidden;
  memset(out, 0, sizeof *out);
  out->limit = 5e-3; /* bf16 forward */
  mok_output_digest(problem, out->digest);
  for (int64_t r = 0; r < problem->model->gpus; ++r) {
    const mok_rank_problem *rank = &problem->ranks[r];
    if (!out->failure) out->failure = find_poison(arena, problem, r);
    double error = 0, norm = 0;
    for (int64_t t = 0; t < rank->tokens; ++t) {
      if (!expected->checked[r][t]) continue;
      const float *want = expected->rows[r] + t * H;
      const token_error e = compare_token(rank->out + t * H, want, H);
      error += e.error;
      norm += e.norm;
      out->checked += H;
      out->max_abs = fmax(out->max_abs, e.worst);
      if (!out->failure && !(relative(e.error, e.norm) <= TOKEN_FACTOR * out->limit))
        out->failure = mok_arena_printf(arena, "rank %" PRId64 " token %" PRId64 " column %" PRId64 ": %.6g, expected %.6g", r, t,
                                        e.column, (double)from_bf16(rank->out[t * H + e.column]), (double)want[e.column]);
    }
    out->rel_l2 = fmax(out->rel_l2, relative(error, norm));
    if (!out->failure && !(relative(error, norm) <= out->limit))
      out->failure = mok_arena_printf(arena, "rank %" PRId64 ": relative L2 error %.3g, the limit is %.3g", r,
                                      relative(error, norm), out->limit);
  }
  out->pass = out->failure == NULL;
}
