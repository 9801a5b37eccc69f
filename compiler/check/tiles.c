/* Which tile a worker instance has next: the loops and the work sharing of mok_common.h. */
#include "engine.h"

int64_t check_blocks(const check_run *run, mok_ir_base base) {
  return base == MOK_IR_ROW_BLOCK ? run->row_blocks : run->token_blocks;
}

static int64_t blocks_in_minibatch(const check_run *run, int64_t minibatch) {
  if (minibatch < 0) return 0;
  const int64_t left = run->row_blocks - minibatch * run->minibatch_blocks;
  return left < run->minibatch_blocks ? (left > 0 ? left : 0) : run->minibatch_blocks;
}

/* In a round the tasks that run ahead are at one minibatch, the others at the one before; -1: not begun. */
static int64_t minibatch_of(const check_agent *a, const check_task *task) {
  return a->round - (a->worker->phase->ahead_count > 0 && !task->task->ahead);
}

/* Task indices of a task, of one minibatch where its turn comes once per minibatch. */
static int64_t part_size(const check_run *run, const check_worker *w, const check_task *task, int64_t minibatch) {
  switch (task->task->space) {
    case MOK_IR_ONCE:
      return INT64_MAX; /* one call for every instance */
    case MOK_IR_TOKEN:
      return run->tokens;
    case MOK_IR_ROW_BLOCK_COLUMN:
    case MOK_IR_ROW_BLOCK_PIECE:
    case MOK_IR_TOKEN_BLOCK_COLUMN:
      break;
  }
  const int64_t blocks = task->task->per_minibatch ? blocks_in_minibatch(run, minibatch) : check_blocks(run, task->base);
  return task->extent * blocks / (task->task->blocks_inner ? w->cluster : 1);
}

static void decode(const check_run *run, check_agent *a, const check_task *task) {
  if (!task->has_base) {
    a->block = 0;
    a->second = 0;
    return;
  }
  const bool part = task->task->per_minibatch;
  const int64_t minibatch = minibatch_of(a, task);
  const int64_t blocks = part ? blocks_in_minibatch(run, minibatch) : check_blocks(run, task->base);
  const int64_t first = part ? minibatch * run->minibatch_blocks : 0;
  const int64_t cluster = a->worker->cluster, groups = blocks / cluster;
  a->block = first + (task->task->blocks_inner ? a->at % groups * cluster + a->cta % cluster : a->at / task->extent);
  a->second = (int32_t)(task->task->blocks_inner ? a->at / groups : a->at % task->extent);
}

static int64_t stride_of(const check_worker *w) { return w->worker->shares_cta ? w->ctas / w->cluster : w->ctas * w->instances; }

/* Leaves the part of the current task; false: no task is left. */
static bool next_part(const check_run *run, check_agent *a) {
  const check_worker *w = a->worker;
  if (++a->task < w->once_count) return true;
  if (a->task == w->task_count) {
    if (w->once_count == w->task_count) return false;
    a->task = w->once_count;
    ++a->round;
  }
  return (a->round - (w->phase->ahead_count > 0)) * run->minibatch_blocks < run->row_blocks;
}

static bool find_tile(const check_run *run, check_agent *a) {
  while (true) {
    const check_task *task = &a->worker->tasks[a->task];
    const int64_t size = part_size(run, a->worker, task, minibatch_of(a, task));
    if (a->at < size) {
      decode(run, a, task);
      return true;
    }
    a->at -= size;
    if (!next_part(run, a)) return false;
  }
}

bool check_first_tile(const check_run *run, check_agent *a) {
  const check_worker *w = a->worker;
  if (w->task_count == 0) return false;
  a->at = w->worker->shares_cta ? a->cta / w->cluster : (int64_t)a->instance * w->ctas + a->cta;
  if (w->once_count == 0 && run->row_blocks == 0) return false;
  return find_tile(run, a);
}

bool check_next_tile(const check_run *run, check_agent *a) {
  if (a->worker->tasks[a->task].task->space == MOK_IR_ONCE) return next_part(run, a) && find_tile(run, a);
  a->at += stride_of(a->worker);
  return find_tile(run, a);
}
