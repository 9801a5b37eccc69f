/* Context, diagnostics, parsing and printing. */
#include <stdlib.h>
#include <string.h>

#include "mlir-c/Diagnostics.h"

#include "ir_impl.h"
#include "mok_dialect.h"

void mok_append_text(MlirStringRef text, void *user) { mok_buf_write(user, text.data, text.length); }

static void report(mok_ir *ir, mok_severity severity, MlirDiagnostic diagnostic) {
  mok_buf text = mok_buf_make(ir->arena);
  mlirDiagnosticPrint(diagnostic, mok_append_text, &text);
  if (strncmp(text.data, "see current operation", 21) == 0) return; /* the op in generic form: pages that help nobody */
  mok_diag_report(ir->diag, severity, mok_loc_of(ir->arena, mlirDiagnosticGetLocation(diagnostic)), NULL, "%s", text.data);
}

static MlirLogicalResult on_diagnostic(MlirDiagnostic diagnostic, void *user) {
  mok_ir *ir = user;
  mok_severity severity = MOK_NOTE;
  switch (mlirDiagnosticGetSeverity(diagnostic)) {
    case MlirDiagnosticError:
      severity = MOK_SEVERITY_ERROR;
      break;
    case MlirDiagnosticWarning:
      severity = MOK_WARNING;
      break;
    case MlirDiagnosticNote:
      break;
    case MlirDiagnosticRemark:
      break;
  }
  report(ir, severity, diagnostic);
  for (intptr_t i = 0; i < mlirDiagnosticGetNumNotes(diagnostic); ++i) report(ir, MOK_NOTE, mlirDiagnosticGetNote(diagnostic, i));
  return mlirLogicalResultSuccess();
}

mok_ir *mok_ir_create(mok_diag *diag) {
  mok_arena *arena = mok_arena_create();
  mok_ir *ir = MOK_NEW(arena, mok_ir);
  ir->arena = arena;
  ir->diag = diag;
  ir->context = mlirContextCreateWithThreading(false); /* one order of diagnostics, no threads to start */
  MlirDialectHandle handle = mlirGetDialectHandle__mok__();
  mlirDialectHandleRegisterDialect(handle, ir->context);
  mlirDialectHandleLoadDialect(handle, ir->context);
  mlirContextAttachDiagnosticHandler(ir->context, on_diagnostic, ir, NULL);
  return ir;
}

void mok_ir_destroy(mok_ir *ir) {
  if (!ir) return;
  for (mok_module *module = ir->modules; module; module = module->next) mlirModuleDestroy(module->module);
  mlirContextDestroy(ir->context);
  mok_arena_destroy(ir->arena);
}

mok_module *mok_module_own(mok_ir *ir, MlirModule module, bool from_user) {
  mok_module *owned = MOK_NEW(ir->arena, mok_module);
  *owned = (mok_module){.ir = ir, .module = module, .from_user = from_user, .next = ir->modules};
  ir->modules = owned;
  return owned;
}

/* The module op is builtin, so its attributes are nobody else's to check. */
static bool module_attributes_known(MlirModule module) {
  MlirOperation op = mlirModuleGetOperation(module);
  bool known = true;
  for (intptr_t i = 0; i < mlirOperationGetNumDiscardableAttributes(op); ++i) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetDiscardableAttribute(op, i).name);
    if (mlirStringRefEqual(name, mok_ref("mok.after")) || mlirStringRefEqual(name, mok_ref("mok.plan"))) continue;
    char text[128];
    snprintf(text, sizeof text, "'builtin.module' op unknown attribute '%.*s'", (int)(name.length > 64 ? 64 : name.length),
             name.data);
    mlirEmitError(mlirOperationGetLocation(op), text);
    known = false;
  }
  if (mlirAttributeIsNull(mok_op_get(op, "mok.after"))) {
    mlirEmitError(mlirOperationGetLocation(op),
                  "'builtin.module' op has no attribute 'mok.after', the last pass it went through");
    known = false;
  }
  if (!mok_location_is_plain(mlirOperationGetLocation(op))) {
    mlirEmitError(mlirLocationUnknownGet(mlirOperationGetContext(op)),
                  "'builtin.module' op must have a location loc(\"file\":line:column)");
    known = false;
  }
  MOK_FOR_OPS(inner, mlirModuleGetBody(module)) {
    if (mok_op_is(inner, "mok.kernel")) continue;
    mlirEmitError(mlirOperationGetLocation(inner), "a module of mokgen holds mok.kernel ops only");
    known = false;
  }
  return known;
}

/* MLIR's parser and printer recurse: what nests deeper than this many brackets is refused before they see it. A module has 7. */
enum { MAX_NESTING = 64 };

/* The place of the first bracket that is too deep. */
static bool nests_too_deep(const char *text, int *line, int *column) {
  int depth = 0, angles = 0;
  *line = *column = 1;
  for (bool in_string = false; *text; ++text, ++*column) {
    const bool arrow = *text == '>' && (text[1] == '=' || text[-1] == '-'); /* ">= target", "->": never first in a module */
    if (*text == '\n') {
      ++*line;
      *column = 0;
      in_string = false;
    } else if (in_string) {
      if (*text == '\\' && text[1] && text[1] != '\n') ++text, ++*column;
      else in_string = *text != '"';
    } else if (*text == '"') {
      in_string = true;
    } else if (text[0] == '/' && text[1] == '/') {
      text += strcspn(text, "\n") - 1;
    } else if (strchr("({[", *text)) {
      ++depth;
    } else if (strchr(")}]", *text)) {
      depth -= depth > 0;
    } else if (*text == '<') {
      ++angles;
    } else if (*text == '>' && !arrow) {
      angles -= angles > 0;
    }
    if (depth + angles > MAX_NESTING) return true;
  }
  return false;
}

/* Where a file that is no module at all stops looking like one; false: it starts as a module does. */
static bool starts_otherwise(const char *text, int *line, int *column) {
  *line = *column = 1;
  while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n' || strncmp(text, "//", 2) == 0) {
    const size_t length = *text == '/' ? strcspn(text, "\n") : 1;
    *column = *text == '\n' ? 1 : *column + (int)length;
    *line += *text == '\n';
    text += length;
  }
  return strncmp(text, "module", 6) != 0 && strncmp(text, "\"builtin.module\"", 16) != 0 && *text != '#' && *text != '!';
}

mok_status mok_ir_parse(mok_ir *ir, const char *name, const char *text, size_t size, mok_module **out) {
  *out = NULL;
  const char *source = mok_arena_strndup(ir->arena, text, size); /* the parser wants a NUL behind the text */
  mok_loc start = {.file = mok_arena_strdup(ir->arena, name), .length = 1};
  if (starts_otherwise(source, &start.line, &start.column)) {
    mok_diag_report(ir->diag, MOK_SEVERITY_ERROR, start,
                    "--emit=mok prints one: module attributes {mok.after = .., mok.plan = ..} {..}", "expected a module");
    return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "%s is not a module", name));
  }
  if (nests_too_deep(source, &start.line, &start.column)) {
    mok_diag_report(ir->diag, MOK_SEVERITY_ERROR, start, NULL, "brackets nest deeper than the %d levels that a module may have",
                    (int)MAX_NESTING);
    return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "%s nests too deep", name));
  }
  MlirOperation op = mlirOperationCreateParse(ir->context, mlirStringRefCreate(source, size), mok_ref(name));
  if (!mlirOperationIsNull(op) && !mok_op_is(op, "builtin.module")) {
    mlirEmitError(mlirOperationGetLocation(op), "expected a module");
    mlirOperationDestroy(op);
    op = (MlirOperation){NULL};
  }
  if (!mlirOperationIsNull(op)) {
    MlirModule module = mlirModuleFromOperation(op);
    if (module_attributes_known(module)) {
      *out = mok_module_own(ir, module, true);
      return MOK_OK;
    }
    mlirModuleDestroy(module);
  }
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "%s is not a valid module", name));
}

void mok_ir_print(const mok_module *module, mok_buf *out) {
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsEnableDebugInfo(flags, true, false);
  mlirOpPrintingFlagsUseLocalScope(flags); /* locations in place, no aliases */
  mlirOperationPrintWithFlags(mlirModuleGetOperation(module->module), flags, mok_append_text, out);
  mlirOpPrintingFlagsDestroy(flags);
  if (out->size > 0 && out->data[out->size - 1] != '\n') mok_buf_putc(out, '\n');
}

const char *mok_ir_after(const mok_module *module) {
  const char *after = mok_op_text(module->ir->arena, mlirModuleGetOperation(module->module), "mok.after");
  return after ? after : "";
}

void mok_module_set_after(mok_module *module, const char *pass) {
  MlirOperation op = mlirModuleGetOperation(module->module);
  mlirOperationSetDiscardableAttributeByName(op, mok_ref("mok.after"), mok_attr_text(module->ir->context, pass));
}

void mok_module_set_plan(mok_module *module, const mok_plan *plan) {
  MlirOperation op = mlirModuleGetOperation(module->module);
  MlirAttribute attribute = mok_ir_plan_attribute(module->ir->context, module->ir->arena, plan);
  mlirOperationSetDiscardableAttributeByName(op, mok_ref("mok.plan"), attribute);
}
