/* Stage 2, plan: description x GPU row -> every number the kernel uses, each with its reason. Const once made. */
#ifndef MOK_PLAN_H
#define MOK_PLAN_H

#include "../../runtime/base/buf.h"
#include "../../runtime/base/json.h"
#include "../diag/diag.h"
#include "../model/model.h"
#include "../target/target.h"
#include "layout.h"

#define MOK_PLAN_CTYPE_INT int64_t
#define MOK_PLAN_CTYPE_WORD int64_t
#define MOK_PLAN_CTYPE_US double

typedef enum mok_plan_id {
#define MOK_PLAN(group, sub, key, name, kind, unit, doc) MOK_PLAN_##name,
#include "plan_fields.def"
#undef MOK_PLAN
  MOK_NUM_PLAN
} mok_plan_id;

typedef struct mok_plan {
  const mok_model *model; /* borrowed */
  mok_gpu gpu;            /* the row with the description's overrides applied */
#define MOK_PLAN(group, sub, key, name, kind, unit, doc) MOK_PLAN_CTYPE_##kind name;
#include "plan_fields.def"
#undef MOK_PLAN
  const char *why[MOK_NUM_PLAN]; /* reason of each number; never NULL or "" */
  mok_layout layout;
  const char *const *warnings; /* "14 of 132 SMs idle: ..." shown by explain and by build on stderr */
  size_t warning_count;
} mok_plan;

/* The first product runs a minibatch ahead of the second: the ring has room for the minibatch that is filled, the one that waits
 * its turn and the one that is read, or for all rows. */
static inline bool mok_plan_runs_ahead(const mok_plan *p) {
  const int64_t minibatches = p->ring_rows / p->minibatch_rows;
  return minibatches >= 3 || (minibatches == 2 && p->ring_rows >= p->capacity_rows);
}

typedef enum mok_plan_kind { MOK_PK_INT, MOK_PK_WORD, MOK_PK_US } mok_plan_kind;
typedef struct mok_plan_info {
  const char *group, *sub, *key, *name;
  mok_plan_kind kind;
  const char *unit, *doc;
  size_t offset; /* of the value in mok_plan */
} mok_plan_info;
extern const mok_plan_info mok_plan_fields[MOK_NUM_PLAN];

/* Makes the plan of `model` on `gpu` (the row that topology.gpu names, "auto" already resolved by the driver stage). What has no
 * plan is MOK_ERR_NO_PLAN: the message names the budget that was exceeded, by how much, and what would fit. A schedule field the
 * user fixed is taken as it is or refused (diagnostic at its place, MOK_ERR_NO_PLAN); it is never silently changed. */
MOK_MUST_USE mok_status mok_plan_make(mok_arena *arena, mok_diag *diag, const mok_model *model, const mok_gpu *gpu,
                                      const mok_plan **out);

/* Recomputes every constraint without the rules' code. A violation is our bug (MOK_ERR_CODEGEN), and names field and rule. */
MOK_MUST_USE mok_status mok_plan_verify(mok_arena *arena, const mok_plan *plan);

/* What this version can build: MOK_OK, or MOK_ERR_NO_PLAN "not in this version: ..." for dtypes, passes and targets to come. */
MOK_MUST_USE mok_status mok_plan_buildable(const mok_plan *plan, const mok_target *target);

void mok_plan_json(const mok_plan *plan, mok_buf *out);    /* plan.json, schema 1 */
void mok_plan_explain(const mok_plan *plan, mok_buf *out); /* plan.txt */

#endif
