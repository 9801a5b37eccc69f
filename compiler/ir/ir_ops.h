/* Ops and attributes from C: drafts to make them, accessors to read them. Private to ir and passes. */
#ifndef MOK_IR_OPS_H
#define MOK_IR_OPS_H

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IR.h"

#include "ir.h"

enum { MOK_DRAFT_ATTRIBUTES = 20, MOK_DRAFT_OPERANDS = 4 };

/* An op to be: name, place, attributes, operands, at most one result, at most one region of one block. */
typedef struct mok_draft {
  MlirContext context;
  MlirLocation loc;
  const char *name; /* "mok.region" */
  MlirNamedAttribute attributes[MOK_DRAFT_ATTRIBUTES];
  int attribute_count;
  MlirValue operands[MOK_DRAFT_OPERANDS];
  int operand_count;
  MlirType result; /* null: none */
  bool body;
} mok_draft;

mok_draft mok_draft_make(MlirContext context, MlirLocation loc, const char *name);
void mok_draft_set(mok_draft *draft, const char *key, MlirAttribute value); /* a null value is left out */
void mok_draft_text(mok_draft *draft, const char *key, const char *text);   /* NULL is left out, here and below */
void mok_draft_int(mok_draft *draft, const char *key, int64_t value);
void mok_draft_symbol(mok_draft *draft, const char *key, const char *name);
void mok_draft_symbols(mok_draft *draft, const char *key, const char *const *names, size_t count);
void mok_draft_texts(mok_draft *draft, const char *key, const char *const *texts, size_t count);
void mok_draft_operand(mok_draft *draft, MlirValue value);
MlirOperation mok_draft_append(mok_draft *draft, MlirBlock block);
MlirOperation mok_draft_before(mok_draft *draft, MlirOperation next);

MlirStringRef mok_ref(const char *text);
MlirAttribute mok_attr_text(MlirContext context, const char *text);
MlirAttribute mok_attr_int(MlirContext context, int64_t value);
MlirAttribute mok_attr_float(MlirContext context, double value);
MlirAttribute mok_attr_symbol(MlirContext context, const char *name);
MlirAttribute mok_attr_texts(MlirContext context, const char *const *texts, size_t count);
MlirAttribute mok_attr_symbols(MlirContext context, const char *const *names, size_t count);
/* Type by its text, "tensor<?x128xbf16>". */
MlirType mok_type(MlirContext context, mok_arena *arena, const char *fmt, ...) MOK_PRINTF(3, 4);

bool mok_op_is(MlirOperation op, const char *name);          /* "mok.wait" */
MlirAttribute mok_op_get(MlirOperation op, const char *key); /* null if absent */
void mok_op_set(MlirOperation op, const char *key, MlirAttribute value);
const char *mok_op_text(mok_arena *arena, MlirOperation op, const char *key); /* of a string or symbol; NULL if absent */
int64_t mok_op_int(MlirOperation op, const char *key, int64_t fallback);
size_t mok_op_count(MlirOperation op, const char *key);                               /* elements of a list; 0 if absent */
const char *mok_op_at(mok_arena *arena, MlirOperation op, const char *key, size_t i); /* string or symbol */
const char *mok_attr_string(mok_arena *arena, MlirAttribute attribute); /* of a string or symbol; NULL for another kind */
MlirBlock mok_op_body(MlirOperation op);        /* null for an op without one, which an unverified module may hold */
MlirOperation mok_block_first(MlirBlock block); /* null for a null or empty block */
MlirOperation mok_op_parent(MlirOperation op, const char *name); /* nearest ancestor of that kind, null if none */

/* Declaration `name` directly in the kernel, null if absent. */
MlirOperation mok_kernel_symbol(MlirOperation kernel, const char *name);

/* Ops of a block in order. The next one is taken before the body runs, so that the body may erase `op`. */
#define MOK_FOR_OPS(op, block)                                      \
  for (MlirOperation op = mok_block_first(block), op##_next_ = {0}; \
       !mlirOperationIsNull(op) && (op##_next_ = mlirOperationGetNextInBlock(op), true); op = op##_next_)

/* The op's location as a place of the user's text; the file name lives in the arena. */
mok_loc mok_loc_of(mok_arena *arena, MlirLocation location);
/* A file, line and column, or unknown: what mok_loc_of can say, and what prints in one line. */
bool mok_location_is_plain(MlirLocation location);
/* Base name, line, column; "mok" without a place. */
MlirLocation mok_loc_make(MlirContext context, mok_loc loc);

#endif
