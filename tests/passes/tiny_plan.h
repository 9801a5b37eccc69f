/* Small models and their plans, for tests of the module and its passes. */
#ifndef MOK_TESTS_TINY_PLAN_H
#define MOK_TESTS_TINY_PLAN_H

#include "../../compiler/plan/plan.h"

/* A legal description on GPU row "H200": H = 128, I = 64, 4 experts, k = 2, 2 ranks, 64 tokens, no shared expert. Every field has
 * the place "tiny.lua:LINE:3", LINE = 1 + its position in the field list. */
mok_model *mok_tiny_model(mok_arena *arena);

/* "gpus=8", "activation=relu2", "clamp=7", "gpu=host". false: no such field or value. */
bool mok_tiny_set(mok_arena *arena, mok_model *model, const char *setting);

/* Finishes the model and plans it. */
MOK_MUST_USE mok_status mok_tiny_plan(mok_arena *arena, mok_diag *diag, mok_model *model, const mok_plan **out);

#endif
