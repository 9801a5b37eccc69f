#include "routing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../tests/reference/random.h"
#include "options.h"

mok_status mok_routing_parse(const mok_model *model, const char *text, mok_routing *out) {
  memset(out, 0, sizeof *out);
  if (strcmp(text, "uniform") == 0) return MOK_OK;
  if (strcmp(text, "dup") == 0) {
    out->kind = MOK_ROUTING_DUP;
    return MOK_OK;
  }
  if (strncmp(text, "zipf:", 5) == 0) {
    out->kind = MOK_ROUTING_ZIPF;
    return mok_parse_number(text + 5, 0, 16, "--routing zipf:S", &out->exponent);
  }
  if (strncmp(text, "hot:", 4) == 0) {
    out->kind = MOK_ROUTING_HOT;
    return mok_parse_int(text + 4, 0, model->experts - 1, "--routing hot:E", &out->expert);
  }
  if (strncmp(text, "file:", 5) == 0 && text[5]) {
    out->kind = MOK_ROUTING_FILE;
    out->path = text + 5;
    return MOK_OK;
  }
  return MOK_ERROR(MOK_ERR_USAGE, "--routing: '%s' is none of uniform, zipf:S, hot:E, dup, file:F", text);
}

mok_status mok_sample_parse(const mok_model *model, const char *text, int64_t *sample) {
  *sample = 0;
  if (strcmp(text, "full") == 0) return MOK_OK;
  if (strncmp(text, "sample:", 7) == 0)
    return mok_parse_int(text + 7, 1, model->tokens_per_gpu > 0 ? model->tokens_per_gpu : 1, "--check sample:N", sample);
  return MOK_ERROR(MOK_ERR_USAGE, "--check: '%s' is neither full nor sample:N", text);
}

mok_status mok_tokens_parse(mok_arena *arena, const mok_model *model, const char *text, int64_t *tokens) {
  int64_t count = 0;
  for (const char *at = text;; ++count) {
    const size_t length = strcspn(at, ",");
    int64_t value = 0;
    MOK_TRY(mok_parse_int(mok_arena_strndup(arena, at, length), 0, model->tokens_per_gpu, "--tokens", &value));
    if (count < model->gpus) tokens[count] = value;
    if (at[length] == '\0') break;
    at += length + 1;
  }
  ++count;
  if (count == 1)
    for (int64_t r = 1; r < model->gpus; ++r) tokens[r] = tokens[0];
  else if (count != model->gpus)
    return MOK_ERROR(MOK_ERR_USAGE, "--tokens: %" PRId64 " counts for %" PRId64 " ranks; give one, or one for each", count,
                     model->gpus);
  return MOK_OK;
}

/* A sequence of draws of one rank. */
typedef struct draws {
  uint64_t key, next;
} draws;
static uint32_t below(draws *d, int64_t bound) { return mok_random_below(d->key, d->next++, (uint32_t)bound); }

/* Whether slot j of a token may not take an expert: an earlier slot has it. With more slots than experts each run of `experts`
 * slots visits every expert once, so that there is always one left. */
static bool taken(const int32_t *ids, int64_t j, int64_t experts, int32_t id) {
  for (int64_t i = j - j % experts; i < j; ++i)
    if (ids[i] == id) return true;
  return false;
}

/* ids[first..k-1]: distinct experts as far as there are enough, each set equally likely. */
static void draw_uniform(draws *d, int32_t *ids, int64_t first, int64_t k, int64_t experts) {
  for (int64_t j = first; j < k; ++j) {
    do ids[j] = (int32_t)below(d, experts);
    while (taken(ids, j, experts, ids[j]));
  }
}

/* The same, drawn one after the other in proportion to share[] of those that are left. */
static void draw_zipf(draws *d, int32_t *ids, int64_t k, int64_t experts, const double *share) {
  for (int64_t j = 0; j < k; ++j) {
    double total = 0;
    for (int64_t e = 0; e < experts; ++e) total += taken(ids, j, experts, (int32_t)e) ? 0 : share[e];
    double left = total * ((double)(mok_random_bits(d->key, d->next++) >> 11) * 0x1p-53);
    ids[j] = -1;
    for (int64_t e = 0; e < experts; ++e) {
      if (taken(ids, j, experts, (int32_t)e)) continue;
      ids[j] = (int32_t)e; /* the last one left takes what rounding leaves over */
      if (left < share[e]) break;
      left -= share[e];
    }
  }
}

static void draw_rank(const mok_problem *problem, const mok_routing *routing, const double *share, int64_t r) {
  const int64_t k = problem->model->top_k, experts = problem->model->experts;
  draws d = {mok_random_key(problem->seed, (uint64_t)(MOK_STREAM_IDS + MOK_STREAMS_PER_RANK * r)), 0};
  for (int64_t t = 0; t < problem->ranks[r].tokens; ++t) {
    int32_t *ids = problem->ranks[r].ids + t * k;
    switch (routing->kind) {
      case MOK_ROUTING_UNIFORM:
        draw_uniform(&d, ids, 0, k, experts);
        break;
      case MOK_ROUTING_ZIPF:
        draw_zipf(&d, ids, k, experts, share);
        break;
      case MOK_ROUTING_HOT:
        ids[0] = (int32_t)routing->expert;
        draw_uniform(&d, ids, 1, k, experts);
        break;
      case MOK_ROUTING_DUP:
        ids[0] = (int32_t)below(&d, experts);
        for (int64_t j = 1; j < k; ++j) ids[j] = ids[0];
        break;
      case MOK_ROUTING_FILE:
        break;
    }
  }
}

/* Text of ids: one line a token, top_k whole numbers with blanks or commas between, all tokens of rank 0 first. Any 32-bit number
 * goes: an id that names no expert must be dropped by the kernel. */
static mok_status read_file(mok_arena *arena, const mok_problem *problem, const char *path) {
  enum { SIZE_LIMIT = 256 << 20 };
  mok_blob text;
  MOK_TRY_CTX(mok_file_read(arena, path, SIZE_LIMIT, &text), "reading the routes of --routing file:%s", path);
  const char *at = text.data;
  const char *const end = at + text.size;
  int64_t line = 1, tokens = 0;
  for (int64_t r = 0; r < problem->model->gpus; ++r) tokens += problem->ranks[r].tokens;
  for (int64_t r = 0; r < problem->model->gpus; ++r) {
    for (int64_t t = 0; t < problem->ranks[r].tokens; ++t, ++line) {
      if (at == end)
        return MOK_ERROR(MOK_ERR_IO, "%s ends after %" PRId64 " tokens, the run has %" PRId64, path, line - 1, tokens);
      const char *line_end = memchr(at, '\n', (size_t)(end - at));
      if (!line_end) line_end = end;
      char *rest = mok_arena_strndup(arena, at, (size_t)(line_end - at));
      int64_t count = 0;
      for (char *state = NULL, *word; (word = strtok_r(count ? NULL : rest, " \t\r,", &state)) != NULL; ++count) {
        int64_t id = 0;
        mok_status status = mok_parse_int(word, INT32_MIN, INT32_MAX, "an expert id", &id);
        if (status) {
          mok_status_free(status);
          return MOK_ERROR(MOK_ERR_IO, "%s:%" PRId64 ": '%s' is not an expert id", path, line, word);
        }
        if (count < problem->model->top_k) problem->ranks[r].ids[t * problem->model->top_k + count] = (int32_t)id;
      }
      if (count != problem->model->top_k)
        return MOK_ERROR(MOK_ERR_IO, "%s:%" PRId64 ": %" PRId64 " ids, top_k is %" PRId64, path, line, count,
                         problem->model->top_k);
      at = line_end == end ? end : line_end + 1;
    }
  }
  if (at != end)
    return MOK_ERROR(MOK_ERR_IO, "%s:%" PRId64 ": more lines than the %" PRId64 " tokens of the run", path, line, tokens);
  return MOK_OK;
}

/* Positive weights with sum 1, like a router's. */
static void fill_weights(const mok_problem *problem, int64_t r) {
  const int64_t k = problem->model->top_k;
  const uint64_t key = mok_random_key(problem->seed, (uint64_t)(MOK_STREAM_ROUTE_WEIGHTS + MOK_STREAMS_PER_RANK * r));
  for (int64_t t = 0; t < problem->ranks[r].tokens; ++t) {
    uint64_t sum = 0, draw[64];
    for (int64_t j = 0; j < k; ++j) sum += draw[j] = (mok_random_bits(key, (uint64_t)(t * k + j)) >> 44) + (1 << 16);
    for (int64_t j = 0; j < k; ++j) problem->ranks[r].weights[t * k + j] = (float)draw[j] / (float)sum;
  }
}

static void mask_routes(const mok_problem *problem, int64_t r, double share) {
  const uint64_t key = mok_random_key(problem->seed, (uint64_t)(MOK_STREAM_MASK + MOK_STREAMS_PER_RANK * r));
  const int64_t routes = problem->ranks[r].tokens * problem->model->top_k;
  for (int64_t i = 0; i < routes; ++i)
    if ((double)(mok_random_bits(key, (uint64_t)i) >> 11) * 0x1p-53 < share) problem->ranks[r].ids[i] = -1;
}

mok_status mok_routing_fill(mok_arena *arena, mok_problem *problem, const mok_routing *routing) {
  const mok_model *m = problem->model;
  double *share = NULL;
  if (routing->kind == MOK_ROUTING_ZIPF) {
    share = MOK_NEW_ARRAY(arena, (size_t)m->experts, double);
    for (int64_t e = 0; e < m->experts; ++e) share[e] = pow((double)(e + 1), -routing->exponent);
  }
  if (routing->kind == MOK_ROUTING_FILE) MOK_TRY(read_file(arena, problem, routing->path));
  for (int64_t r = 0; r < m->gpus; ++r) {
    draw_rank(problem, routing, share, r);
    fill_weights(problem, r);
    if (routing->mask > 0) mask_routes(problem, r, routing->mask);
    const int64_t routes = problem->ranks[r].tokens * m->top_k;
    for (int64_t i = 0; i < routes; ++i) {
      const int32_t id = problem->ranks[r].ids[i];
      if (id >= 0 && id < m->experts) problem->expert_rows[id] += 1;
    }
  }
  return MOK_OK;
}
