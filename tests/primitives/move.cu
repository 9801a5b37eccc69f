/* Rows moved between ranks: tasks as the launch's words list them, pulled by one half of a CTA's warps, pushed by the other. */
#include "mok_target.h"

#include "cases.h"

MOK_FN mok_task task(const mok_cta *c, mok_index i) {
  const int *words = (const int *)c->args->shared_down.base;
  if (i >= words[WORD_TASKS]) return mok_no_task();
  words += WORD_FIRST_TASK + i * MOVE_TASK_WORDS;
  const mok_task t = {0, 0, words[MOVE_ROW_BLOCK], words[MOVE_SLOT], 0, words[MOVE_ROWS], words[MOVE_PIECE]};
  return t;
}

MOK_WORKER void pull(mok_cta *c) {
  for (mok_index i = mok_first(c);; i += mok_stride(c)) {
    const mok_task t = task(c, i);
    if (t.kind == MOK_TASK_END) break;
    mok_pull_rows(c, &t);
  }
}

MOK_WORKER void push(mok_cta *c) {
  for (mok_index i = mok_first(c);; i += mok_stride(c)) {
    const mok_task t = task(c, i);
    if (t.kind == MOK_TASK_END) break;
    mok_push_rows(c, &t);
  }
}

MOK_KERNEL void mok_forward(const MOK_GRID_CONSTANT mok_args args) {
  mok_cta cta = mok_enter(&args);
  mok_cta *c = &cta;
  mok_spawn<0, 1, PLAN_PULL_WARPS>(c, pull);
  mok_spawn<PLAN_PULL_WARPS, 1, PLAN_PUSH_WARPS>(c, push);
  mok_join(c);
  mok_rank_barrier(c, 0);
  mok_leave(c);
}
