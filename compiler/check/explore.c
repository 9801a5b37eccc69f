/* Which configurations a seed stands for. */
#include <string.h>

#include "check_impl.h"

enum {
  LAUNCHES = 3,           /* both counter sets, and one of them used again */
  FIRST_BUDGET = 8000000, /* tiles of the first case, the one nearest to the plan's capacity */
  BUDGET = 600000,        /* tiles of every other */
  CLOCK_BYTES = 128 << 20 /* of a rank's counter words */
};

/* splitmix64: the same numbers on every machine. */
static uint64_t draw(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
static int64_t below(uint64_t *state, int64_t bound) { return bound > 1 ? (int64_t)(draw(state) % (uint64_t)bound) : 0; }
static int64_t between(uint64_t *state, int64_t least, int64_t most) { return least + below(state, most - least + 1); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- schedules ---- */

typedef enum schedule_kind { OLDEST_FIRST, ANY_STEP, NEWEST_TO_END, ANY_TO_END, NUM_SCHEDULES } schedule_kind;
typedef struct schedule {
  schedule_kind kind;
  uint64_t random;
} schedule;

static size_t pick(void *user, const int32_t *ready, size_t count, int *burst) {
  (void)ready;
  schedule *s = user;
  const bool to_end = s->kind == NEWEST_TO_END || s->kind == ANY_TO_END;
  *burst = to_end ? INT32_MAX : 1;
  if (s->kind == OLDEST_FIRST) return 0;
  return s->kind == NEWEST_TO_END ? count - 1 : (size_t)below(&s->random, (int64_t)count);
}

/* ---- routings ---- */

typedef enum routing_kind { UNIFORM, SKEWED, MASKED, ONE_EXPERT, NOWHERE, NUM_ROUTINGS } routing_kind;

static void route(const mok_model *m, routing_kind kind, uint64_t *random, const int64_t *tokens, int64_t *rows) {
  memset(rows, 0, (size_t)m->experts * sizeof *rows);
  int64_t routes = 0;
  for (int64_t r = 0; r < m->gpus; ++r) routes += tokens[r] * m->top_k;
  switch (kind) {
    case ONE_EXPERT:
      rows[below(random, m->experts)] = routes;
      return;
    case NOWHERE:
    case NUM_ROUTINGS:
      return;
    case UNIFORM:
      for (int64_t i = 0; i < routes; ++i) ++rows[below(random, m->experts)];
      return;
    case MASKED:
      for (int64_t i = 0; i < routes; ++i)
        if (draw(random) & 1) ++rows[below(random, m->experts)];
      return;
    case SKEWED: /* the smallest of three: the first experts get most */
      for (int64_t i = 0; i < routes; ++i)
        ++rows[smaller(below(random, m->experts), smaller(below(random, m->experts), below(random, m->experts)))];
      return;
  }
}

/* ---- sizes ---- */

typedef struct load_facts {
  int64_t tiles_per_block, instances, gates;
} load_facts;

static load_facts facts_of(const mok_checker *c) {
  load_facts f = {0, 0, 0};
  for (int g = 0; g < c->group_count; ++g) {
    int64_t instances = 0;
    for (int w = 0; w < c->groups[g].worker_count; ++w) {
      const check_worker *worker = &c->groups[g].workers[w];
      instances += worker->plan_ctas * worker->instances;
      for (int t = 0; t < worker->task_count; ++t)
        if (worker->tasks[t].has_base && worker->tasks[t].base == MOK_IR_ROW_BLOCK)
          f.tiles_per_block += worker->tasks[t].extent * worker->share;
    }
    if (c->groups[g].gate_count > 0 && instances > f.instances) f.instances = instances;
    f.gates += c->groups[g].gate_count;
  }
  if (f.tiles_per_block < 1) f.tiles_per_block = 1;
  return f;
}

static int64_t blocks_of(const mok_checker *c, const int64_t *rows, int64_t *most) {
  const mok_model *m = c->plan->model;
  int64_t total = 0;
  *most = 0;
  for (int64_t r = 0; r < m->gpus; ++r) {
    int64_t blocks = 0;
    for (int64_t e = mok_first_expert(m, r); e < mok_first_expert(m, r + 1); ++e)
      blocks += (rows[e] + c->plan->row_padding - 1) / c->plan->row_padding;
    total += blocks;
    if (blocks > *most) *most = blocks;
  }
  return total;
}

/* Tokens of a rank that make about `blocks` row blocks for a rank under even routing. */
static int64_t tokens_for(const mok_checker *c, int64_t blocks) {
  const mok_model *m = c->plan->model;
  const int64_t padding = mok_local_experts_max(m) / 2, rows = (blocks > padding ? blocks - padding : 1) * c->plan->row_padding;
  return smaller(rows / m->top_k + 1, m->tokens_per_gpu);
}

static void spread_tokens(const mok_checker *c, uint64_t *random, int launch, int64_t most, int64_t *tokens) {
  for (int64_t r = 0; r < c->plan->model->gpus; ++r) {
    if (launch == 0) tokens[r] = most; /* as large as the budget allows */
    else if (launch == 2) tokens[r] = between(random, 0, most);
    else
      tokens[r] =
          below(random, 3) == 0 ? smaller(below(random, 2), most) : between(random, 0, most); /* some ranks with none or one */
  }
}

typedef struct exploration {
  mok_checker *c;
  const mok_check_options *options;
  mok_check_coverage *coverage;
  load_facts facts;
  int64_t *tokens[LAUNCHES], *rows[LAUNCHES];
} exploration;

/* Sizes and routing of one launch, halved until they fit the budget. */
static mok_status make_launch(exploration *x, uint64_t number, int launch, int64_t ring, uint64_t *random) {
  const mok_checker *c = x->c;
  const mok_model *m = c->plan->model;
  const int64_t budget = number == 0 && launch == 0 ? FIRST_BUDGET : BUDGET;
  const int64_t affordable = budget / (x->facts.tiles_per_block * m->gpus) + 1;
  const int64_t wanted = number == 0 && launch == 0 ? affordable : smaller(affordable, 3 * ring + 2);
  const routing_kind kind = number == 0 && launch == 0 ? UNIFORM : (routing_kind)((number + 2 * (uint64_t)launch) % NUM_ROUTINGS);
  const bool given = x->options->tokens && launch != 1;
  int64_t most = tokens_for(c, wanted);
  if (x->options->tokens) most = smaller(most, m->tokens_per_gpu);
  for (;; most /= 2) {
    if (given) memcpy(x->tokens[launch], x->options->tokens, (size_t)m->gpus * sizeof(int64_t));
    else spread_tokens(c, random, launch, most, x->tokens[launch]);
    if (x->options->route) MOK_TRY(x->options->route(x->options->route_user, draw(random), x->tokens[launch], x->rows[launch]));
    else route(m, kind, random, x->tokens[launch], x->rows[launch]);
    int64_t largest;
    const int64_t total = blocks_of(c, x->rows[launch], &largest);
    if (given || most <= 1) return MOK_OK;
    const bool fits = largest * x->facts.gates * x->facts.instances * (int64_t)sizeof(check_clock) <= CLOCK_BYTES;
    if (fits && total * x->facts.tiles_per_block <= 2 * budget) return MOK_OK;
  }
}

/* Minibatches that the shortest ring has: where tasks run a minibatch ahead, theirs and the one before. */
static int64_t least_minibatches(const mok_checker *c) {
  int64_t least = 1;
  for (size_t p = 0; p < c->view->phase_count; ++p)
    if (c->view->phases[p].ahead_count > 0) least = 2;
  return least;
}

/* Ring and CTAs by turns: the plan's; one slot a minibatch; a few slots and CTAs; anything up to the plan's; the plan's
 * minibatch, its ring as short as can be. */
static void choose_ring(const mok_checker *c, uint64_t number, uint64_t *random, mok_check_case *out) {
  const int64_t blocks = c->minibatch_blocks, slots = c->plan->ring_slots, least = least_minibatches(c);
  const int64_t unit = c->plan->cluster; /* a minibatch is whole clusters' blocks */
  int64_t ctas = 1;
  for (int g = 0; g < c->group_count; ++g)
    for (int w = 0; w < c->groups[g].worker_count; ++w)
      if (c->groups[g].workers[w].plan_ctas > ctas) ctas = c->groups[g].workers[w].plan_ctas;
  switch (number % 5) {
    case 0:
      return;
    case 1:
      out->minibatch_blocks = unit;
      out->ring_slots = least * unit;
      return;
    case 2:
      out->minibatch_blocks = smaller(2 * unit, blocks);
      out->ring_slots = between(random, least * out->minibatch_blocks, 2 * out->minibatch_blocks + 1);
      out->cta_limit = between(random, 1, smaller(4, ctas));
      return;
    case 3:
      out->minibatch_blocks = unit * between(random, 1, blocks / unit);
      const int64_t shortest = least * out->minibatch_blocks;
      out->ring_slots = between(random, shortest, slots > shortest ? slots : shortest);
      out->cta_limit = between(random, 1, ctas);
      return;
    default:
      out->ring_slots = smaller(least * blocks, slots);
      return;
  }
}

static void cover(exploration *x, const mok_check_case *which) {
  mok_check_coverage *coverage = x->coverage;
  const int64_t ring = which->ring_slots > 0 ? which->ring_slots : x->c->plan->ring_slots;
  if (coverage->seeds == 0) {
    coverage->ring_least = coverage->ring_most = ring;
    coverage->tokens_least = coverage->tokens_most = x->tokens[0][0];
  }
  if (ring < coverage->ring_least) coverage->ring_least = ring;
  if (ring > coverage->ring_most) coverage->ring_most = ring;
  for (int l = 0; l < LAUNCHES; ++l) {
    int64_t most;
    blocks_of(x->c, x->rows[l], &most);
    if (most > coverage->blocks_most) coverage->blocks_most = most;
    for (int64_t r = 0; r < x->c->plan->model->gpus; ++r) {
      if (x->tokens[l][r] < coverage->tokens_least) coverage->tokens_least = x->tokens[l][r];
      if (x->tokens[l][r] > coverage->tokens_most) coverage->tokens_most = x->tokens[l][r];
    }
  }
  ++coverage->seeds;
}

mok_status mok_check_explore(mok_checker *c, const mok_check_options *options, mok_check_coverage *coverage) {
  *coverage = (mok_check_coverage){.seeds = 0};
  const mok_model *m = c->plan->model;
  exploration x = {.c = c, .options = options, .coverage = coverage, .facts = facts_of(c)};
  for (int l = 0; l < LAUNCHES; ++l) {
    x.tokens[l] = MOK_NEW_ARRAY(c->arena, (size_t)m->gpus, int64_t);
    x.rows[l] = MOK_NEW_ARRAY(c->arena, (size_t)m->experts, int64_t);
  }
  for (int64_t i = 0; i < options->seeds && c->finding_count == 0; ++i) {
    const uint64_t seed = options->first_seed + (uint64_t)i;
    const uint64_t number = seed - 1; /* seed 1 is the plan's own case; a seed means the same whatever ran before */
    uint64_t random = seed * 0x2545f4914f6cdd1dull + 1;
    schedule order = {.kind = (schedule_kind)(number % NUM_SCHEDULES), .random = draw(&random)};
    const mok_check_chooser chooser = {.user = &order, .pick = pick};
    mok_check_launch launches[LAUNCHES];
    mok_check_case which = {.launches = launches, .launch_count = LAUNCHES, .chooser = &chooser};
    choose_ring(c, number, &random, &which);
    which.when = mok_arena_printf(c->arena, "seed %llu", (unsigned long long)seed);
    for (int l = 0; l < LAUNCHES; ++l) {
      MOK_TRY(make_launch(&x, number, l, which.ring_slots > 0 ? which.ring_slots : c->plan->ring_slots, &random));
      launches[l] = (mok_check_launch){x.tokens[l], x.rows[l]};
    }
    MOK_TRY(mok_checker_run(c, &which, &coverage->totals));
    cover(&x, &which);
    if (options->poll) MOK_TRY(options->poll());
  }
  return MOK_OK;
}
