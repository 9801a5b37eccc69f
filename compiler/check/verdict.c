/* Findings of a run in words; and what is wrong at the end of a group: instances that are stuck, counters that are short. */
#include "engine.h"

const char *check_agent_text(const check_run *run, const check_agent *agent) {
  const check_task *task = &agent->worker->tasks[agent->task];
  mok_buf out = mok_buf_make(run->c->arena);
  mok_buf_printf(&out, "rank %lld, %s.%s CTA %d", (long long)run->rank, agent->worker->role->name, agent->worker->worker->name,
                 (int)agent->cta);
  if (agent->worker->instances > 1) mok_buf_printf(&out, " instance %d", (int)agent->instance);
  mok_buf_printf(&out, ", task %s", task->task->name);
  if (task->has_base)
    mok_buf_printf(&out, " of %s %lld, tile %d", mok_ir_base_name(task->base), (long long)agent->block, (int)agent->second);
  return out.data;
}

const char *check_launch_text(const check_run *run) {
  return mok_arena_printf(
      run->c->arena, "%s%slaunch %zu, %lld tokens and %lld row blocks on the rank, ring of %lld slots, minibatches of %lld",
      run->which->when ? run->which->when : "", run->which->when ? ", " : "", run->launch + 1, (long long)run->tokens,
      (long long)run->row_blocks, (long long)run->ring_slots, (long long)run->minibatch_blocks);
}

void check_report(check_run *run, const check_agent *agent, const check_op *op, mok_check_kind kind, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(run->c->arena, fmt, args);
  va_end(args);
  check_find(run->c, kind, op->op, op->op->loc, check_launch_text(run), "%s: `%s` %s", check_agent_text(run, agent),
             mok_check_op_text(run->c->arena, op->op), text);
}

static const char *waits_text(const check_run *run, const check_agent *a) {
  const check_op *op = &a->worker->tasks[a->task].ops[a->op];
  if (a->state == CHECK_AT_PIPE)
    return mok_arena_printf(run->c->arena, "%s waits in `%s` for the other side of the pipeline", check_agent_text(run, a),
                            mok_check_op_text(run->c->arena, op->op));
  return mok_arena_printf(run->c->arena, "%s waits in `%s` until @%s[%lld] is %lld, it is %u", check_agent_text(run, a),
                          mok_check_op_text(run->c->arena, op->op), op->op->counter->name,
                          (long long)(a->word - op->op->counter->word), (long long)op->op->target.value,
                          run->counts[run->launch % 2][a->word]);
}

/* Place of an instance's task in the global order of the rank's tasks; pipelines last, since they only follow. */
static int64_t place_in_order(const check_run *run, const check_agent *a) {
  const mok_ir_task *task = a->worker->tasks[a->task].task;
  const bool behind = a->worker->phase->ahead_count > 0 && !task->ahead;
  const int64_t round = task->per_minibatch ? 1 + a->block / run->minibatch_blocks + behind : 0;
  return (round << 40) + ((int64_t)task->order << 24) + a->block % (1 << 24) + (a->state == CHECK_AT_PIPE ? INT64_C(1) << 62 : 0);
}

/* One instance for each op at which some are stuck, by their tasks' order: a right wait names an earlier task, so the first is
 * the one to look at. */
void check_deadlock(check_run *run) {
  enum { SHOWN = 6 };
  const check_agent *shown[SHOWN + 1];
  int32_t stuck = 0, count = 0;
  for (int32_t i = 0; i < run->agent_count; ++i) {
    const check_agent *a = &run->agents[i];
    if (a->state != CHECK_AT_COUNTER && a->state != CHECK_AT_PIPE) continue;
    ++stuck;
    int32_t k = 0;
    while (k < count && (shown[k]->worker != a->worker || shown[k]->task != a->task || shown[k]->op != a->op)) ++k;
    if (k < count && place_in_order(run, shown[k]) <= place_in_order(run, a)) continue;
    if (k == count) ++count;
    for (; k > 0 && place_in_order(run, shown[k - 1]) > place_in_order(run, a); --k) shown[k] = shown[k - 1];
    shown[k] = a;
    if (count > SHOWN) count = SHOWN;
  }
  if (stuck == 0) return;
  mok_buf text = mok_buf_make(run->c->arena);
  for (int32_t i = 0; i < count; ++i) mok_buf_printf(&text, "%s%s", i ? "; " : "", waits_text(run, shown[i]));
  const check_agent *first = shown[0];
  check_find(run->c, MOK_CHECK_DEADLOCK, run->group, first->worker->tasks[first->task].ops[first->op].op->loc,
             check_launch_text(run), "%d of %d worker instances are stuck, first in the global order: %s", (int)stuck,
             (int)run->agent_count, text.data);
}

/* Every word of a counter that this group signals has come to its target, and no word beyond the launch's blocks was touched. */
void check_counters(check_run *run) {
  const check_group *g = run->group;
  for (int w = 0; w < g->worker_count; ++w)
    for (int t = 0; t < g->workers[w].task_count; ++t)
      for (int o = 0; o < g->workers[w].tasks[t].op_count; ++o) {
        const mok_ir_op *op = g->workers[w].tasks[t].ops[o].op;
        if (op->kind != MOK_IR_SIGNAL) continue;
        const int64_t blocks = check_blocks(run, op->counter->per);
        for (int64_t i = 0; i < blocks && i < op->counter->words; ++i) {
          const uint32_t seen = run->counts[run->launch % 2][op->counter->word + i];
          if ((int64_t)seen >= op->counter->target.value) continue;
          check_find(run->c, MOK_CHECK_SHORT, op->counter, op->loc, check_launch_text(run),
                     "rank %lld: @%s[%lld] ends at %u, its target is %lld", (long long)run->rank, op->counter->name, (long long)i,
                     seen, (long long)op->counter->target.value);
          break;
        }
      }
}
