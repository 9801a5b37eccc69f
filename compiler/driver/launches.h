/* Several launches of one problem: how many tokens each of them has, and what their outputs have in common.
 *
 * A launch takes the first tokens of each rank's arrays. A token's output depends on its own routes only, so it must have the
 * same bits in every launch that has the token, whatever else is in it. */
#ifndef MOK_DRIVER_LAUNCHES_H
#define MOK_DRIVER_LAUNCHES_H

#include "../plan/plan.h"
#include "problem.h"

typedef struct mok_launches {
  const mok_model *model;
  uint64_t seed;
  int64_t *least, *most; /* [gpus] tokens of a launch */
  bool vary;             /* least and most differ for some rank */
  int64_t *kept;         /* [gpus] tokens that a launch had so far */
  uint16_t **rows;       /* [gpus] -> [most, hidden] output of each in the first launch that had it; NULL before the first */
} mok_launches;

/* "N" or "A..B" for every rank, or one of them for each, with commas between; within the capacity. NULL: `count` for all. */
MOK_MUST_USE mok_status mok_launches_parse(mok_arena *arena, const mok_model *model, const char *text, int64_t count,
                                           uint64_t seed, mok_launches *out);

/* Sets the problem's token counts to those of launch n, n from 0: drawn from the seed, each end of a range once in eight. */
void mok_launches_set(const mok_launches *launches, int64_t n, mok_problem *problem);

/* Keeps the output of tokens that no launch had before. The text says whose bits differ from an earlier launch's, else NULL. */
const char *mok_launches_compare(mok_arena *arena, mok_launches *launches, const mok_problem *problem);

/* The output of every token that was in some launch, as if of one launch. */
void mok_launches_join(const mok_launches *launches, mok_problem *problem);

/* Laps of the ring on the rank where it makes most of them, for the problem's token counts. */
int64_t mok_launch_laps(mok_arena *arena, const mok_plan *plan, const mok_problem *problem);

#endif
