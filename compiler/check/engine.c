/* Runs worker instances op by op: who can go on, what an op needs and what it publishes. */
#include "engine.h"

#include <string.h>

/* ---- who can run ---- */

void check_make_ready(check_run *run, check_agent *a) {
  if (run->ready_end == run->ready_capacity) {
    run->ready_end -= run->ready_first;
    memmove(run->ready, run->ready + run->ready_first, run->ready_end * sizeof *run->ready);
    run->ready_first = 0;
  }
  a->state = CHECK_READY;
  run->ready[run->ready_end++] = a->number;
}

check_agent *check_take_ready(check_run *run, int *burst) {
  const mok_check_chooser *chooser = run->which->chooser;
  const size_t count = run->ready_end - run->ready_first;
  const size_t i = chooser ? chooser->pick(chooser->user, run->ready + run->ready_first, count, burst) : 0;
  check_agent *a = &run->agents[run->ready[run->ready_first + i]];
  if (i == 0) ++run->ready_first;
  else run->ready[run->ready_first + i] = run->ready[--run->ready_end];
  return a;
}

static void wake_pipe(check_run *run, check_pipe *pipe) {
  for (int32_t n = pipe->first_waiter; n >= 0; n = run->agents[n].next_waiter) check_make_ready(run, &run->agents[n]);
  pipe->first_waiter = -1;
}

static bool at_pipe(check_pipe *pipe, check_agent *a) {
  a->state = CHECK_AT_PIPE;
  a->next_waiter = pipe->first_waiter;
  pipe->first_waiter = a->number;
  return false;
}

/* ---- clocks ---- */

static void join(check_clock *restrict into, const check_clock *restrict from, int32_t count) {
  for (int32_t i = 0; i < count; ++i) into[i] = into[i] > from[i] ? into[i] : from[i];
}

static void publish(check_run *run, check_agent *a) {
  check_clock_of(run, a->number)[a->number] = a->clock;
  ++a->clock;
}

/* ---- ops; false: the agent cannot go on yet ---- */

/* Word that a wait or signal means, -1 with a finding if there is none. */
static int64_t word_of(check_run *run, const check_agent *a, const check_op *op, int64_t lag) {
  const check_task *task = &a->worker->tasks[a->task];
  const mok_ir_counter *counter = op->op->counter;
  if (!task->has_base || task->base != op->op->index.base) {
    check_report(run, a, op, MOK_CHECK_INDEX, "indexes by %s, which the task does not have",
                 mok_ir_base_name(op->op->index.base));
    return -1;
  }
  const int64_t index = a->block - lag;
  if (index < 0 || index >= counter->words) {
    check_report(run, a, op, MOK_CHECK_INDEX, "means word %lld of @%s, which has %lld", (long long)index, counter->name,
                 (long long)counter->words);
    return -1;
  }
  return counter->word + index;
}

static check_clock *gate_clock(const check_run *run, const check_gate *gate, int64_t word) {
  return run->gates + gate->offset + (size_t)(word - gate->counter->word) * (size_t)run->agent_count;
}

static bool run_wait(check_run *run, check_agent *a, const check_op *op) {
  if (op->op->lap && a->block < op->lag) return true;
  const int64_t word = word_of(run, a, op, op->lag);
  if (word < 0) return true;
  const uint32_t seen = run->counts[run->launch % 2][word];
  if ((int64_t)seen < op->op->target.value) {
    a->state = CHECK_AT_COUNTER;
    a->word = word;
    a->next_waiter = run->waiters[word];
    run->waiters[word] = a->number;
    return false;
  }
  if (word - op->gate->counter->word < check_blocks(run, op->gate->counter->per))
    join(check_clock_of(run, a->number), gate_clock(run, op->gate, word), run->agent_count);
  return true;
}

static bool run_signal(check_run *run, check_agent *a, const check_op *op) {
  publish(run, a);
  const int64_t word = word_of(run, a, op, 0);
  if (word < 0) return true;
  const mok_ir_counter *counter = op->op->counter;
  const uint32_t seen = ++run->counts[run->launch % 2][word];
  ++run->signals;
  if ((int64_t)seen > counter->target.value)
    check_report(run, a, op, MOK_CHECK_PASSED, "makes it %u, its target is %lld", seen, (long long)counter->target.value);
  for (int g = 0; g < run->group->gate_count; ++g) {
    const check_gate *gate = &run->group->gates[g];
    if (gate->counter == counter && (int64_t)seen <= gate->target && word - counter->word < check_blocks(run, counter->per))
      join(gate_clock(run, gate, word), check_clock_of(run, a->number), run->agent_count);
  }
  int32_t *link = &run->waiters[word];
  while (*link >= 0) {
    check_agent *waiting = &run->agents[*link];
    const check_op *wait = &waiting->worker->tasks[waiting->task].ops[waiting->op];
    if ((int64_t)seen < wait->op->target.value) {
      link = &waiting->next_waiter;
      continue;
    }
    *link = waiting->next_waiter;
    check_make_ready(run, waiting);
  }
  return true;
}

/* All multiplying instances of the CTA have come as far as to free the stages that a tile ending at `end` needs. */
static bool stages_free(const check_run *run, int32_t pipe, int64_t end, int64_t stages) {
  if (run->slots == 0) return false;
  for (int32_t s = 0; s < run->slots; ++s)
    if (run->started[(size_t)pipe * (size_t)run->slots + (size_t)s] + stages < end) return false;
  return true;
}

static bool run_load(check_run *run, check_agent *a, const check_op *op) {
  check_pipe *pipe = &run->pipes[a->pipe];
  if (!a->entered) {
    const size_t slot = (size_t)a->pipe * (size_t)run->depth + (size_t)(a->sequence % run->depth);
    a->entered = true;
    a->stages_end += op->k_tiles;
    check_accesses(run, a, op);
    publish(run, a);
    memcpy(run->handed + slot * (size_t)run->agent_count, check_clock_of(run, a->number),
           (size_t)run->agent_count * sizeof(check_clock));
    run->tiles[slot] = (check_tile){op->op->product, a->block, a->second};
    pipe->loads = ++a->sequence;
    wake_pipe(run, pipe);
  }
  return stages_free(run, a->pipe, a->stages_end, op->op->product->stages) || at_pipe(pipe, a);
}

static bool run_mma(check_run *run, check_agent *a, const check_op *op) {
  check_pipe *pipe = &run->pipes[a->pipe];
  if (!a->entered) {
    a->entered = true;
    a->stages_end += op->k_tiles;
    run->started[(size_t)a->pipe * (size_t)run->slots + (size_t)a->pipe_slot] = a->stages_end;
    wake_pipe(run, pipe);
  }
  if (pipe->loads <= a->sequence || !stages_free(run, a->pipe, a->stages_end, op->op->product->stages)) return at_pipe(pipe, a);
  const size_t slot = (size_t)a->pipe * (size_t)run->depth + (size_t)(a->sequence % run->depth);
  const check_tile *tile = &run->tiles[slot];
  if (tile->product != op->op->product || tile->block != a->block || tile->second != a->second)
    check_report(run, a, op, MOK_CHECK_PIPELINE, "gets the tile of @%s, block %lld, tile %d from the loading worker",
                 tile->product->name, (long long)tile->block, (int)tile->second);
  join(check_clock_of(run, a->number), run->handed + slot * (size_t)run->agent_count, run->agent_count);
  ++a->sequence;
  return true;
}

static bool run_op(check_run *run, check_agent *a, const check_op *op) {
  switch (op->op->kind) {
    case MOK_IR_WAIT:
      return run_wait(run, a, op);
    case MOK_IR_SIGNAL:
      return run_signal(run, a, op);
    case MOK_IR_LOAD:
    case MOK_IR_LOAD_GATHERED:
      return run_load(run, a, op);
    case MOK_IR_MMA:
      return run_mma(run, a, op);
    default: /* touches memory and nothing else */
      check_accesses(run, a, op);
      return true;
  }
}

void check_run_agent(check_run *run, check_agent *a, int burst) {
  const mok_check_chooser *chooser = run->which->chooser;
  for (; burst > 0; --burst) {
    const check_task *task = &a->worker->tasks[a->task];
    if (a->op < task->op_count) {
      const check_op *op = &task->ops[a->op];
      if (!run_op(run, a, op)) return;
      if (chooser && chooser->ran) chooser->ran(chooser->user, a->number, op->op);
      a->entered = false;
      ++a->op;
    }
    if (a->op < task->op_count) continue;
    ++run->totals->tasks;
    a->op = 0;
    if (!check_next_tile(run, a)) {
      a->state = CHECK_DONE;
      return;
    }
  }
  check_make_ready(run, a);
}
