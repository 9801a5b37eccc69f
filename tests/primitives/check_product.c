/* Products and their epilogues against a product of integers, and how often each tile was signalled. Operands are eighths of
 * -8..8, so every partial sum is exact in fp32 and a plain result is right to the bit; an activated one is right to the rounding
 * of
 * fp32 and then of bf16. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../reference/activations.h"
#include "cases.h"
#include "harness.h"

enum { EIGHTHS = 8, NOBODYS = 0x7fc0, FILL = 0xff };

typedef struct shape {
  int id, n, gated, k, columns, store;
} shape;
static const shape product_shapes[] = {
#define SHAPE(id, n, gated, k, columns, store) {id, n, gated, k, columns, store},
    PRODUCT_SHAPES(SHAPE)};
static const shape epilogue_shapes[] = {EPILOGUE_SHAPES(SHAPE)};
static const shape gather_shapes[] = {GATHER_SHAPES(SHAPE)
#undef SHAPE
};

static const mok_reference_activation activations[] = {
#define MOK_ACTIVATION(name, gated, value, doc) MOK_REFERENCE_##name,
#include "../../compiler/model/activations.def"
#undef MOK_ACTIVATION
};

/* One shape on one rank. Values are eighths; matrices as in product.cu. */
typedef struct inputs {
  int *x, *weights[2]; /* [T, k], [experts, columns, k] */
  int *source;         /* rank and route of each row; of a pushed product */
} inputs;
typedef struct setting {
  shape shape;
  int tokens, padding, blocks, experts, cluster;
  bool routed, gathers;
  bool apart; /* neighbouring blocks of a routed product have different experts */
  size_t out_stride;
  mok_reference_activation activation;
  double clamp; /* 0: none */
  inputs of[MOK_MAX_RANKS];
} setting;

/* Memory that all shapes share, as large as the largest needs. */
static size_t most_elements(const prim *p, const shape *shapes, int count, size_t *weights, size_t *out) {
  const size_t blocks = ((size_t)prim_fact(p, "PLAN_TOKENS_PER_GPU") + (size_t)prim_fact(p, "PLAN_ROW_PADDING") - 1) /
                        (size_t)prim_fact(p, "PLAN_ROW_PADDING");
  const size_t rows = blocks * (size_t)prim_fact(p, "PLAN_ROW_PADDING"), hidden = (size_t)prim_fact(p, "PLAN_HIDDEN");
  size_t x = 0;
  *weights = *out = 0;
  for (int i = 0; i < count; i++) {
    const size_t columns = shapes[i].store == STORE_PUSHED ? hidden : (size_t)shapes[i].columns, k = (size_t)shapes[i].k;
    if (x < rows * k) x = rows * k;
    if (*weights < PRODUCT_EXPERTS * columns * (k + PRODUCT_WEIGHT_PAD))
      *weights = PRODUCT_EXPERTS * columns * (k + PRODUCT_WEIGHT_PAD);
    if (*out < PRODUCT_EXPERTS * rows * (columns + PRODUCT_OUT_PAD)) *out = PRODUCT_EXPERTS * rows * (columns + PRODUCT_OUT_PAD);
  }
  return x;
}

static int *random_eighths(size_t count, uint64_t *seed) {
  int *values = prim_host_memory(count * sizeof *values, 0);
  for (size_t i = 0; i < count; i++) values[i] = (int)prim_random(seed, 17) - 8;
  return values;
}

static uint16_t eighths(int value) { return prim_bf16((double)value / EIGHTHS); }

static void write_matrix(prim *p, const void *to, const int *values, size_t rows, size_t columns, size_t stride) {
  uint16_t *matrix = prim_host_memory(rows * stride * 2, 0);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < stride; j++) matrix[i * stride + j] = j < columns ? eighths(values[i * columns + j]) : NOBODYS;
  prim_write(p, (void *)(uintptr_t)to, matrix, rows * stride * 2);
  free(matrix);
}

static mok_map_recipe map(mok_map_source source, size_t member, int rows, int columns, int box_rows, int box_columns) {
  enum { SWIZZLE_128 = 3, PROMOTION_256 = 3 };
  return (mok_map_recipe){.source = source,
                          .member = member,
                          .rows = rows,
                          .columns = columns,
                          .box_rows = box_rows,
                          .box_columns = box_columns,
                          .swizzle = SWIZZLE_128,
                          .promotion = PROMOTION_256};
}

static void make_rank(prim *p, setting *s, int r, uint64_t *seed) {
  const shape *f = &s->shape;
  inputs *in = &s->of[r];
  mok_rank_args *args = &p->ranks[r];
  const size_t k = (size_t)f->k, columns = (size_t)f->columns, tokens = (size_t)s->tokens, stride = k + PRODUCT_WEIGHT_PAD;
  in->x = random_eighths(tokens * k, seed);
  write_matrix(p, args->x, in->x, tokens, k, k);
  const uint16_t nobodys = NOBODYS; /* behind the last token */
  for (size_t i = tokens * k; i < ((tokens + 7) / 8 * 8) * k; i++)
    prim_write(p, (uint16_t *)(uintptr_t)args->x + i, &nobodys, sizeof nobodys);
  mok_weight *weights[] = {&args->gate, &args->up};
  for (int half = 0; half <= f->gated; half++) {
    in->weights[half] = random_eighths((size_t)s->experts * columns * k, seed);
    write_matrix(p, weights[half]->base, in->weights[half], (size_t)s->experts * columns, k, stride);
    weights[half]->row_stride = (long long)stride;
    weights[half]->expert_stride = (long long)(columns * stride);
  }
  args->tokens = s->tokens;
  const int words[WORD_FIRST_TASK] = {f->id};
  prim_write(p, (void *)(uintptr_t)args->shared_down.base, words, sizeof words);
}

/* Rows to routes of all ranks, none twice. */
static void make_sources(prim *p, setting *s) {
  const int routes = (int)prim_fact(p, "PLAN_TOKENS_PER_GPU") * (int)prim_fact(p, "PLAN_TOP_K");
  for (int r = 0; r < p->rank_count; r++) {
    s->of[r].source = prim_host_memory((size_t)s->tokens * 8, 0);
    for (int i = 0; i < s->tokens; i++) {
      s->of[r].source[2 * i] = (r + i) % p->rank_count;
      s->of[r].source[2 * i + 1] = (i + r * s->tokens) * 5 % routes; /* of which 5 is no factor */
    }
    prim_write(p, prim_local(p, r, "ROW_SOURCE"), s->of[r].source, (size_t)s->tokens * 8);
  }
}

static int min(int a, int b) { return a < b ? a : b; }

/* Blocks that are computed: in a cluster each CTA has one, the last may have no rows. */
static int blocks_of(const setting *s) {
  const int step = s->padding * s->cluster;
  return (s->tokens + step - 1) / step * s->cluster;
}

static int expert_of(const setting *s, int block) { return s->experts > 1 ? (block / 2 + s->apart * block) % s->experts : 0; }

/* Words of block_expert: expert << 9 | rows. */
static void make_blocks(prim *p, const setting *s) {
  const int count = (int)prim_fact(p, "PLAN_CAPACITY_ROWS") / s->padding;
  int *words = prim_host_memory((size_t)count * sizeof *words, FILL);
  for (int b = 0; b < blocks_of(s); b++) {
    const int left = s->tokens - b * s->padding;
    words[b] = expert_of(s, b) << 9 | (left < 0 ? 0 : min(left, s->padding));
  }
  for (int r = 0; r < p->rank_count; r++) prim_write(p, prim_local(p, r, "BLOCK_EXPERT"), words, (size_t)count * sizeof *words);
  free(words);
}

/* Every instance has signalled each tile of a block, once. */
static void expect_signals(prim *p, const setting *s, int r) {
  const shape *f = &s->shape;
  const int words = (int)(prim_fact(p, "LAYOUT_COUNTERS_BYTES") / 8), instances = (int)prim_fact(p, "PLAN_THREADS") / 128 - 1;
  const int across = (s->shape.columns * (1 + f->gated) + f->n - 1) / f->n;
  int *right = prim_host_memory((size_t)words * sizeof *right, 0);
  for (int b = 0; b < blocks_of(s); b++) right[b] = across * instances * (s->routed ? 1 : s->experts);
  prim_expect_bytes(p, prim_local(p, r, "COUNTERS"), right, (size_t)words * sizeof *right, 4,
                    "shape %d, %d tokens, rank %d: signals", f->id, s->tokens, r);
  free(right);
}

/* Row i of A times column j of one half, in 64ths. */
static long long product_of(const setting *s, int r, int expert, int half, int i, int j) {
  const size_t k = (size_t)s->shape.k;
  const int column = j / (s->shape.n / (1 + s->shape.gated));
  if (s->gathers && PRODUCT_IS_GATHERED(s->routed ? 0 : expert, column)) i = PRODUCT_TOKEN_OF(i, s->tokens);
  const int *a = s->of[r].x + (size_t)i * k;
  const int *b = s->of[r].weights[half] + ((size_t)expert * (size_t)s->shape.columns + (size_t)j) * k;
  long long sum = 0;
  for (size_t l = 0; l < k; l++) sum += a[l] * b[l];
  return sum;
}

/* True if `found` may come out for gate and up: the rounding of bf16, and errors of fp32 that grow with the operands. */
static bool is_activated(const setting *s, double gate, double up, uint16_t found, double *right) {
  if (s->clamp > 0) {
    gate = fmin(gate, s->clamp);
    up = fmax(-s->clamp, fmin(up, s->clamp));
  }
  *right = mok_reference_activate(s->activation, gate, up);
  const double error = fabs(prim_from_bf16(found) - *right);
  return error <= fabs(*right) * 0x1.02p-8 + 1e-6 * (fabs(gate) + 1) * fabs(up) + 1e-30;
}

static void expect_out(prim *p, const setting *s, int r) {
  const shape *f = &s->shape;
  const size_t elements = (size_t)(s->experts * s->blocks * s->padding) * s->out_stride;
  uint16_t *out = prim_host_memory(elements * 2, 0), *right = prim_host_memory(elements * 2, FILL);
  prim_read(p, out, p->ranks[r].out, elements * 2);
  for (int e = 0; e < s->experts; e++)
    for (int i = 0; i < s->tokens; i++)
      for (int j = 0; j < f->columns && (!s->routed || expert_of(s, i / s->padding) == e); j++) {
        const size_t at = (size_t)(e * s->blocks * s->padding + i) * s->out_stride + (size_t)j;
        const double first = (double)product_of(s, r, e, 0, i, j) / (EIGHTHS * EIGHTHS);
        right[at] = prim_bf16(first);
        if (f->store == STORE_PLAIN) continue;
        double value = 0;
        const double up = f->gated ? (double)product_of(s, r, e, 1, i, j) / (EIGHTHS * EIGHTHS) : first;
        const bool close = is_activated(s, f->gated ? first : 0, up, out[at], &value);
        right[at] = close ? out[at] : prim_bf16(value);
      }
  prim_expect_bytes(p, p->ranks[r].out, right, elements * 2, 2,
                    "shape %d (n %d, k %d, %d columns), %d tokens, rank %d, rows of %zu", f->id, f->n, f->k, f->columns,
                    s->tokens, r, s->out_stride);
  free(out);
  free(right);
}

static void expect_combine(prim *p, const setting *s) {
  const size_t hidden = (size_t)s->shape.columns;
  const size_t routes = (size_t)prim_fact(p, "PLAN_TOKENS_PER_GPU") * (size_t)prim_fact(p, "PLAN_TOP_K");
  uint16_t *right = prim_host_memory(routes * hidden * 2, FILL);
  for (int to = 0; to < p->rank_count; to++) {
    memset(right, FILL, routes * hidden * 2);
    for (int r = 0; r < p->rank_count; r++)
      for (int i = 0; i < s->tokens; i++) {
        const int *source = s->of[r].source + 2 * i;
        for (int j = 0; j < s->shape.columns && source[0] == to; j++)
          right[(size_t)source[1] * hidden + (size_t)j] = prim_bf16((double)product_of(s, r, 0, 0, i, j) / (EIGHTHS * EIGHTHS));
      }
    prim_expect_bytes(p, prim_heap(p, to, "COMBINE"), right, routes * hidden * 2, 2, "shape %d, %d tokens, pushed to rank %d",
                      s->shape.id, s->tokens, to);
  }
  free(right);
}

static void run_shape(prim *p, const shape *f, int tokens, bool apart) {
  setting s = {.shape = *f,
               .tokens = tokens,
               .cluster = (int)prim_fact(p, "PLAN_CLUSTER"),
               .routed = PRODUCT_IS_ROUTED(f->id, f->store),
               .gathers = prim_fact(p, "PLAN_OWN_ROWS") != 0,
               .apart = apart,
               .padding = (int)prim_fact(p, "PLAN_ROW_PADDING"),
               .activation = activations[prim_fact(p, "PLAN_ACTIVATION")],
               .clamp = prim_real(p, "PLAN_CLAMP")};
  if (f->store == STORE_PUSHED) s.shape.columns = (int)prim_fact(p, "PLAN_HIDDEN");
  s.experts = f->store == STORE_PUSHED ? 1 : PRODUCT_EXPERTS;
  s.out_stride = (size_t)s.shape.columns + PRODUCT_OUT_PAD;
  s.blocks = ((int)prim_fact(p, "PLAN_TOKENS_PER_GPU") + s.padding - 1) / s.padding;
  uint64_t seed = (uint64_t)(f->id * 1000 + tokens);
  prim_reset(p, FILL);
  const size_t out_bytes = (size_t)(s.experts * s.blocks * s.padding) * s.out_stride * 2;
  for (int r = 0; r < p->rank_count; r++) {
    make_rank(p, &s, r, &seed);
    prim_fill(p, p->ranks[r].out, FILL, out_bytes);
  }
  make_blocks(p, &s);
  if (f->store == STORE_PUSHED) make_sources(p, &s);
  const int k = (int)prim_fact(p, "PLAN_GATE_UP_K"), parts = s.cluster > 1 + f->gated ? s.cluster : 1 + f->gated;
  p->maps = (mok_map_recipes){.count = 2 + f->gated, .ranks = p->rank_count, .experts = s.experts * p->rank_count};
  p->maps.recipes[0] = map(MOK_MAP_TOKENS, offsetof(mok_rank_args, x), 0, f->k, s.padding, k);
  p->maps.recipes[1] = map(MOK_MAP_WEIGHT, offsetof(mok_rank_args, gate), s.shape.columns, f->k, f->n / parts, k);
  p->maps.recipes[2] = map(MOK_MAP_WEIGHT, offsetof(mok_rank_args, up), s.shape.columns, f->k, f->n / parts, k);
  prim_launch(p, 2, 4);
  for (int r = 0; r < p->rank_count && f->store != STORE_PUSHED; r++) expect_out(p, &s, r);
  if (f->store == STORE_PUSHED) expect_combine(p, &s);
  for (int r = 0; r < p->rank_count; r++) expect_signals(p, &s, r);
  for (int r = 0; r < p->rank_count; r++) {
    free(s.of[r].x);
    free(s.of[r].weights[0]);
    free(s.of[r].weights[1]);
    free(s.of[r].source);
  }
}

void check_product(prim *p) {
  const bool epilogue = strcmp(p->family, "epilogue") == 0, gather = strcmp(p->family, "gather") == 0;
  const shape *shapes = epilogue ? epilogue_shapes : gather ? gather_shapes : product_shapes;
  const size_t bytes = epilogue ? sizeof epilogue_shapes : gather ? sizeof gather_shapes : sizeof product_shapes;
  const int count = (int)(bytes / sizeof *shapes);
  size_t weights = 0, out = 0;
  const size_t x = most_elements(p, shapes, count, &weights, &out);
  for (int r = 0; r < p->rank_count; r++) {
    mok_rank_args *args = &p->ranks[r];
    args->x = prim_memory(p, x * 2, FILL);
    args->gate.base = prim_memory(p, weights * 2, FILL);
    args->up.base = prim_memory(p, weights * 2, FILL);
    args->out = prim_memory(p, out * 2, FILL);
    args->shared_down.base = prim_memory(p, WORD_FIRST_TASK * sizeof(int), 0);
    args->topk_ids = args->shared_down.base; /* no product uses them */
    args->topk_weights = args->shared_down.base;
  }
  const int m = (int)prim_fact(p, "PLAN_ROW_PADDING"), most = (int)prim_fact(p, "PLAN_TOKENS_PER_GPU");
  const int tokens[] = {1, m / 2 + 3, m, most};
  for (int i = 0; i < count; i++) {
    p->seed = (uint64_t)(i % p->machine->schedules);
    run_shape(p, &shapes[i], m + 9, true);
    if (PRODUCT_IS_ROUTED(shapes[i].id, shapes[i].store)) run_shape(p, &shapes[i], m + 9, false);
    run_shape(p, &shapes[i], tokens[i % 4], i % 8 < 4);
  }
}
