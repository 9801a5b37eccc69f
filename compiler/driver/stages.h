/* The path of data, as one list: Lua text -> description -> plan -> module -> passes -> CUDA C -> code. */
#ifndef MOK_DRIVER_STAGES_H
#define MOK_DRIVER_STAGES_H

#include "../jit/jit.h"
#include "../passes/pass.h"
#include "session.h"

typedef enum mok_stage_id {
  MOK_STAGE_READ,
  MOK_STAGE_PLAN,
  MOK_STAGE_BUILD,
  MOK_STAGE_RESUME,
  MOK_STAGE_PASSES,
  MOK_STAGE_EMIT,
  MOK_STAGE_COMPILE,
  MOK_NUM_STAGES
} mok_stage_id;

/* What stands between the stages. Each value is const once its stage has run; no later stage edits it. */
typedef struct mok_work {
  const char *path; /* operand: a description, or a module with --from=mok; "-": stdin */
  bool from_module;
  const char *package;    /* folder of a package to run as it is (package_model.h), else NULL: no stage runs, there is no plan */
  const char *stop_after; /* pass to stop after, NULL for all */
  bool want_ptx;
  const char *target_name; /* NULL: the GPU row's own */
  const mok_model *model;  /* gpu = "auto" already resolved */
  const mok_plan *plan;
  const mok_target *target;
  mok_ir *ir;         /* owned; made by the first stage that needs MLIR */
  mok_module *module; /* owned by ir */
  mok_sources sources;
  mok_image image;
  int next; /* stage to run next; private to mok_stages_run */
} mok_work;

/* Takes path, --from and --target from the options. */
MOK_MUST_USE mok_status mok_work_init(mok_work *work, const mok_session *session);
void mok_work_deinit(mok_work *work); /* accepts a zeroed one */

/* Runs every stage up to `last` that this source of work has and that has not run yet. Polls for interruption between stages. */
MOK_MUST_USE mok_status mok_stages_run(mok_session *session, mok_work *work, mok_stage_id last);

/* A resumed module that mokgen cannot make a kernel of is its author's mistake: MOK_ERR_CODEGEN becomes MOK_ERR_DESCRIPTION. */
MOK_MUST_USE mok_status mok_work_blame(const mok_work *work, mok_status status);

/* Plan warnings on stderr. */
void mok_work_warn(mok_session *session, const mok_work *work);

/* One artefact of --emit: which stage makes it and how it is printed. */
typedef struct mok_emit_choice {
  mok_stage_id stage;
  const char *pass; /* of mok:PASS, else NULL */
  enum { MOK_EMIT_MODEL, MOK_EMIT_PLAN, MOK_EMIT_MOK, MOK_EMIT_CUDA, MOK_EMIT_PTX, MOK_EMIT_CUBIN } what;
} mok_emit_choice;
MOK_MUST_USE mok_status mok_emit_parse(mok_arena *arena, const char *text, mok_emit_choice *out);

#endif
