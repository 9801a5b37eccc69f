/* Inside of mok_ir and mok_module. Private to ir and passes. */
#ifndef MOK_IR_IMPL_H
#define MOK_IR_IMPL_H

#include "ir_ops.h"
#include "ir_query.h"

struct mok_module {
  mok_ir *ir;
  MlirModule module;
  bool from_user; /* parsed, so that what is wrong with it is the user's error */
  mok_module *next;
};

struct mok_ir {
  MlirContext context;
  mok_diag *diag;      /* borrowed */
  mok_arena *arena;    /* owned; file names of diagnostics and the like */
  mok_module *modules; /* owned */
};

void mok_append_text(MlirStringRef text, void *user); /* MlirStringCallback onto a mok_buf */

mok_module *mok_module_own(mok_ir *ir, MlirModule module, bool from_user);
void mok_module_set_after(mok_module *module, const char *pass);
/* mok.plan of `plan`: {model = {..}, topology, workload, schedule, given = {places}, gpu = "H200", plan = {..}}. */
MlirAttribute mok_ir_plan_attribute(MlirContext context, mok_arena *arena, const mok_plan *plan);
void mok_module_set_plan(mok_module *module, const mok_plan *plan);
/* "tensor<?x128xbf16>" of what the caller passes as @args.NAME; NULL: this model takes no such argument. */
const char *mok_ir_argument_type(mok_arena *arena, const mok_model *model, const char *name);

/* View of one kernel op of a module, for passes; never NULL. */
const mok_kernel_view *mok_kernel_view_of(mok_arena *arena, MlirOperation kernel);

bool mok_op_kind_of(MlirOperation op, mok_ir_op_kind *kind); /* false: no step of a task */

#endif
