/* Which tile a worker instance has next: the loops and the work sharing of mok_common.h. */
#include "engine.h"

int64_t check_blocks(const check_run *run, mok_ir_base base) {
  return base == MOK_IR_ROW_BLOCK ? run->row_blocks : run->token_blocks;
}

static int64_t blocks_in_minibatch(const check_run *run, int64_t minibatch) {
  const int64_t left = run->row_blocks - minibatch * run->minibatch_blocks;
  return left < run->minibatch_blocks ? (left > 0 ? left : 0) : run->minibatch_blocks;
}

/* Task indices of a task, of one minibatch where its turn comes once per minibatch. */
static int64_t part_size(const check_run *run, const check_task *task, int64_t minibatch) {
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
  return task->extent * (task->task->per_minibatch ? blocks_in_minibatch(run, minibatch) : check_blocks(run, task->base));
}

static void decode(const check_run *run, check_agent *a, const check_task *task) {
  if (!task->has_base) {
    a->block = 0;
    a->second = 0;
    return;
  }
  const bool part = task->task->per_minibatch;
  const int64_t blocks = part ? blocks_in_minibatch(run, a->minibatch) : check_blocks(run, task->base);
  const int64_t first = part ? a->minibatch * run->minibatch_blocks : 0;
  a->block = first + (task->task->blocks_inner ? a->at % blocks : a->at / task->extent);
  a->second = (int32_t)(task->task->blocks_inner ? a->at / blocks : a->at % task->extent);
}

static int64_t stride_of(const check_worker *w) { return w->worker->shares_cta ? w->ctas : w->ctas * w->instances; }

/* Leaves the part of the current task; false: no task is left. */
static bool next_part(const check_run *run, check_agent *a) {
  const check_worker *w = a->worker;
  if (++a->task < w->once_count) return true;
  if (a->task == w->task_count) {
    if (w->once_count == w->task_count) return false;
    a->task = w->once_count;
    ++a->minibatch;
  }
  return a->minibatch * run->minibatch_blocks < run->row_blocks;
}

static bool find_tile(const check_run *run, check_agent *a) {
  while (true) {
    const check_task *task = &a->worker->tasks[a->task];
    const int64_t size = part_size(run, task, a->minibatch);
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
  a->at = w->worker->shares_cta ? a->cta : (int64_t)a->instance * w->ctas + a->cta;
  if (w->once_count == 0 && run->row_blocks == 0) return false;
  return find_tile(run, a);
}

bool check_next_tile(const check_run *run, check_agent *a) {
  if (a->worker->tasks[a->task].task->space == MOK_IR_ONCE) return next_part(run, a) && find_tile(run, a);
  a->at += stride_of(a->worker);
  return find_tile(run, a);
}
