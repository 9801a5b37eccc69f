/* The ordered sum, to the bit: weights are powers of two, so every product is exact and only the sums round, in their order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "harness.h"

enum { FILL = 0xff };

typedef struct setting {
  int hidden, tokens, top_k, experts;
  bool shared;
  int *ids;
  float *weights;
  uint16_t *y, *shared_y, *expected; /* [T k, H], [T, H], [T, H] */
} setting;

/* Eight bits of mantissa, exponents far apart. */
static uint16_t random_value(uint64_t *seed) {
  return (uint16_t)((prim_random(seed, 2) << 15) | ((123 + prim_random(seed, 17)) << 7) | prim_random(seed, 128));
}

static bool is_expert(const setting *s, size_t route) { return s->ids[route] >= 0 && s->ids[route] < s->experts; }

static void make_inputs(setting *s) {
  const size_t tokens = (size_t)s->tokens, h = (size_t)s->hidden, k = (size_t)s->top_k, routes = tokens * k;
  uint64_t seed = 11;
  s->ids = prim_host_memory(routes * sizeof *s->ids, 0);
  s->weights = prim_host_memory(routes * sizeof *s->weights, 0);
  s->y = prim_host_memory(routes * h * 2, 0);
  s->shared_y = prim_host_memory(tokens * h * 2, 0);
  s->expected = prim_host_memory(tokens * h * 2, 0);
  for (size_t i = 0; i < routes; i++) {
    static const int wrong[] = {-1, -1, -2, 0x7fffffff, -0x7fffffff - 1};
    const unsigned which = prim_random(&seed, 16);
    s->ids[i] = which == 15 ? s->experts : which < 5 ? wrong[which] : (int)prim_random(&seed, (unsigned)s->experts);
    s->weights[i] = prim_random(&seed, 16) == 0 ? 0.0f : ldexpf(prim_random(&seed, 2) ? 1 : -1, (int)prim_random(&seed, 7) - 3);
    for (size_t j = 0; j < h; j++) s->y[i * h + j] = is_expert(s, i) ? random_value(&seed) : 0x7fc0;
  }
  /* Two slots of a token are large and cancel: what is added between them loses its lower bits, in another order others do. */
  for (size_t t = 0; t < tokens; t++)
    for (size_t j = 0; j < h && k > 1; j++) {
      const size_t first = prim_random(&seed, (unsigned)k - 1), a = t * k + first,
                   b = a + 1 + prim_random(&seed, (unsigned)(k - first - 1));
      if (!is_expert(s, a) || !is_expert(s, b) || s->weights[a] == 0 || s->weights[b] == 0) continue;
      const float large = ldexpf(1.0f + (float)prim_random(&seed, 128) / 128, 24);
      s->y[a * h + j] = prim_bf16((double)(large / s->weights[a]));
      s->y[b * h + j] = prim_bf16((double)(-large / s->weights[b]));
    }
  for (size_t i = 0; i < tokens * h; i++) s->shared_y[i] = random_value(&seed);
  /* What is not a number stays none, in the one form that a conversion makes. */
  s->ids[0] = 0;
  s->weights[0] = 1;
  s->y[0] = 0x7f81;
  s->y[1] = 0x7f80;
  for (size_t t = 0; t < tokens; t++)
    for (size_t j = 0; j < h; j++) {
      float sum = s->shared ? (float)prim_from_bf16(s->shared_y[t * h + j]) : 0.0f;
      for (size_t i = t * k; i < (t + 1) * k; i++)
        if (is_expert(s, i)) sum = fmaf(s->weights[i], (float)prim_from_bf16(s->y[i * h + j]), sum);
      s->expected[t * h + j] = prim_bf16((double)sum);
    }
}

void check_reduce(prim *p) {
  setting s = {.hidden = (int)prim_fact(p, "PLAN_HIDDEN"),
               .tokens = (int)prim_fact(p, "PLAN_TOKENS_PER_GPU"),
               .top_k = (int)prim_fact(p, "PLAN_TOP_K"),
               .experts = (int)prim_fact(p, "PLAN_EXPERTS"),
               .shared = prim_fact(p, "PLAN_SHARED_INTERMEDIATE") > 0};
  make_inputs(&s);
  const size_t row = (size_t)s.hidden * 2, routes = (size_t)s.tokens * (size_t)s.top_k, out_bytes = (size_t)s.tokens * row;
  mok_rank_args *args = &p->ranks[0];
  args->topk_ids = prim_upload(p, s.ids, routes * sizeof *s.ids);
  args->topk_weights = prim_upload(p, s.weights, routes * sizeof *s.weights);
  args->x = args->out = prim_memory(p, out_bytes, FILL);
  uint16_t *expected = prim_host_memory(out_bytes, 0);
  prim_reset(p, FILL);
  prim_write(p, prim_heap(p, 0, "COMBINE"), s.y, routes * row);
  if (s.shared) prim_write(p, prim_local(p, 0, "SHARED_Y"), s.shared_y, out_bytes);
  const int tokens[] = {0, 1, 77, s.tokens};
  p->races = true;
  for (p->seed = 0; p->seed < (uint64_t)p->machine->schedules; p->seed++)
    for (int i = 0; i < 4; i++) {
      prim_fill(p, args->out, FILL, out_bytes);
      args->tokens = tokens[i];
      prim_launch(p, 2, i == 2 ? 2 : 6);
      memset(expected, FILL, out_bytes);
      memcpy(expected, s.expected, (size_t)tokens[i] * row);
      prim_expect_bytes(p, args->out, expected, out_bytes, 2, "%d of %d tokens", tokens[i], s.tokens);
    }
  free(expected);
  free(s.ids);
  free(s.weights);
  free(s.y);
  free(s.shared_y);
  free(s.expected);
}
