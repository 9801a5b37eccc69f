/* The sum over a token's slots. */
#include "mok_target.h"

#include "cases.h"

MOK_WORKER void reduce_tokens(mok_cta *c) {
  for (mok_index token = mok_first(c); token < c->tokens; token += mok_stride(c)) mok_reduce_token(c, (int)token);
}

MOK_KERNEL void mok_forward(const MOK_GRID_CONSTANT mok_args args) {
  mok_cta cta = mok_enter(&args);
  mok_cta *c = &cta;
  mok_spawn<0, 1, PLAN_WARPS>(c, reduce_tokens);
  mok_join(c);
  mok_leave(c);
}
