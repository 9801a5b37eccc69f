/* Is an output right? Every value must be a number and inside its array; checked tokens are compared with the reference. */
#ifndef MOK_DRIVER_VERDICT_H
#define MOK_DRIVER_VERDICT_H

#include "../../tests/reference/activations.h"
#include "problem.h"

typedef struct mok_verdict {
  bool pass;
  const char *failure; /* what is wrong and where, for the user; NULL when nothing is */
  double rel_l2;       /* relative L2 error of the worst rank's checked tokens */
  double max_abs;
  double limit;    /* of rel_l2 */
  int64_t checked; /* output values compared */
  char digest[17]; /* of all output bytes, ranks in order */
} mok_verdict;

/* Expected values of the checked tokens. */
typedef struct mok_expected {
  float **rows;   /* [gpus] -> [tokens, hidden]; NaN where a token is not checked; exact, since they are bf16 values */
  bool **checked; /* [gpus] -> [tokens] */
} mok_expected;

/* Runs the reference on every token, or on `sample` of each rank (first, last, one of the busiest expert, the rest random);
 * sample = 0: all. Polls for interruption. */
MOK_MUST_USE mok_status mok_expected_make(mok_arena *arena, const mok_problem *problem, int64_t sample, mok_expected *out);

/* The same in two steps: which tokens, with rows not yet computed, then the rows. Weights are needed for the second one only. */
void mok_expected_choose(mok_arena *arena, const mok_problem *problem, int64_t sample, mok_expected *out);
/* How many checked tokens' routes each expert has. */
int64_t *mok_expected_experts(mok_arena *arena, const mok_problem *problem, const mok_expected *expected);
MOK_MUST_USE mok_status mok_expected_compute(mok_arena *arena, const mok_problem *problem, mok_expected *expected);

/* The formula of the description's activation. */
mok_reference_activation mok_expected_activation(const mok_model *model);

void mok_verdict_make(mok_arena *arena, const mok_problem *problem, const mok_expected *expected, mok_verdict *out);

/* First 16 hex digits of the SHA-256 of all output. */
void mok_output_digest(const mok_problem *problem, char digest[17]);

#endif
