/* lower-to-cuda: everything that kernel.cu spells gets its spelling, as `cuda {..}` of its op.
 *
 *   worker load { .. }     ->  worker load cuda {function = "compute_load", ..} { .. }
 *   counter x_ready        ->  counter x_ready .. cuda {constant = "COUNTER_X_READY", target = "X_READY_TARGET"}
 */
#include <ctype.h>
#include <string.h>

#include "pass_impl.h"

typedef struct speller {
  mok_pass_context *context;
  MlirNamedAttribute entries[8];
  int count;
} speller;

static void put(speller *s, const char *key, const char *text) {
  if (!text) return;
  s->entries[s->count++] =
      mlirNamedAttributeGet(mlirIdentifierGet(s->context->context, mok_ref(key)), mok_attr_text(s->context->context, text));
}

/* Replaces what stood there: a module that was lowered before may have been edited since. */
static void attach(speller *s, MlirOperation op) {
  mlirOperationRemoveAttributeByName(op, mok_ref("cuda"));
  if (s->count > 0) mok_op_set(op, "cuda", mlirDictionaryAttrGet(s->context->context, s->count, s->entries));
  s->count = 0;
}

static const char *capitals(speller *s, const char *prefix, const char *name, const char *suffix) {
  char *text = mok_arena_printf(s->context->arena, "%s%s%s", prefix, name, suffix);
  for (char *p = text; *p; ++p) *p = (char)toupper((unsigned char)*p);
  return text;
}

static const char *text_of(speller *s, MlirOperation op, const char *key) { return mok_op_text(s->context->arena, op, key); }

/* A plan field is PLAN_NAME, an extent its enumerator. */
static const char *named(speller *s, const char *name) {
  const bool extent = !mlirOperationIsNull(mok_kernel_symbol(s->context->kernel, name));
  return capitals(s, extent ? "" : "PLAN_", name, "");
}

static const char *count_text(speller *s, MlirOperation op, const char *key) {
  const char *symbol = text_of(s, op, key);
  return symbol ? named(s, symbol) : mok_arena_printf(s->context->arena, "%lld", (long long)mok_op_int(op, key, 0));
}

static void spell_index(speller *s, MlirOperation op) {
  put(s, "index", "t.row_block"); /* mok_task calls a token block so, too */
  const char *lag = text_of(s, op, "lag");
  if (lag) put(s, "lag", named(s, lag));
  put(s, "edge", capitals(s, "MOK_EDGE_", text_of(s, op, "edge"), ""));
}

static const char *target_text(speller *s, MlirOperation wait) {
  const char *counter = text_of(s, wait, "counter");
  MlirOperation declared = mok_kernel_symbol(s->context->kernel, counter);
  if (mlirAttributeEqual(mok_op_get(declared, "target"), mok_op_get(wait, "target"))) return capitals(s, "", counter, "_target");
  mok_buf text = mok_buf_make(s->context->arena); /* --no-check let another target through */
  for (size_t i = 0; i < mok_op_count(wait, "target"); ++i)
    mok_buf_printf(&text, "%s%s", i ? " * " : "", named(s, mok_op_at(s->context->arena, wait, "target", i)));
  return text.data;
}

static const char *store_call(speller *s, MlirOperation op) {
  MlirOperation product = mok_kernel_symbol(s->context->kernel, text_of(s, op, "product"));
  return text_of(s, product, "epilogue") ? "mok_store_activated" : "mok_store";
}

static void spell_step(speller *s, MlirOperation op, mok_ir_op_kind kind) {
  if (kind == MOK_IR_WAIT || kind == MOK_IR_SIGNAL) spell_index(s, op);
  if (kind == MOK_IR_WAIT) put(s, "target", target_text(s, op));
  put(s, "call", kind == MOK_IR_STORE ? store_call(s, op) : mok_op_table[kind].call);
  attach(s, op);
}

static void spell_task(speller *s, MlirOperation phase, MlirOperation task) {
  static const char *const lists[] = {"once", "per_minibatch"};
  const char *name = text_of(s, task, "sym_name");
  for (size_t l = 0; l < 2; ++l)
    for (size_t i = 0; i < mok_op_count(phase, lists[l]); ++i)
      if (strcmp(mok_op_at(s->context->arena, phase, lists[l], i), name) == 0)
        put(s, "enumerator", capitals(s, "TASK_", name, ""));
  attach(s, task);
  MOK_FOR_OPS(op, mok_op_body(task)) {
    mok_ir_op_kind kind;
    if (mok_op_kind_of(op, &kind)) spell_step(s, op, kind);
  }
}

static void spell_worker(speller *s, MlirOperation phase, MlirOperation role, MlirOperation worker) {
  const bool all = strcmp(text_of(s, role, "sym_name"), "all") == 0;
  const char *first = all ? text_of(s, phase, "sym_name") : text_of(s, role, "sym_name");
  put(s, "function", mok_arena_printf(s->context->arena, "%s_%s", first, text_of(s, worker, "sym_name")));
  put(s, "first_warp", count_text(s, worker, "first_warp"));
  put(s, "warps", count_text(s, worker, "warps"));
  put(s, "instances", count_text(s, worker, "instances"));
  attach(s, worker);
  MOK_FOR_OPS(task, mok_op_body(worker)) spell_task(s, phase, task);
}

static void spell_role(speller *s, MlirOperation phase, MlirOperation role) {
  const char *ctas = text_of(s, role, "ctas");
  if (strcmp(ctas, "grid") != 0) {
    put(s, "enumerator", capitals(s, "ROLE_", text_of(s, role, "sym_name"), ""));
    put(s, "argument", mok_arena_printf(s->context->arena, "%s_ctas", ctas + strlen("sms_")));
  }
  attach(s, role);
  MOK_FOR_OPS(worker, mok_op_body(role)) spell_worker(s, phase, role, worker);
}

static void spell_phase(speller *s, MlirOperation phase) {
  put(s, "constant", capitals(s, "MOK_PHASE_", text_of(s, phase, "sym_name"), ""));
  attach(s, phase);
  MOK_FOR_OPS(item, mok_op_body(phase)) {
    if (mok_op_is(item, "mok.role")) {
      spell_role(s, phase, item);
    } else {
      const char *name = text_of(s, item, "name");
      if (name) put(s, "constant", capitals(s, "BARRIER_", name, ""));
      attach(s, item);
    }
  }
}

static mok_status run(mok_pass_context *context) {
  speller s = {.context = context};
  put(&s, "function", mok_arena_printf(context->arena, "mok_%s", text_of(&s, context->kernel, "sym_name")));
  attach(&s, context->kernel);
  MOK_FOR_OPS(op, mok_op_body(context->kernel)) {
    const char *name = text_of(&s, op, "sym_name");
    if (mok_op_is(op, "mok.extent")) {
      put(&s, "constant", capitals(&s, "", name, ""));
    } else if (mok_op_is(op, "mok.counter")) {
      put(&s, "constant", capitals(&s, "COUNTER_", name, ""));
      put(&s, "target", capitals(&s, "", name, "_target"));
    } else if (mok_op_is(op, "mok.product")) {
      put(&s, "structure", mok_arena_printf(context->arena, "product_%s", name));
    } else if (mok_op_is(op, "mok.phase")) {
      spell_phase(&s, op);
      continue;
    }
    attach(&s, op);
  }
  return MOK_OK;
}

const mok_pass mok_pass_lower_to_cuda = {
    .name = "lower-to-cuda",
    .summary = "names, constants and calls as kernel.cu spells them",
    .requires_ = "protocol altitude, checked",
    .guarantees = "every op that kernel.cu shows carries its text",
    .run = run,
};
