/* The layer that templates/sample holds, or another folder whose mok_plan.h SAMPLE_PLAN_H is. */
#ifndef MOK_TEST_SAMPLE_CASE_H
#define MOK_TEST_SAMPLE_CASE_H

#include "layer_case.h"
#ifndef SAMPLE_PLAN_H
#define SAMPLE_PLAN_H "sample/mok_plan.h"
#endif
#include SAMPLE_PLAN_H

static const layer_shape sample_shape = {
    .hidden = PLAN_HIDDEN,
    .intermediate = PLAN_INTERMEDIATE,
    .experts = PLAN_EXPERTS,
    .top_k = PLAN_TOP_K,
    .shared_intermediate = PLAN_SHARED_INTERMEDIATE,
    .gpus = PLAN_GPUS,
    .tokens_per_gpu = PLAN_TOKENS_PER_GPU,
    .activation = MOK_REFERENCE_swiglu,
    .clamp = PLAN_CLAMP,
};

#endif
