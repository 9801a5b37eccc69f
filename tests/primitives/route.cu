/* From expert ids to the table of row sources, and the tasks that follow from it. */
#include "mok_target.h"

#include "cases.h"

MOK_WORKER void publish(mok_cta *c) {
  mok_sort_routes(c);
  mok_publish_tokens(c);
}

MOK_WORKER void place_experts(mok_cta *c) { mok_place_experts(c); }

MOK_WORKER void place_rows(mok_cta *c) { mok_place_rows(c); }

MOK_FN void answer(mok_cta *c) {
  int *words = (int *)c->args->shared_up.base;
  words[c->cta] = c->row_blocks;
  if (c->cta != 0) return;
  words += ROUTE_MOST_CTAS;
  for (int block = 0; block < c->row_blocks; ++block, words += ROUTE_TASK_WORDS) {
    const mok_task t = mok_row_task(c, 1, 2, block, 3);
    const int fields[] = {t.kind, t.minibatch, t.row_block, t.slot, t.expert, t.rows, t.column, 0};
    for (int i = 0; i < ROUTE_TASK_WORDS; ++i) words[i] = fields[i];
  }
}

MOK_KERNEL void mok_forward(const MOK_GRID_CONSTANT mok_args args) {
  mok_cta cta = mok_enter(&args);
  mok_cta *c = &cta;
  mok_spawn<0, PLAN_WARPS, 1>(c, publish);
  mok_join(c);
  mok_rank_barrier(c, 0);
  mok_spawn<0, PLAN_WARPS, 1>(c, place_experts);
  mok_join(c);
  mok_grid_barrier(c);
  mok_spawn<0, PLAN_WARPS, 1>(c, place_rows);
  mok_join(c);
  mok_grid_barrier(c);
  mok_read_routing(c);
  mok_join(c);
  answer(c);
  mok_leave(c);
}
