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

MlirOperation mok_pass_declare(mok_pass_context *context, mok_draft *draft) {
  MlirBlock body = mok_op_body(context->kernel);
  MOK_FOR_OPS(op, body) {
    if (mok_op_is(op, "mok.phase")) return mok_draft_before(draft, op);
  }
  return mok_draft_append(draft, body);
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

static mok_status run_passes(mok_module *module, mok_pass_context *context, const mok_pass *const *passes, size_t count) {
  MlirPassManager manager = mlirPassManagerCreate(context->context);
  MlirOpPassManager nested = mlirPassManagerGetNestedUnder(manager, mok_ref("mok.kernel"));
  MlirTypeIDAllocator ids = mlirTypeIDAllocatorCreate();
  for (size_t i = 0; i < count; ++i) {
    step *s = MOK_NEW(context->arena, step);
    *s = (step){.pass = passes[i], .context = context};
    MlirExternalPassCallbacks callbacks = {.construct = on_construct, .destruct = on_destruct, .clone = on_clone, .run = on_run};
    MlirPass external = mlirCreateExternalPass(mlirTypeIDAllocatorAllocateTypeID(ids), mok_ref(passes[i]->name), mok_ref(passes[i]->name),
                                               mok_ref(passes[i]->summary), mok_ref("mok.kernel"), 0, NULL, callbacks, s);
    mlirOpPassManagerAddOwnedPass(nested, external);
  }
  MlirLogicalResult result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module->module));
  mlirPassManagerDestroy(manager);
  mlirTypeIDAllocatorDestroy(ids);
  if (context->status) return context->status;
  if (mlirLogicalResultIsSuccess(result)) return MOK_OK;
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_CODEGEN, "the module is not valid after a pass"));
}

/* Which passes come after mok.after, up to stop_after. */
static mok_status select_passes(const mok_module *module, const mok_pipeline_options *options, const mok_pass *const **first,
                                size_t *count) {
  if (options->only) {
    *first = options->only;
    *count = options->only_count;
    return MOK_OK;
  }
  const char *after = mok_ir_after(module);
  size_t begin = 0;
  if (strcmp(after, "build") != 0) {
    while (begin < mok_pipeline_length && strcmp(mok_pipeline[begin]->name, after) != 0) ++begin;
    if (begin == mok_pipeline_length)
      return MOK_ERROR(module->from_user ? MOK_ERR_DESCRIPTION : MOK_ERR_CODEGEN, "mok.after = \"%s\" is no pass of this version", after);
    ++begin;
  }
  size_t end = mok_pipeline_length;
  if (options->stop_after && strcmp(options->stop_after, "build") == 0) {
    end = 0;
  } else if (options->stop_after) {
    for (end = 0; end < mok_pipeline_length && strcmp(mok_pipeline[end]->name, options->stop_after) != 0; ++end) {
    }
    if (end == mok_pipeline_length) return MOK_ERROR(MOK_ERR_USAGE, "no pass is named '%s'", options->stop_after);
    ++end;
  }
  if (end < begin) return MOK_ERROR(MOK_ERR_USAGE, "the module is already past %s: mok.after is \"%s\"", options->stop_after, after);
  *first = mok_pipeline + begin;
  *count = end - begin;
  return MOK_OK;
}

mok_status mok_pipeline_run(mok_ir *ir, mok_module *module, const mok_plan *plan, const mok_pipeline_options *options) {
  const mok_pass *const *passes = NULL;
  size_t count = 0;
  MOK_TRY(select_passes(module, options, &passes, &count));
  if (count == 0) return MOK_OK;
  mok_arena *arena = mok_arena_create();
  mok_pass_context context = {.context = ir->context, .plan = plan, .diag = ir->diag, .arena = arena,
                              .check_warns = options->check_warns};
  mok_status status = run_passes(module, &context, passes, count);
  mok_arena_destroy(arena);
  if (!status) mok_module_set_after(module, passes[count - 1]->name);
  if (status && module->from_user && mok_status_exit_code(status) == MOK_ERR_CODEGEN) {
    mok_status theirs = mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "%s", mok_status_text(status)));
    mok_status_free(status);
    return theirs;
  }
  return status;
}
