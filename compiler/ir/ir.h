/* Stage 3, build: plan -> module in the `mok` dialect, dataflow only; and the module's life: context, printing, parsing. */
#ifndef MOK_IR_H
#define MOK_IR_H

#include "../plan/plan.h"

/* Owns the MLIR context, with the dialect loaded and MLIR's diagnostics fed into `diag`. */
typedef struct mok_ir mok_ir;

mok_ir *mok_ir_create(mok_diag *diag); /* diag borrowed */
void mok_ir_destroy(mok_ir *ir);       /* accepts NULL; modules made with it die too */

typedef struct mok_module mok_module; /* owned by its mok_ir */

/* Layer-level module of every pass the description asks for (this version: forward). Locations are the Lua places, base name
 * only. The module op carries mok.after = "build" and mok.plan = {every description and plan field}. */
MOK_MUST_USE mok_status mok_ir_build(mok_ir *ir, const mok_plan *plan, mok_module **out);

/* Parses `text`; verifies. The user's mistakes are diagnostics, MOK_ERR_DESCRIPTION. */
MOK_MUST_USE mok_status mok_ir_parse(mok_ir *ir, const char *name, const char *text, size_t size, mok_module **out);

/* Remakes model and plan from mok.plan of a parsed module: the numbers come from the attribute (unknown or missing keys are
 * errors), layout and row are recomputed and must agree. */
MOK_MUST_USE mok_status mok_ir_plan(mok_ir *ir, const mok_module *module, mok_arena *arena, const mok_plan **out);

void mok_ir_print(const mok_module *module, mok_buf *out); /* pretty form with locations; equal modules give equal bytes */
const char *mok_ir_after(const mok_module *module);        /* "build" or the last pass's name; borrowed */

#endif
