/* Groups of a launch, launches of a rank, ranks of a case. */
#include <string.h>

#include "engine.h"

/* Nothing that a run could find: no counters, and no region that blocks pass through. */
static bool is_plain(const check_group *g) {
  if (g->track_count > 0 || g->gate_count > 0) return false;
  for (int w = 0; w < g->worker_count; ++w)
    for (int t = 0; t < g->workers[w].task_count; ++t)
      for (int o = 0; o < g->workers[w].tasks[t].op_count; ++o) {
        const mok_ir_op_kind kind = g->workers[w].tasks[t].ops[o].op->kind;
        if (kind == MOK_IR_SIGNAL || mok_ir_loads(kind) || kind == MOK_IR_MMA) return false;
      }
  return true;
}

static mok_status run_group(check_run *run, check_group *group) {
  run->group = group;
  if (is_plain(group)) return MOK_OK;
  MOK_TRY(check_make_group(run));
  while (run->ready_end > run->ready_first) {
    int burst = 1;
    check_agent *a = check_take_ready(run, &burst);
    check_run_agent(run, a, burst > 0 ? burst : 1);
    if (run->c->finding_count == CHECK_MAX_FINDINGS) return MOK_OK;
  }
  const size_t before = run->c->finding_count;
  check_deadlock(run);
  if (run->c->finding_count == before) check_counters(run);
  return MOK_OK;
}

/* A cluster's CTAs have a block each; the last one may be empty. */
static int64_t whole_clusters(const mok_plan *plan, int64_t blocks) {
  return (blocks + plan->cluster - 1) / plan->cluster * plan->cluster;
}

static int64_t row_blocks_of(const mok_plan *plan, const mok_check_launch *launch, int64_t rank) {
  int64_t blocks = 0;
  const int64_t first = mok_first_expert(plan->model, rank), count = mok_local_experts(plan->model, rank);
  for (int64_t e = first; e < first + count; ++e) blocks += (launch->expert_rows[e] + plan->row_padding - 1) / plan->row_padding;
  return whole_clusters(plan, blocks);
}

/* A rank's run depends on its sizes only. */
static bool alike(const mok_plan *plan, const mok_check_case *which, int64_t a, int64_t b) {
  for (size_t l = 0; l < which->launch_count; ++l)
    if (which->launches[l].tokens[a] != which->launches[l].tokens[b] ||
        row_blocks_of(plan, &which->launches[l], a) != row_blocks_of(plan, &which->launches[l], b))
      return false;
  return true;
}

static void begin_launch(check_run *run) {
  uint32_t *set = run->counts[run->launch % 2];
  for (size_t i = 0; i < run->c->view->counter_count; ++i) {
    const mok_ir_counter *counter = &run->c->view->counters[i];
    for (int64_t w = 0; w < counter->words; ++w) {
      if (set[counter->word + w] == 0) continue;
      check_find(run->c, MOK_CHECK_STALE, counter, run->c->view->loc, check_launch_text(run),
                 "rank %lld: @%s[%lld] is %u when the launch begins", (long long)run->rank, counter->name, (long long)w,
                 set[counter->word + w]);
      break;
    }
  }
  if (!run->which->keep_counters) memset(run->counts[(run->launch + 1) % 2], 0, (size_t)run->words * sizeof *set);
}

static mok_status run_rank(check_run *run, int64_t rank) {
  mok_checker *c = run->c;
  run->rank = rank;
  run->signals = 0;
  memset(run->counts[0], 0, (size_t)run->words * sizeof **run->counts);
  memset(run->counts[1], 0, (size_t)run->words * sizeof **run->counts);
  for (run->launch = 0; run->launch < run->which->launch_count; ++run->launch) {
    const mok_check_launch *launch = &run->which->launches[run->launch];
    run->tokens = launch->tokens[rank];
    run->token_blocks = whole_clusters(c->plan, (run->tokens + c->plan->row_padding - 1) / c->plan->row_padding);
    run->row_blocks = row_blocks_of(c->plan, launch, rank);
    const int64_t laps = (run->row_blocks + run->ring_slots - 1) / run->ring_slots;
    if (laps > run->totals->laps) run->totals->laps = laps;
    begin_launch(run);
    for (int g = 0; g < c->group_count; ++g) {
      const size_t before = c->finding_count;
      MOK_TRY(run_group(run, &c->groups[g]));
      if (c->finding_count > before) return MOK_OK; /* what follows would be noise */
    }
  }
  return MOK_OK;
}

mok_status mok_checker_run(mok_checker *c, const mok_check_case *which, mok_check_totals *totals) {
  if (!c->run) {
    c->run = MOK_NEW(c->arena, check_run);
    c->run->c = c;
    for (size_t i = 0; i < c->view->counter_count; ++i) {
      const int64_t end = c->view->counters[i].word + c->view->counters[i].words;
      if (end > c->run->words) c->run->words = end;
    }
  }
  check_run *run = c->run;
  run->which = which;
  run->totals = totals;
  run->ring_slots = which->ring_slots > 0 ? which->ring_slots : c->plan->ring_slots;
  run->minibatch_blocks = which->minibatch_blocks > 0 ? which->minibatch_blocks : c->minibatch_blocks;
  run->counts[0] = check_grow(run, &run->counts_buffer, 2 * (size_t)run->words, sizeof **run->counts);
  run->counts[1] = run->counts[0] + run->words;
  run->waiters = check_grow(run, &run->waiters_buffer, (size_t)run->words, sizeof *run->waiters);
  totals->launches += (int64_t)which->launch_count;
  for (int64_t rank = 0; rank < c->plan->model->gpus; ++rank) {
    bool done = false;
    for (int64_t before = 0; before < rank && !done; ++before) done = alike(c->plan, which, before, rank);
    if (done) continue;
    MOK_TRY(run_rank(run, rank));
    for (int64_t like = rank; like < c->plan->model->gpus; ++like)
      totals->signals += alike(c->plan, which, rank, like) ? run->signals : 0;
    if (c->finding_count > 0) return MOK_OK;
  }
  return MOK_OK;
}
