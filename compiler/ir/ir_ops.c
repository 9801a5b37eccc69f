#include "ir_ops.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "../../runtime/base/file.h"

MlirStringRef mok_ref(const char *text) { return mlirStringRefCreateFromCString(text); }

mok_draft mok_draft_make(MlirContext context, MlirLocation loc, const char *name) {
  return (mok_draft){.context = context, .loc = loc, .name = name};
}

void mok_draft_set(mok_draft *draft, const char *key, MlirAttribute value) {
  if (mlirAttributeIsNull(value)) return;
  assert(draft->attribute_count < MOK_DRAFT_ATTRIBUTES);
  MlirIdentifier id = mlirIdentifierGet(draft->context, mok_ref(key));
  draft->attributes[draft->attribute_count++] = mlirNamedAttributeGet(id, value);
}

void mok_draft_text(mok_draft *draft, const char *key, const char *text) {
  if (text) mok_draft_set(draft, key, mok_attr_text(draft->context, text));
}

void mok_draft_int(mok_draft *draft, const char *key, int64_t value) {
  mok_draft_set(draft, key, mok_attr_int(draft->context, value));
}

void mok_draft_symbol(mok_draft *draft, const char *key, const char *name) {
  if (name) mok_draft_set(draft, key, mok_attr_symbol(draft->context, name));
}

void mok_draft_symbols(mok_draft *draft, const char *key, const char *const *names, size_t count) {
  if (count > 0) mok_draft_set(draft, key, mok_attr_symbols(draft->context, names, count));
}

void mok_draft_texts(mok_draft *draft, const char *key, const char *const *texts, size_t count) {
  if (count > 0) mok_draft_set(draft, key, mok_attr_texts(draft->context, texts, count));
}

void mok_draft_operand(mok_draft *draft, MlirValue value) {
  assert(draft->operand_count < MOK_DRAFT_OPERANDS);
  draft->operands[draft->operand_count++] = value;
}

static MlirOperation draft_create(mok_draft *draft) {
  MlirOperationState state = mlirOperationStateGet(mok_ref(draft->name), draft->loc);
  mlirOperationStateAddAttributes(&state, draft->attribute_count, draft->attributes);
  mlirOperationStateAddOperands(&state, draft->operand_count, draft->operands);
  if (!mlirTypeIsNull(draft->result)) mlirOperationStateAddResults(&state, 1, &draft->result);
  if (draft->body) {
    MlirRegion region = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(region, mlirBlockCreate(0, NULL, NULL));
    mlirOperationStateAddOwnedRegions(&state, 1, &region);
  }
  return mlirOperationCreate(&state);
}

MlirOperation mok_draft_append(mok_draft *draft, MlirBlock block) {
  MlirOperation op = draft_create(draft);
  mlirBlockAppendOwnedOperation(block, op);
  return op;
}

MlirOperation mok_draft_before(mok_draft *draft, MlirOperation next) {
  MlirOperation op = draft_create(draft);
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(next), next, op);
  return op;
}

MlirAttribute mok_attr_text(MlirContext context, const char *text) { return mlirStringAttrGet(context, mok_ref(text)); }

MlirAttribute mok_attr_int(MlirContext context, int64_t value) {
  return mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), value);
}

MlirAttribute mok_attr_float(MlirContext context, double value) {
  return mlirFloatAttrDoubleGet(context, mlirF64TypeGet(context), value);
}

MlirAttribute mok_attr_symbol(MlirContext context, const char *name) { return mlirFlatSymbolRefAttrGet(context, mok_ref(name)); }

static MlirAttribute attr_list(MlirContext context, const char *const *texts, size_t count,
                               MlirAttribute (*make)(MlirContext, const char *)) {
  enum { MAX_LIST = 32 };
  assert(count <= MAX_LIST);
  MlirAttribute list[MAX_LIST];
  for (size_t i = 0; i < count; ++i) list[i] = make(context, texts[i]);
  return mlirArrayAttrGet(context, (intptr_t)count, list);
}

MlirAttribute mok_attr_texts(MlirContext context, const char *const *texts, size_t count) {
  return attr_list(context, texts, count, mok_attr_text);
}

MlirAttribute mok_attr_symbols(MlirContext context, const char *const *names, size_t count) {
  return attr_list(context, names, count, mok_attr_symbol);
}

MlirType mok_type(MlirContext context, mok_arena *arena, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(arena, fmt, args);
  va_end(args);
  return mlirTypeParseGet(context, mok_ref(text));
}

bool mok_op_is(MlirOperation op, const char *name) {
  return !mlirOperationIsNull(op) && mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), mok_ref(name));
}

MlirAttribute mok_op_get(MlirOperation op, const char *key) { return mlirOperationGetAttributeByName(op, mok_ref(key)); }

void mok_op_set(MlirOperation op, const char *key, MlirAttribute value) {
  mlirOperationSetAttributeByName(op, mok_ref(key), value);
}

const char *mok_attr_string(mok_arena *arena, MlirAttribute attribute) {
  if (mlirAttributeIsNull(attribute)) return NULL;
  MlirStringRef text;
  if (mlirAttributeIsAString(attribute)) {
    text = mlirStringAttrGetValue(attribute);
  } else if (mlirAttributeIsAFlatSymbolRef(attribute)) {
    text = mlirFlatSymbolRefAttrGetValue(attribute);
  } else {
    return NULL;
  }
  return mok_arena_strndup(arena, text.data, text.length);
}

const char *mok_op_text(mok_arena *arena, MlirOperation op, const char *key) {
  return mok_attr_string(arena, mok_op_get(op, key));
}

int64_t mok_op_int(MlirOperation op, const char *key, int64_t fallback) {
  MlirAttribute attribute = mok_op_get(op, key);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAInteger(attribute)) return fallback;
  return mlirIntegerAttrGetValueInt(attribute);
}

size_t mok_op_count(MlirOperation op, const char *key) {
  MlirAttribute attribute = mok_op_get(op, key);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAArray(attribute)) return 0;
  return (size_t)mlirArrayAttrGetNumElements(attribute);
}

const char *mok_op_at(mok_arena *arena, MlirOperation op, const char *key, size_t i) {
  return mok_attr_string(arena, mlirArrayAttrGetElement(mok_op_get(op, key), (intptr_t)i));
}

MlirBlock mok_op_body(MlirOperation op) {
  if (mlirOperationGetNumRegions(op) == 0) return (MlirBlock){NULL};
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
}

MlirOperation mok_block_first(MlirBlock block) {
  return mlirBlockIsNull(block) ? (MlirOperation){NULL} : mlirBlockGetFirstOperation(block);
}

MlirOperation mok_op_parent(MlirOperation op, const char *name) {
  do {
    op = mlirOperationGetParentOperation(op);
  } while (!mlirOperationIsNull(op) && !mok_op_is(op, name));
  return op;
}

MlirOperation mok_kernel_symbol(MlirOperation kernel, const char *name) {
  MOK_FOR_OPS(op, mok_op_body(kernel)) {
    MlirAttribute symbol = mok_op_get(op, "sym_name");
    if (mlirAttributeIsNull(symbol) || !mlirAttributeIsAString(symbol)) continue; /* not verified yet */
    if (mlirStringRefEqual(mlirStringAttrGetValue(symbol), mok_ref(name))) return op;
  }
  return (MlirOperation){NULL};
}

mok_loc mok_loc_of(mok_arena *arena, MlirLocation location) {
  mok_loc loc = {.file = NULL};
  if (!mlirLocationIsAFileLineColRange(location)) return loc;
  MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
  loc.file = mok_arena_strndup(arena, file.data, file.length);
  loc.line = mlirLocationFileLineColRangeGetStartLine(location);
  loc.column = mlirLocationFileLineColRangeGetStartColumn(location);
  loc.length = 1;
  return loc;
}

bool mok_location_is_plain(MlirLocation location) {
  return mlirLocationIsAFileLineColRange(location) ||
         mlirLocationEqual(location, mlirLocationUnknownGet(mlirLocationGetContext(location)));
}

MlirLocation mok_loc_make(MlirContext context, mok_loc loc) {
  if (!loc.file) return mlirLocationUnknownGet(context);
  return mlirLocationFileLineColGet(context, mok_ref(mok_path_base(loc.file)), (unsigned)loc.line, (unsigned)loc.column);
}
