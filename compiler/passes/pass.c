/* Adapter: runs the C passes under MLIR's pass manager, nested on mok.kernel, with the verifier between them. */
#include "pass_impl.h"

#include <string.h>

#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"

const mok_pass *mok_pass_find(const char *name) {
  for (size_t i = 0; i < mok_pipeline_length; ++i)
    if (strcmp(mok_pipeline[i]->name, name) == 0) return mok_pipeline[i];
  return NULL;
}

mok_status mok_pass_fail(mok_pass_context *context, MlirOperation op, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(context->arena, fmt, args);
  va_end(args);
  mlirEmitError(mlirOperationGetLocation(op), text);
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_CODEGEN, "%s", text));
}

/* Declarations stand in groups, in this order, ahead of values and phases. */
static int declaration_rank(MlirOperation op) {
  static const char *const kinds[] = {"mok.argument", "mok.extent", "mok.region", "mok.product", "mok.counter"};
  for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); ++i)
    if (mok_op_is(op, kinds[i])) return i;
  return -1;
}

MlirOperation mok_pass_declare(mok_pass_context *context, mok_draft *draft) {
  MlirOperation op = mok_draft_append(draft, mok_op_body(context->kernel));
  MlirOperation last = {NULL};
  MOK_FOR_OPS(other, mok_op_body(context->kernel)) {
    const int rank = declaration_rank(other);
    if (!mlirOperationEqual(other, op) && rank >= 0 && rank <= declaration_rank(op)) last = other;
  }
  if (!mlirOperationIsNull(last)) mlirOperationMoveAfter(op, last);
  else if (!mlirOperationEqual(op, mlirBlockGetFirstOperation(mok_op_body(context->kernel))))
    mlirOperationMoveBefore(op, mlirBlockGetFirstOperation(mok_op_body(context->kernel)));
  return op;
}

void mok_pass_extent(mok_pass_context *context, const char *name, int64_t value, const char *origin) {
  if (!mlirOperationIsNull(mok_kernel_symbol(context->kernel, name))) return;
  mok_draft draft = mok_draft_make(context->context, mlirOperationGetLocation(context->kernel), "mok.extent");
  mok_draft_text(&draft, "sym_name", name);
  mok_draft_int(&draft, "value", value);
  mok_draft_text(&draft, "origin", origin);
  mok_pass_declare(context, &draft);
}

/* ---- one run ---- */

typedef struct step {
  const mok_pass *pass;
  mok_pass_context *context;
} step;

static void on_construct(void *user) { (void)user; }
static void on_destruct(void *user) { (void)user; }
static void *on_clone(void *user) { return user; }

static void on_run(MlirOperation op, MlirExternalPass external, void *user) {
  step *s = user;
  s->context->kernel = op;
  mok_status status = s->pass->run(s->context);
  if (!status) return;
  s->context->status = mok_status_context(status, "in pass %s", s->pass->name);
  mlirExternalPassSignalFailure(external);
}

static size_t pass_index(const char *name) {
  size_t i = 0;
  while (i < mok_pipeline_length && strcmp(mok_pipeline[i]->name, name) != 0) ++i;
  return i;
}

typedef struct selection {
  const mok_pass **passes;
  size_t count;
} selection;

static void choose(selection *s, const mok_pass *pass) { s->passes[s->count++] = pass; }

/* Which passes come after mok.after, up to stop_after. A module from the user that is past check-protocol may have been edited
 * since, so it is checked and spelled again. */
static mok_status select_passes(mok_arena *arena, const mok_module *module, const mok_pipeline_options *options, selection *out) {
  *out = (selection){.passes = MOK_NEW_ARRAY(arena, mok_pipeline_length + options->only_count + 1, const mok_pass *)};
  if (options->only) {
    for (size_t i = 0; i < options->only_count; ++i) choose(out, options->only[i]);
    return MOK_OK;
  }
  const char *after = mok_ir_after(module);
  size_t begin = 0, end = mok_pipeline_length;
  if (strcmp(after, "build") != 0) {
    begin = pass_index(after) + 1;
    if (begin > mok_pipeline_length)
      return MOK_ERROR(module->from_user ? MOK_ERR_DESCRIPTION : MOK_ERR_CODEGEN, "mok.after = \"%s\" is no pass of this version",
                       after);
  }
  if (options->stop_after) {
    end = strcmp(options->stop_after, "build") == 0 ? 0 : pass_index(options->stop_after) + 1;
    if (end > mok_pipeline_length) return MOK_ERROR(MOK_ERR_USAGE, "no pass is named '%s'", options->stop_after);
  }
  if (end < begin)
    return MOK_ERROR(MOK_ERR_USAGE, "the module is already past %s: mok.after is \"%s\"", options->stop_after, after);
  const size_t check = pass_index(mok_pass_check_protocol.name);
  if (module->from_user && begin > check) begin = check;
  for (size_t i = begin; i < end; ++i) choose(out, mok_pipeline[i]);
  return MOK_OK;
}

static mok_status run_passes(mok_module *module, mok_pass_context *context, const selection *selected) {
  MlirPassManager manager = mlirPassManagerCreate(context->context);
  MlirOpPassManager nested = mlirPassManagerGetNestedUnder(manager, mok_ref("mok.kernel"));
  MlirTypeIDAllocator ids = mlirTypeIDAllocatorCreate();
  for (size_t i = 0; i < selected->count; ++i) {
    const mok_pass *pass = selected->passes[i];
    step *s = MOK_NEW(context->arena, step);
    *s = (step){.pass = pass, .context = context};
    MlirExternalPassCallbacks callbacks = {.construct = on_construct, .destruct = on_destruct, .clone = on_clone, .run = on_run};
    MlirPass external = mlirCreateExternalPass(mlirTypeIDAllocatorAllocateTypeID(ids), mok_ref(pass->name), mok_ref(pass->name),
                                               mok_ref(pass->summary), mok_ref("mok.kernel"), 0, NULL, callbacks, s);
    mlirOpPassManagerAddOwnedPass(nested, external);
  }
  MlirLogicalResult result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module->module));
  mlirPassManagerDestroy(manager);
  mlirTypeIDAllocatorDestroy(ids);
  if (context->status) return context->status;
  if (mlirLogicalResultIsSuccess(result)) return MOK_OK;
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_CODEGEN, "the module is not valid after a pass"));
}

mok_status mok_pipeline_run(mok_ir *ir, mok_module *module, const mok_plan *plan, const mok_pipeline_options *options) {
  mok_arena *arena = mok_arena_create();
  mok_pass_context context = {
      .context = ir->context, .plan = plan, .diag = ir->diag, .arena = arena, .check_warns = options->check_warns};
  selection selected;
  mok_status status = select_passes(arena, module, options, &selected);
  if (!status && selected.count > 0) status = run_passes(module, &context, &selected);
  if (!status && selected.count > 0) {
    const char *last = selected.passes[selected.count - 1]->name, *after = mok_ir_after(module);
    if (strcmp(after, "build") == 0 || options->only || pass_index(last) > pass_index(after)) mok_module_set_after(module, last);
  }
  mok_arena_destroy(arena);
  if (status && module->from_user && mok_status_exit_code(status) == MOK_ERR_CODEGEN) {
    mok_status theirs = mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "%s", mok_status_text(status)));
    mok_status_free(status);
    return theirs;
  }
  return status;
}
