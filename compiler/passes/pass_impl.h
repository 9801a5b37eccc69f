/* What a pass sees, and the descriptors of the pipeline. Private to passes. */
#ifndef MOK_PASS_IMPL_H
#define MOK_PASS_IMPL_H

#include "../ir/ir_impl.h"
#include "pass.h"

struct mok_pass_context {
  MlirContext context;
  MlirOperation kernel;
  const mok_plan *plan;
  mok_diag *diag;
  mok_arena *arena;  /* of this run */
  bool check_warns;  /* findings of check-protocol are warnings */
  mok_status status; /* first failure of the run */
};

extern const mok_pass mok_pass_fuse_epilogues;
extern const mok_pass mok_pass_assign_roles;
extern const mok_pass mok_pass_tile;
extern const mok_pass mok_pass_allocate_rings;
extern const mok_pass mok_pass_insert_sync;
extern const mok_pass mok_pass_check_protocol;
extern const mok_pass mok_pass_lower_to_cuda;

/* A pass met something it cannot handle: error at `op`, MOK_ERR_CODEGEN (the adapter makes it the user's when the module is). */
mok_status mok_pass_fail(mok_pass_context *context, MlirOperation op, const char *fmt, ...) MOK_PRINTF(3, 4);

/* Declares an extent once. */
void mok_pass_extent(mok_pass_context *context, const char *name, int64_t value, const char *origin);
/* Makes the draft a declaration of the kernel, last of its kind. */
MlirOperation mok_pass_declare(mok_pass_context *context, mok_draft *draft);
/* "memref<?x128xbf16>": the layout's shape, whose rows are run-time. */
const char *mok_pass_region_type(mok_arena *arena, const mok_region *region);

#endif
