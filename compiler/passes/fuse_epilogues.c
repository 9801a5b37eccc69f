/* fuse-epilogues: a product takes its activation in, the reduction its router weights.
 *
 *   %g = grouped_matmul %r with(@args.gate)     %u = grouped_matmul %r with(@args.up)     %h = gated_activation swiglu %g, %u
 *   -> %h = grouped_matmul %r with(@args.gate, @args.up) epilogue(swiglu)
 *   %s = scale %slots by %w     %o = reduce %s
 *   -> %o = reduce %slots weights(%w)
 */
#include "pass_impl.h"

static MlirOperation producer(MlirValue value) {
  return mlirValueIsAOpResult(value) ? mlirOpResultGetOwner(value) : (MlirOperation){NULL};
}

static bool used_once(MlirValue value) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
}

static void replace(MlirOperation old, MlirOperation fresh) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(old, 0), mlirOperationGetResult(fresh, 0));
  mlirOperationDestroy(old);
}

static mok_status fuse_activation(mok_pass_context *context, MlirOperation activation) {
  const intptr_t halves = mlirOperationGetNumOperands(activation);
  const char *weights[2];
  if (halves < 1 || halves > 2)
    return mok_pass_fail(context, activation, "an activation takes one or two products, not %d", (int)halves);
  MlirOperation products[2];
  for (intptr_t i = 0; i < halves; ++i) {
    MlirValue value = mlirOperationGetOperand(activation, i);
    products[i] = producer(value);
    if (!mok_op_is(products[i], "mok.grouped_matmul") || !used_once(value) || mok_op_count(products[i], "weights") != 1 ||
        !mlirValueEqual(mlirOperationGetOperand(products[i], 0), mlirOperationGetOperand(products[0], 0))) {
      return mok_pass_fail(context, activation, "cannot fuse: operand %d is no product of the same rows used only here", (int)i);
    }
    weights[i] = mok_op_at(context->arena, products[i], "weights", 0);
  }
  mok_draft draft = mok_draft_make(context->context, mlirOperationGetLocation(products[0]), "mok.grouped_matmul");
  mok_draft_operand(&draft, mlirOperationGetOperand(products[0], 0));
  mok_draft_symbols(&draft, "weights", weights, (size_t)halves);
  mok_draft_set(&draft, "depth", mok_op_get(products[0], "depth"));
  mok_draft_set(&draft, "columns", mok_op_get(products[0], "columns"));
  mok_draft_set(&draft, "epilogue", mok_op_get(activation, "activation"));
  mok_draft_set(&draft, "clamp", mok_op_get(activation, "clamp"));
  draft.result = mlirValueGetType(mlirOperationGetResult(activation, 0));
  replace(activation, mok_draft_before(&draft, activation));
  for (intptr_t i = 0; i < halves; ++i) mlirOperationDestroy(products[i]);
  return MOK_OK;
}

static mok_status fuse_weights(mok_pass_context *context, MlirOperation scale) {
  MlirValue scaled = mlirOperationGetResult(scale, 0);
  MlirOpOperand use = mlirValueGetFirstUse(scaled);
  MlirOperation reduce = mlirOpOperandIsNull(use) ? (MlirOperation){NULL} : mlirOpOperandGetOwner(use);
  if (!used_once(scaled) || !mok_op_is(reduce, "mok.reduce") || mlirOpOperandGetOperandNumber(use) != 0)
    return mok_pass_fail(context, scale, "cannot fuse: scaled slots must go to one mok.reduce");
  MlirAttribute segments = mok_op_get(reduce, "operandSegmentSizes");
  const bool has_weights = mlirDenseI32ArrayGetElement(segments, 1) != 0,
             has_shared = mlirDenseI32ArrayGetElement(segments, 2) != 0;
  if (has_weights) return mok_pass_fail(context, scale, "cannot fuse: the reduction has weights already");

  mok_draft draft = mok_draft_make(context->context, mlirOperationGetLocation(reduce), "mok.reduce");
  mok_draft_operand(&draft, mlirOperationGetOperand(scale, 0));
  mok_draft_operand(&draft, mlirOperationGetOperand(scale, 1));
  if (has_shared) mok_draft_operand(&draft, mlirOperationGetOperand(reduce, 1));
  const int32_t sizes[] = {1, 1, has_shared ? 1 : 0};
  mok_draft_set(&draft, "operandSegmentSizes", mlirDenseI32ArrayGet(context->context, 3, sizes));
  draft.result = mlirValueGetType(mlirOperationGetResult(reduce, 0));
  replace(reduce, mok_draft_before(&draft, reduce));
  mlirOperationDestroy(scale);
  return MOK_OK;
}

/* First op of that kind, so that rewriting never walks over what it erased. */
static MlirOperation first_of(MlirOperation kernel, const char *name) {
  MOK_FOR_OPS(op, mok_op_body(kernel)) {
    if (mok_op_is(op, name)) return op;
  }
  return (MlirOperation){NULL};
}

static mok_status run(mok_pass_context *context) {
  for (MlirOperation op; !mlirOperationIsNull(op = first_of(context->kernel, "mok.gated_activation"));)
    MOK_TRY(fuse_activation(context, op));
  for (MlirOperation op; !mlirOperationIsNull(op = first_of(context->kernel, "mok.scale"));) MOK_TRY(fuse_weights(context, op));
  return MOK_OK;
}

const mok_pass mok_pass_fuse_epilogues = {
    .name = "fuse-epilogues",
    .summary = "gate, up and activation into one product; router weights into the reduction",
    .requires_ = "layer altitude",
    .guarantees = "no mok.gated_activation and no mok.scale",
    .run = run,
};
