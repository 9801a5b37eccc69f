/* The route phase against counting: sorted lists of each rank, its experts' rows and blocks, where each row comes from. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "harness.h"

enum { FILL = 0xa5, FILL_WORD = (int)0xa5a5a5a5, COMM = 2, COMPUTE = 4 };

enum { UNIFORM, MASKED, DUPLICATES, ONE_EXPERT, EVERY_THIRD, OUT_OF_RANGE, PATTERNS };
static const char *const pattern_names[] = {"uniform", "masked", "duplicates", "one expert", "every third", "out of range"};

typedef struct setting {
  int hidden, tokens, top_k, experts, padding, blocks, slots, cluster;
  int pattern, count[MOK_MAX_RANKS]; /* tokens */
  int *ids[MOK_MAX_RANKS];
  uint16_t *x[MOK_MAX_RANKS];
  int *offsets[MOK_MAX_RANKS], *list[MOK_MAX_RANKS]; /* expected */
} setting;

static int first_expert(const prim *p, const setting *s, int rank) { return (int)((long long)rank * s->experts / p->rank_count); }

static int make_id(const setting *s, int route, uint64_t *seed) {
  static const int wrong[] = {-2, 0x7fffffff, -0x7fffffff - 1};
  const int any = (int)prim_random(seed, (unsigned)s->experts);
  switch (s->pattern) {
    case MASKED:
      return -1;
    case DUPLICATES:
      return route / s->top_k * 5 % s->experts;
    case ONE_EXPERT:
      return s->experts - 1;
    case EVERY_THIRD:
      return prim_random(seed, 4) == 0 ? -1 : any / 3 * 3;
    case OUT_OF_RANGE:
      return prim_random(seed, 3) > 0 ? any : route % 4 < 3 ? wrong[route % 4] : s->experts;
    default:
      return any;
  }
}

/* offsets and list as a stable sort gives them. */
static void sort_routes(setting *s, int r) {
  const int routes = s->count[r] * s->top_k;
  int placed = 0;
  for (int i = 0; i < s->tokens * s->top_k; i++) s->list[r][i] = FILL_WORD;
  int *counts = prim_host_memory((size_t)(s->experts + 1) * sizeof *counts, 0);
  for (int i = 0; i < routes; i++)
    if (s->ids[r][i] >= 0 && s->ids[r][i] < s->experts) counts[s->ids[r][i]]++;
  for (int e = 0; e < s->experts; e++) {
    s->offsets[r][e] = placed;
    placed += counts[e];
    counts[e] = s->offsets[r][e];
  }
  s->offsets[r][s->experts] = placed;
  for (int i = 0; i < routes; i++)
    if (s->ids[r][i] >= 0 && s->ids[r][i] < s->experts) s->list[r][counts[s->ids[r][i]]++] = i;
  free(counts);
}

typedef struct tables {
  int *base, *rows, *block_expert, *source; /* of one rank; source: pairs */
} tables;

/* Rows of an expert: one of each rank in turn, beginning with rank `start`, as long as the rank has some. */
static void place_rows(const prim *p, const setting *s, int expert, int start, int *source, int padded) {
  int row = 0;
  for (int i = 0; row < padded; i++) {
    const int before = row;
    for (int n = 0; n < p->rank_count; n++) {
      const int r = (start + n) % p->rank_count, at = s->offsets[r][expert] + i;
      if (at >= s->offsets[r][expert + 1]) continue;
      source[2 * row] = r;
      source[2 * row++ + 1] = s->list[r][at];
    }
    if (row == before) break;
  }
  for (; row < padded; row++) source[2 * row] = source[2 * row + 1] = -1;
}

/* Rows of block `b` of an expert of so many. */
static int block_rows(const setting *s, int rows, int b) {
  const int left = rows - b * s->padding;
  return left < 0 ? 0 : left < s->padding ? left : s->padding;
}

/* Returns the row blocks: every CTA of a cluster gets one, so the last expert may have an empty one at its end. */
static int place(const prim *p, const setting *s, int rank, int start, tables *t) {
  const int first = first_expert(p, s, rank), experts = first_expert(p, s, rank + 1) - first;
  for (int b = 0; b < s->blocks; b++) t->block_expert[b] = FILL_WORD;
  for (int i = 0; i < 2 * s->blocks * s->padding; i++) t->source[i] = FILL_WORD;
  t->base[0] = 0;
  for (int e = 0; e < experts; e++) {
    t->rows[e] = 0;
    for (int r = 0; r < p->rank_count; r++) t->rows[e] += s->offsets[r][first + e + 1] - s->offsets[r][first + e];
    int padded = (t->rows[e] + s->padding - 1) / s->padding * s->padding;
    while (e == experts - 1 && (t->base[e] + padded) / s->padding % s->cluster != 0) padded += s->padding;
    for (int b = 0; b < padded / s->padding; b++)
      t->block_expert[t->base[e] / s->padding + b] = e << 9 | block_rows(s, t->rows[e], b);
    place_rows(p, s, first + e, start, t->source + (size_t)t->base[e] * 2, padded);
    t->base[e + 1] = t->base[e] + padded;
  }
  return t->base[experts] / s->padding;
}

static bool same(prim *p, const void *at, const void *expected, size_t bytes) {
  void *found = prim_host_memory(bytes, 0);
  prim_read(p, found, at, bytes);
  const bool equal = memcmp(found, expected, bytes) == 0;
  free(found);
  return equal;
}

static void expect_answer(prim *p, const setting *s, int rank, int blocks, const tables *t) {
  const size_t size = ROUTE_MOST_CTAS + (size_t)s->blocks * ROUTE_TASK_WORDS;
  int *answer = prim_host_memory(size * sizeof *answer, FILL);
  for (int cta = 0; cta < COMM + COMPUTE; cta++) answer[cta] = blocks;
  for (int b = 0; b < blocks; b++) {
    const int expert = t->block_expert[b] >> 9, rows = block_rows(s, t->rows[expert], b - t->base[expert] / s->padding);
    const int task[ROUTE_TASK_WORDS] = {1, 2, b, b % s->slots, expert, rows, 3, 0};
    memcpy(answer + ROUTE_MOST_CTAS + b * ROUTE_TASK_WORDS, task, sizeof task);
  }
  prim_expect_bytes(p, p->ranks[rank].shared_up.base, answer, size * sizeof *answer, 4, "%s, rank %d: row blocks and tasks",
                    pattern_names[s->pattern], rank);
  free(answer);
}

static void expect_rank(prim *p, const setting *s, int rank, tables *t) {
  const char *name = pattern_names[s->pattern];
  const int experts = first_expert(p, s, rank + 1) - first_expert(p, s, rank);
  prim_expect_bytes(p, prim_heap(p, rank, "ROUTE_OFFSETS"), s->offsets[rank], (size_t)(s->experts + 1) * 4, 4,
                    "%s, rank %d of %d tokens: route_offsets", name, rank, s->count[rank]);
  prim_expect_bytes(p, prim_heap(p, rank, "ROUTE_LIST"), s->list[rank], (size_t)(s->tokens * s->top_k) * 4, 4,
                    "%s, rank %d of %d tokens: route_list", name, rank, s->count[rank]);
  if (p->rank_count > 1 && p->ranks[rank].x != prim_heap(p, rank, "X")) {
    const size_t row = (size_t)s->hidden * 2;
    unsigned char *x = prim_host_memory((size_t)s->tokens * row, FILL);
    memcpy(x, s->x[rank], (size_t)s->count[rank] * row);
    prim_expect_bytes(p, prim_heap(p, rank, "X"), x, (size_t)s->tokens * row, row, "%s, rank %d: published x", name, rank);
    free(x);
  }
  /* Which rank begins is the target's choice, the same for all experts of a rank. */
  const size_t source_bytes = (size_t)s->blocks * (size_t)s->padding * 8;
  int start = 0, blocks = place(p, s, rank, 0, t);
  while (start < p->rank_count && !same(p, prim_local(p, rank, "ROW_SOURCE"), t->source, source_bytes))
    if (++start < p->rank_count) (void)place(p, s, rank, start, t);
  if (start == p->rank_count) (void)place(p, s, rank, 0, t);
  prim_expect_bytes(p, prim_local(p, rank, "EXPERT_BASE"), t->base, (size_t)(experts + 1) * 4, 4, "%s, rank %d: expert_base",
                    name, rank);
  prim_expect_bytes(p, prim_local(p, rank, "EXPERT_ROWS"), t->rows, (size_t)experts * 4, 4, "%s, rank %d: expert_rows", name,
                    rank);
  prim_expect_bytes(p, prim_local(p, rank, "BLOCK_EXPERT"), t->block_expert, (size_t)s->blocks * 4, 4,
                    "%s, rank %d: block_expert", name, rank);
  prim_expect_bytes(p, prim_local(p, rank, "ROW_SOURCE"), t->source, source_bytes, 8, "%s, rank %d: row_source", name, rank);
  expect_answer(p, s, rank, blocks, t);
}

/* The input error line; `given` is the token count of the launch. */
static void expect_errors(prim *p, const setting *s, int rank, int given) {
  unsigned words[MOK_LINE_WORDS], bad = 0, first = 0;
  for (int i = s->count[rank] * s->top_k; i-- > 0;)
    if (s->ids[rank][i] < -1 || s->ids[rank][i] >= s->experts) {
      bad++;
      first = (unsigned)i;
    }
  prim_control(p, rank, MOK_LINE_INPUT_ERROR, words);
  prim_expect(p, words[MOK_INPUT_BAD_IDS] == bad && words[MOK_INPUT_ROUTE] == first,
              "%s, rank %d: %u bad ids from route %u on, not %u from %u", pattern_names[s->pattern], rank,
              words[MOK_INPUT_BAD_IDS], words[MOK_INPUT_ROUTE], bad, first);
  if (bad > 0)
    prim_expect(p, words[MOK_INPUT_ID] == (unsigned)s->ids[rank][first], "rank %d: the first bad id is %d, not %d", rank,
                s->ids[rank][first], (int)words[MOK_INPUT_ID]);
  const bool too_many = given > s->tokens || given < 0;
  prim_expect(p, words[MOK_INPUT_BAD_TOKENS] == (unsigned)too_many && words[MOK_INPUT_TOKENS] == (too_many ? (unsigned)given : 0),
              "rank %d: %d tokens recorded %u times, %u first", rank, given, words[MOK_INPUT_BAD_TOKENS],
              words[MOK_INPUT_TOKENS]);
}

/* count[] may hold counts outside of the capacity, which are recorded and taken as 0. */
static void run_case(prim *p, setting *s, tables *t, int variant) {
  int given[MOK_MAX_RANKS];
  uint64_t seed = (uint64_t)s->pattern * 31 + 5;
  prim_reset(p, FILL);
  for (int r = 0; r < p->rank_count; r++) {
    mok_rank_args *args = &p->ranks[r];
    const bool in_place = p->rank_count > 1 && variant == 1;
    given[r] = s->count[r];
    if (s->count[r] < 0 || s->count[r] > s->tokens) s->count[r] = 0;
    for (int i = 0; i < s->tokens * s->top_k; i++) s->ids[r][i] = make_id(s, i, &seed);
    for (int i = 0; i < s->tokens * s->hidden; i++) s->x[r][i] = (uint16_t)prim_random(&seed, 65536);
    prim_write(p, (void *)(uintptr_t)args->topk_ids, s->ids[r], (size_t)(s->tokens * s->top_k) * 4);
    args->x = in_place ? prim_heap(p, r, "X") : args->shared_gate.base;
    prim_write(p, (void *)(uintptr_t)args->x, s->x[r], (size_t)(s->tokens * s->hidden) * 2);
    prim_fill(p, (void *)(uintptr_t)args->shared_up.base, FILL,
              (ROUTE_MOST_CTAS + (size_t)s->blocks * ROUTE_TASK_WORDS) * sizeof(int));
    args->tokens = given[r];
    args->tokens_dev = NULL;
    if (variant == 2) { /* the count from memory, under a bound */
      prim_write(p, (void *)(uintptr_t)args->gate.base, &given[r], sizeof given[r]);
      args->tokens_dev = args->gate.base;
      args->tokens = s->tokens;
    }
    sort_routes(s, r);
  }
  prim_launch(p, COMM, COMPUTE);
  for (int r = 0; r < p->rank_count; r++) {
    expect_rank(p, s, r, t);
    expect_errors(p, s, r, given[r]);
  }
}

void check_route(prim *p) {
  setting s = {.hidden = (int)prim_fact(p, "PLAN_HIDDEN"),
               .tokens = (int)prim_fact(p, "PLAN_TOKENS_PER_GPU"),
               .top_k = (int)prim_fact(p, "PLAN_TOP_K"),
               .experts = (int)prim_fact(p, "PLAN_EXPERTS"),
               .padding = (int)prim_fact(p, "PLAN_ROW_PADDING"),
               .slots = (int)prim_fact(p, "PLAN_RING_SLOTS"),
               .cluster = (int)prim_fact(p, "PLAN_CLUSTER")};
  s.blocks = (int)prim_fact(p, "PLAN_CAPACITY_ROWS") / s.padding;
  const size_t routes = (size_t)(s.tokens * s.top_k), experts = (size_t)s.experts + 1;
  for (int r = 0; r < p->rank_count; r++) {
    mok_rank_args *args = &p->ranks[r];
    s.ids[r] = prim_host_memory(routes * 4, 0);
    s.x[r] = prim_host_memory((size_t)(s.tokens * s.hidden) * 2, 0);
    s.offsets[r] = prim_host_memory(experts * 4, 0);
    s.list[r] = prim_host_memory(routes * 4, 0);
    args->topk_ids = prim_memory(p, routes * 4, 0);
    args->topk_weights = prim_memory(p, routes * 4, 0);
    args->shared_gate.base = args->out = prim_memory(p, (size_t)(s.tokens * s.hidden) * 2, 0);
    args->gate.base = prim_memory(p, sizeof(int), 0);
    args->shared_up.base = prim_memory(p, (ROUTE_MOST_CTAS + (size_t)s.blocks * ROUTE_TASK_WORDS) * sizeof(int), 0);
  }
  tables t = {.base = prim_host_memory(experts * 4, 0),
              .rows = prim_host_memory(experts * 4, 0),
              .block_expert = prim_host_memory((size_t)s.blocks * 4, 0),
              .source = prim_host_memory((size_t)(s.blocks * s.padding) * 8, 0)};
  const int counts[][2] = {{s.tokens, s.tokens}, {1, 0}, {s.tokens - 1, s.padding + 1}, {s.tokens, s.tokens + 1}, {-1, 7}};
  p->races = true;
  for (s.pattern = 0; s.pattern < PATTERNS; s.pattern++)
    for (int i = 0; i < 5; i++) {
      for (int r = 0; r < p->rank_count; r++) s.count[r] = counts[i][r % 2];
      p->seed = (uint64_t)((s.pattern + i) % p->machine->schedules);
      run_case(p, &s, &t, (s.pattern + i) % 3);
    }
  for (int r = 0; r < p->rank_count; r++) {
    free(s.ids[r]);
    free(s.x[r]);
    free(s.offsets[r]);
    free(s.list[r]);
  }
  free(t.base);
  free(t.rows);
  free(t.block_expert);
  free(t.source);
}
