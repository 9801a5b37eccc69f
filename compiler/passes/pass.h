/* Stage 4, passes: dataflow -> roles, tiles, rings, counters; checked. */
#ifndef MOK_PASS_H
#define MOK_PASS_H

#include "../ir/ir.h"

typedef struct mok_pass_context mok_pass_context; /* pass_impl.h: what a pass sees */

typedef struct mok_pass {
  const char *name;       /* "fuse-epilogues" */
  const char *summary;    /* one line, for --help-passes and the README */
  const char *requires_;  /* what must hold before */
  const char *guarantees; /* what holds after */
  mok_status (*run)(mok_pass_context *context);
} mok_pass;

/* The pipeline, in order; pipeline.c holds the list with the reason of each order constraint. */
extern const mok_pass *const mok_pipeline[];
extern const size_t mok_pipeline_length;
const mok_pass *mok_pass_find(const char *name); /* NULL if unknown */

typedef struct mok_pipeline_options {
  const char *stop_after;      /* pass name, or NULL for all */
  bool check_warns;            /* --no-check: findings of check-protocol are warnings */
  const mok_pass *const *only; /* tests: run just these, NULL for the pipeline after mok.after */
  size_t only_count;
} mok_pipeline_options;

/* Runs the passes after the module's mok.after. Findings of check-protocol: MOK_ERR_PROTOCOL; a pass that fails otherwise:
 * MOK_ERR_CODEGEN, or MOK_ERR_DESCRIPTION when the module came from the user (from_user). */
MOK_MUST_USE mok_status mok_pipeline_run(mok_ir *ir, mok_module *module, const mok_plan *plan,
                                         const mok_pipeline_options *options);

#endif
