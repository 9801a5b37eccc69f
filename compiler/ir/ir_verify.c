/* What ODS cannot say of an op: unknown attributes, unresolved names, illegal words, wrong parents. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "mlir-c/Diagnostics.h"

#include "ir_impl.h"
#include "mok_dialect.h"

typedef struct checker {
  MlirOperation op;
  MlirOperation kernel; /* that holds it, null for the kernel itself */
  mok_arena *arena;
  bool failed;
} checker;

MOK_PRINTF(2, 3) static void complain(checker *c, const char *fmt, ...) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(c->op));
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(c->arena, fmt, args);
  va_end(args);
  mlirEmitError(mlirOperationGetLocation(c->op), mok_arena_printf(c->arena, "'%.*s' op %s", (int)name.length, name.data, text));
  c->failed = true;
}

static bool in_list(const char *word, const char *list) { /* list: "a|b" */
  const size_t length = strlen(word);
  for (const char *p = list; *p;) {
    const char *end = strchr(p, '|');
    const size_t n = end ? (size_t)(end - p) : strlen(p);
    if (n == length && memcmp(p, word, n) == 0) return true;
    p += n + (end ? 1 : 0);
  }
  return false;
}

/* ---- one attribute ---- */

/* `name` must be declared in the kernel by an op of one of `kinds`, "mok.region|mok.argument". */
static void check_symbol(checker *c, const char *key, const char *name, const char *kinds) {
  if (!name) return;
  MlirOperation found = mlirOperationIsNull(c->kernel) ? c->kernel : mok_kernel_symbol(c->kernel, name);
  if (mlirOperationIsNull(found)) {
    complain(c, "attribute '%s': unresolved symbol @%s", key, name);
    return;
  }
  MlirStringRef kind = mlirIdentifierStr(mlirOperationGetName(found));
  const char *kind_text = mok_arena_strndup(c->arena, kind.data, kind.length);
  if (!in_list(kind_text, kinds)) complain(c, "attribute '%s': @%s is a %s, expected %s", key, name, kind_text, kinds);
}

static void check_word(checker *c, const char *key, const char *word, const char *list) {
  if (word && !in_list(word, list)) complain(c, "attribute '%s': unknown word '%s', expected %s", key, word, list);
}

static void check_field(checker *c, const char *key, const char *name) {
  if (!name) return;
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (strcmp(mok_fields[i].name, name) == 0) return;
  complain(c, "attribute '%s': '%s' is no field of the description", key, name);
}

/* The words of role counts: plan fields, extents and the warps of a CTA. */
static void check_count(checker *c, const char *key) {
  const char *word = mok_op_text(c->arena, c->op, key);
  if (!word) {
    if (mok_op_int(c->op, key, 0) < 0) complain(c, "attribute '%s' must not be negative", key);
    return;
  }
  if (strcmp(word, "warps") == 0) return;
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i)
    if (strcmp(mok_plan_fields[i].name, word) == 0) return;
  check_symbol(c, key, word, "mok.extent");
}

static const char kinds_of_symbol[] = "mok.region|mok.argument";

/* What each attribute may hold. A row with words: one of these; with kinds: a symbol of that kind. */
typedef struct attribute_rule {
  const char *key;
  const char *kinds; /* "": see `words` */
  const char *words;
} attribute_rule;

static const attribute_rule rules[] = {
    {"a", kinds_of_symbol, ""},
    {"b", "mok.argument", ""},
    {"result", "mok.region", ""},
    {"argument", "mok.argument", ""},
    {"weights", "mok.argument", ""},
    {"reads", kinds_of_symbol, ""},
    {"writes", kinds_of_symbol, ""},
    {"product", "mok.product", ""},
    {"counter", "mok.counter", ""},
    {"target", "mok.extent", ""},
    {"extent", "mok.extent", ""},
    {"per", "", "row_block|token_block"},
    {"index", "", "row_block|token_block"},
    {"lag", "", "ring_slots"},
    {"slots", "", "ring_slots"},
    {"rows", "", "row_block|token_block"},
    {"edge", "", "bulk_to_bulk|generic_to_bulk|bulk_to_generic|generic_to_generic|read_to_write"},
    {"epilogue", "", MOK_ACTIVATION_WORDS},
    {"activation", "", MOK_ACTIVATION_WORDS},
    {"tile", "", "gate_up|down"},
    {"scope", "", "rank|grid"},
    {"ctas", "", "grid|sms_comm|sms_compute"},
    {"shares", "", "cta|instance"},
};

static void check_value(checker *c, const attribute_rule *rule, const char *value) {
  if (*rule->kinds) check_symbol(c, rule->key, value, rule->kinds);
  else check_word(c, rule->key, value, rule->words);
}

static void check_attributes(checker *c) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    const char *one = mok_op_text(c->arena, c->op, rules[i].key);
    if (one) check_value(c, &rules[i], one);
    const size_t count = mok_op_count(c->op, rules[i].key);
    for (size_t k = 0; k < count; ++k) check_value(c, &rules[i], mok_op_at(c->arena, c->op, rules[i].key, k));
  }
}

/* No kernel comes near these; below them, what later passes calculate does not overflow. */
static void check_integers(checker *c) {
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(c->op); ++i) {
    MlirNamedAttribute a = mlirOperationGetAttribute(c->op, i);
    if (!mlirAttributeIsAInteger(a.attribute)) continue;
    MlirStringRef key = mlirIdentifierStr(a.name);
    const bool bytes = mlirStringRefEqual(key, mok_ref("offset")) || mlirStringRefEqual(key, mok_ref("bytes"));
    const int64_t largest = bytes ? INT64_C(1) << 46 : INT32_MAX, value = mlirIntegerAttrGetValueInt(a.attribute);
    if (value < 0 || value > largest)
      complain(c, "attribute '%.*s': %" PRId64 " is out of range: 0 to %" PRId64, (int)key.length, key.data, value, largest);
  }
}

static bool is_identifier(const char *name) {
  if (*name >= '0' && *name <= '9') return false;
  const size_t length = strlen(name);
  return length > 0 && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length;
}

/* The kernel's text is made of these. */
static void check_names(checker *c) {
  static const char *const keys[] = {"sym_name", "name"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    const char *name = mok_op_text(c->arena, c->op, keys[i]);
    if (!name) continue;
    const char *own = mok_op_is(c->op, "mok.argument") && strncmp(name, "args.", 5) == 0 ? name + 5 : name;
    if (!is_identifier(own)) complain(c, "'%s' is no name: letters, digits and '_'", name);
  }
}

/* ---- whole ops ---- */

static void check_no_strangers(checker *c) {
  for (intptr_t i = 0; i < mlirOperationGetNumDiscardableAttributes(c->op); ++i) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetDiscardableAttribute(c->op, i).name);
    complain(c, "unknown attribute '%.*s'", (int)name.length, name.data);
  }
}

typedef struct parent_rule {
  const char *op, *parent;
} parent_rule;

static const char *parent_of(const char *name) {
  static const parent_rule parents[] = {
      {"mok.kernel", "builtin.module"}, {"mok.role", "mok.phase"},  {"mok.barrier", "mok.phase"},
      {"mok.worker", "mok.role"},       {"mok.task", "mok.worker"},
  };
  for (size_t i = 0; i < sizeof parents / sizeof *parents; ++i)
    if (strcmp(parents[i].op, name) == 0) return parents[i].parent;
  return NULL;
}

static void check_parent(checker *c, const char *name) {
  const char *want = parent_of(name);
  mok_ir_op_kind kind;
  if (!want) want = mok_op_kind_of(c->op, &kind) ? "mok.task" : "mok.kernel";
  if (!mok_op_is(mlirOperationGetParentOperation(c->op), want)) complain(c, "must be directly in a %s", want);
}

/* Names of the ops in a body are distinct; only a phase may hold a role twice, before and after a barrier. */
static void check_distinct_names(checker *c) {
  MOK_FOR_OPS(first, mok_op_body(c->op)) {
    const char *name = mok_op_text(c->arena, first, "sym_name");
    if (!name) continue;
    MlirOperation second = mlirOperationGetNextInBlock(first);
    for (; !mlirOperationIsNull(second) && !mok_op_is(second, "mok.barrier"); second = mlirOperationGetNextInBlock(second)) {
      const char *other = mok_op_text(c->arena, second, "sym_name");
      if (other && strcmp(other, name) == 0) complain(c, "holds two ops named @%s", name);
    }
  }
}

static bool phase_has_task(mok_arena *arena, MlirOperation phase, const char *name) {
  MOK_FOR_OPS(role, mok_op_body(phase)) {
    if (!mok_op_is(role, "mok.role")) continue;
    MOK_FOR_OPS(worker, mok_op_body(role)) {
      MOK_FOR_OPS(task, mok_op_body(worker)) {
        const char *own = mok_op_text(arena, task, "sym_name");
        if (own && strcmp(own, name) == 0) return true;
      }
    }
  }
  return false;
}

static void check_order(checker *c, const char *key) {
  const size_t count = mok_op_count(c->op, key);
  for (size_t i = 0; i < count; ++i) {
    const char *name = mok_op_at(c->arena, c->op, key, i);
    if (!phase_has_task(c->arena, c->op, name)) complain(c, "attribute '%s': the phase has no task @%s", key, name);
    for (size_t k = 0; k < i; ++k)
      if (strcmp(mok_op_at(c->arena, c->op, key, k), name) == 0) complain(c, "attribute '%s': @%s is there twice", key, name);
  }
}

/* The tasks that run a minibatch ahead are the first ones of a minibatch, and not all: their readers follow. */
static void check_ahead(checker *c) {
  const size_t count = mok_op_count(c->op, "ahead"), all = mok_op_count(c->op, "per_minibatch");
  if (count > 0 && count >= all)
    complain(c, "attribute 'ahead': %zu of the %zu tasks per minibatch leave none behind", count, all);
  for (size_t i = 0; i < count && i < all; ++i) {
    const char *name = mok_op_at(c->arena, c->op, "ahead", i), *first = mok_op_at(c->arena, c->op, "per_minibatch", i);
    if (strcmp(name, first) != 0)
      complain(c, "attribute 'ahead': @%s, where per_minibatch has @%s; the first tasks run ahead, in order", name, first);
  }
}

static void check_space(checker *c) {
  static const char *const spaces[] = {"column,row_block",   "row_block,column",   "piece,row_block", "row_block,piece",
                                       "column,token_block", "token_block,column", "token",           "once"};
  const size_t count = mok_op_count(c->op, "space");
  if (count == 0) return;
  mok_buf text = mok_buf_make(c->arena);
  for (size_t i = 0; i < count; ++i) mok_buf_printf(&text, "%s%s", i ? "," : "", mok_op_at(c->arena, c->op, "space", i));
  bool known = false;
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i) known = known || strcmp(spaces[i], text.data) == 0;
  if (!known) complain(c, "attribute 'space': no tile space (%s)", text.data);
  const bool has_extent = mok_op_text(c->arena, c->op, "extent") != NULL;
  if (known && has_extent != (count == 2)) complain(c, "a space of two dimensions, and only that, has an extent");
}

static void check_cuda(checker *c) {
  MlirAttribute cuda = mok_op_get(c->op, "cuda");
  if (mlirAttributeIsNull(cuda)) return;
  static const char keys[] =
      "function|constant|target|enumerator|argument|structure|call|edge|index|lag|text|first_warp|warps|instances";
  for (intptr_t i = 0; i < mlirDictionaryAttrGetNumElements(cuda); ++i) {
    MlirNamedAttribute entry = mlirDictionaryAttrGetElement(cuda, i);
    MlirStringRef name = mlirIdentifierStr(entry.name);
    const char *key = mok_arena_strndup(c->arena, name.data, name.length);
    if (!in_list(key, keys)) complain(c, "attribute 'cuda': unknown key '%s'", key);
    if (!mlirAttributeIsAString(entry.attribute)) complain(c, "attribute 'cuda': '%s' must be a string", key);
  }
}

/* A value is a tensor of rows. */
static void check_results(checker *c) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(c->op); ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(c->op, i));
    if (mlirShapedTypeGetRank(type) < 2) complain(c, "a value has rows and columns");
  }
}

/* A product says where its rows go, or its store does. */
static void check_store(checker *c, bool to_out, bool to_routes) {
  const char *product = mok_op_text(c->arena, c->op, "product");
  MlirOperation declared = mlirOperationIsNull(c->kernel) ? c->kernel : mok_kernel_symbol(c->kernel, product);
  if (!mok_op_is(declared, "mok.product")) return; /* reported as a symbol */
  const bool has_out = mok_op_text(c->arena, declared, "result") != NULL;
  if (to_out && !has_out) complain(c, "product @%s has no out to store to", product);
  if (!to_out && has_out) complain(c, "product @%s has an out, so its rows are not pushed", product);
  const char *rows = mok_op_text(c->arena, declared, "rows");
  if (to_routes && (strcmp(rows, "row_block") != 0 || mok_op_text(c->arena, declared, "epilogue") != NULL))
    complain(c, "only rows of row blocks are pushed, as the product gives them");
}

/* Its rows come from the product's a, by the routes of row blocks. */
static void check_gather(checker *c) {
  const char *product = mok_op_text(c->arena, c->op, "product");
  MlirOperation declared = mlirOperationIsNull(c->kernel) ? c->kernel : mok_kernel_symbol(c->kernel, product);
  if (!mok_op_is(declared, "mok.product")) return; /* reported as a symbol */
  if (strcmp(mok_op_text(c->arena, declared, "rows"), "row_block") != 0) complain(c, "only rows of row blocks are gathered");
  const char *a = mok_op_text(c->arena, declared, "a");
  const size_t count = mok_op_count(c->op, "reads");
  for (size_t i = 0; i < count; ++i)
    if (strcmp(mok_op_at(c->arena, c->op, "reads", i), a) == 0) return;
  complain(c, "attribute 'reads': @%s, the a of product @%s, is not there", a, product);
}

/* An activation joins gate and up, or takes the one matrix there is. */
static void check_halves(checker *c, const char *word, size_t count) {
  const mok_activation *activation = word ? mok_activation_find(word) : NULL;
  const size_t takes = activation && activation->gated ? 2 : 1;
  if (activation && count != takes) complain(c, "%s takes %s, found %zu", word, takes == 2 ? "gate and up" : "one matrix", count);
}

static void check_op(checker *c, const char *name) {
  check_no_strangers(c);
  if (!mok_location_is_plain(mlirOperationGetLocation(c->op))) complain(c, "must have a location loc(\"file\":line:column)");
  check_parent(c, name);
  check_attributes(c);
  check_integers(c);
  check_names(c);
  check_results(c);
  check_cuda(c);
  if (strcmp(name, "mok.kernel") == 0 || strcmp(name, "mok.phase") == 0 || strcmp(name, "mok.role") == 0 ||
      strcmp(name, "mok.worker") == 0) {
    check_distinct_names(c);
  }
  if (strcmp(name, "mok.phase") == 0) {
    check_order(c, "once");
    check_order(c, "per_minibatch");
    check_ahead(c);
  } else if (strcmp(name, "mok.worker") == 0) {
    check_count(c, "first_warp");
    check_count(c, "warps");
    check_count(c, "instances");
  } else if (strcmp(name, "mok.task") == 0) {
    check_space(c);
  } else if (strcmp(name, "mok.wait") == 0) {
    const bool lag = mok_op_text(c->arena, c->op, "lag") != NULL;
    const bool lap = !mlirAttributeIsNull(mok_op_get(c->op, "lap"));
    if (lag && !lap) complain(c, "an index with a lag needs 'lap', the guard of the first lap");
    if (lap && !lag) complain(c, "'lap' without a lag in the index");
  } else if (strcmp(name, "mok.product") == 0 || strcmp(name, "mok.grouped_matmul") == 0) {
    check_field(c, "depth", mok_op_text(c->arena, c->op, "depth"));
    check_field(c, "columns", mok_op_text(c->arena, c->op, "columns"));
    const char *key = strcmp(name, "mok.product") == 0 ? "b" : "weights";
    const size_t count = mok_op_count(c->op, key);
    if (count < 1 || count > 2) complain(c, "attribute '%s': one or two weights, found %zu", key, count);
    const char *epilogue = mok_op_text(c->arena, c->op, "epilogue");
    if (count == 2 && !epilogue) complain(c, "two weights need an epilogue that joins them");
    check_halves(c, epilogue, count);
  } else if (strcmp(name, "mok.gated_activation") == 0) {
    check_halves(c, mok_op_text(c->arena, c->op, "activation"), (size_t)mlirOperationGetNumOperands(c->op));
  } else if (strcmp(name, "mok.store") == 0 || strcmp(name, "mok.store_pushed") == 0 || strcmp(name, "mok.store_split") == 0) {
    check_store(c, strcmp(name, "mok.store_pushed") != 0, strcmp(name, "mok.store") != 0);
  } else if (strcmp(name, "mok.load_gathered") == 0) {
    check_gather(c);
  } else if (strcmp(name, "mok.barrier") == 0) {
    const char *scope = mok_op_text(c->arena, c->op, "scope");
    const bool named = mok_op_text(c->arena, c->op, "name") != NULL;
    if ((strcmp(scope, "rank") == 0) != named) complain(c, "a rank barrier, and only that, has a name");
  } else if (strcmp(name, "mok.argument") == 0) {
    const char *symbol = mok_op_text(c->arena, c->op, "sym_name");
    if (strncmp(symbol, "args.", 5) != 0 || !symbol[5]) complain(c, "its name must be @args.NAME");
  } else if (strcmp(name, "mok.input") == 0 || strcmp(name, "mok.output") == 0) {
    const char *symbol = mok_op_text(c->arena, c->op, "argument");
    if (symbol && strncmp(symbol, "args.", 5) != 0) complain(c, "attribute 'argument': must be @args.NAME");
  }
}

bool mok_verify_op(MlirOperation op) {
  checker c = {.op = op, .kernel = mok_op_parent(op, "mok.kernel"), .arena = mok_arena_create(), .failed = false};
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  check_op(&c, mok_arena_strndup(c.arena, name.data, name.length));
  mok_arena_destroy(c.arena);
  return !c.failed;
}

bool mok_verify_dialect_attribute(MlirOperation op, MlirStringRef name, MlirAttribute value) {
  char text[160];
  const char *problem = NULL;
  if (!mok_op_is(op, "builtin.module")) {
    problem = "unknown attribute";
  } else if (mlirStringRefEqual(name, mok_ref("mok.after"))) {
    if (!mlirAttributeIsAString(value)) problem = "must be a string, attribute";
  } else if (mlirStringRefEqual(name, mok_ref("mok.plan"))) {
    if (!mlirAttributeIsADictionary(value)) problem = "must be a dictionary, attribute";
  } else {
    problem = "unknown attribute";
  }
  if (!problem) return true;
  snprintf(text, sizeof text, "%s '%.*s'", problem, (int)(name.length > 80 ? 80 : name.length), name.data);
  mlirEmitError(mlirOperationGetLocation(op), text);
  return false;
}
