/* Stage 3: the layer as values. Each op carries the place of the field that asked for it. */
#include <string.h>

#include "ir_impl.h"

typedef struct builder {
  mok_ir *ir;
  MlirContext context;
  mok_arena *arena;
  const mok_model *model;
  MlirBlock body; /* of the kernel */
} builder;

static MlirLocation loc_of_field(const builder *b, mok_field_id field) { return mok_loc_make(b->context, b->model->loc[field]); }

static MlirValue append_value(mok_draft *draft, MlirType type, MlirBlock block) {
  draft->result = type;
  return mlirOperationGetResult(mok_draft_append(draft, block), 0);
}

static MlirType rows_type(builder *b, int64_t columns) {
  return mok_type(b->context, b->arena, "tensor<?x%lldxbf16>", (long long)columns);
}

/* ---- what the caller passes ---- */

typedef struct argument {
  const char *name;
  mok_field_id field;
  int64_t rows, columns; /* of a weight, for each expert; one shared expert has the same rank. rows 0: a row for each token */
  const char *element;
} argument;

enum { MAX_ARGUMENTS = 10 };

static size_t list_arguments(const mok_model *m, argument list[MAX_ARGUMENTS]) {
  const bool gated = mok_is_gated(m);
  const mok_field_id routed = MOK_FIELD_intermediate, shared = MOK_FIELD_shared_experts;
  size_t n = 0;
  list[n++] = (argument){"x", MOK_FIELD_hidden, 0, m->hidden, "bf16"};
  list[n++] = (argument){"topk_ids", MOK_FIELD_top_k, 0, m->top_k, "i32"};
  list[n++] = (argument){"topk_weights", MOK_FIELD_top_k, 0, m->top_k, "f32"};
  if (gated) list[n++] = (argument){"gate", routed, m->intermediate, m->hidden, "bf16"};
  list[n++] = (argument){"up", routed, m->intermediate, m->hidden, "bf16"};
  list[n++] = (argument){"down", routed, m->hidden, m->intermediate, "bf16"};
  if (m->shared_intermediate > 0) {
    if (gated) list[n++] = (argument){"shared_gate", shared, m->shared_intermediate, m->hidden, "bf16"};
    list[n++] = (argument){"shared_up", shared, m->shared_intermediate, m->hidden, "bf16"};
    list[n++] = (argument){"shared_down", shared, m->hidden, m->shared_intermediate, "bf16"};
  }
  list[n++] = (argument){"out", MOK_FIELD_hidden, 0, m->hidden, "bf16"};
  return n;
}

static const char *type_of(mok_arena *arena, const argument *a) {
  if (a->rows == 0) return mok_arena_printf(arena, "tensor<?x%lldx%s>", (long long)a->columns, a->element);
  return mok_arena_printf(arena, "tensor<?x%lldx%lldx%s>", (long long)a->rows, (long long)a->columns, a->element);
}

const char *mok_ir_argument_type(mok_arena *arena, const mok_model *model, const char *name) {
  argument list[MAX_ARGUMENTS];
  const size_t count = list_arguments(model, list);
  for (size_t i = 0; i < count; ++i)
    if (strcmp(list[i].name, name) == 0) return type_of(arena, &list[i]);
  return NULL;
}

static void declare_arguments(builder *b) {
  argument list[MAX_ARGUMENTS];
  const size_t count = list_arguments(b->model, list);
  for (size_t i = 0; i < count; ++i) {
    mok_draft draft = mok_draft_make(b->context, loc_of_field(b, list[i].field), "mok.argument");
    mok_draft_text(&draft, "sym_name", mok_arena_printf(b->arena, "args.%s", list[i].name));
    mok_draft_set(&draft, "type", mlirTypeAttrGet(mok_type(b->context, b->arena, "%s", type_of(b->arena, &list[i]))));
    mok_draft_append(&draft, b->body);
  }
}

/* ---- the layer ---- */

static MlirValue input(builder *b, mok_field_id field, const char *name) {
  const char *symbol = mok_arena_printf(b->arena, "args.%s", name);
  MlirType type = mlirTypeAttrGetValue(mok_op_get(mok_kernel_symbol(mlirBlockGetParentOperation(b->body), symbol), "type"));
  mok_draft draft = mok_draft_make(b->context, loc_of_field(b, field), "mok.input");
  mok_draft_symbol(&draft, "argument", symbol);
  return append_value(&draft, type, b->body);
}

static MlirValue matmul(builder *b, mok_field_id field, MlirValue rows, const char *weight, const char *depth,
                        const char *columns, int64_t width) {
  const char *symbol = mok_arena_printf(b->arena, "args.%s", weight);
  mok_draft draft = mok_draft_make(b->context, loc_of_field(b, field), "mok.grouped_matmul");
  mok_draft_operand(&draft, rows);
  mok_draft_symbols(&draft, "weights", &symbol, 1);
  mok_draft_text(&draft, "depth", depth);
  mok_draft_text(&draft, "columns", columns);
  return append_value(&draft, rows_type(b, width), b->body);
}

/* y = down(act(gate x, up x)) for routed rows or for the shared expert on tokens. */
static MlirValue expert(builder *b, MlirValue rows, bool shared) {
  const mok_model *m = b->model;
  const mok_field_id field = shared ? MOK_FIELD_shared_experts : MOK_FIELD_intermediate;
  const char *width_name = shared ? "shared_intermediate" : "intermediate";
  const int64_t width = shared ? m->shared_intermediate : m->intermediate;

  MlirValue halves[2];
  int half_count = 0;
  if (mok_is_gated(m))
    halves[half_count++] = matmul(b, field, rows, shared ? "shared_gate" : "gate", "hidden", width_name, width);
  halves[half_count++] = matmul(b, field, rows, shared ? "shared_up" : "up", "hidden", width_name, width);

  mok_draft draft = mok_draft_make(b->context, loc_of_field(b, MOK_FIELD_activation), "mok.gated_activation");
  mok_draft_text(&draft, "activation", mok_field_word(b->arena, &mok_fields[MOK_FIELD_activation], m->activation));
  for (int i = 0; i < half_count; ++i) mok_draft_operand(&draft, halves[i]);
  if (m->clamp.present) mok_draft_set(&draft, "clamp", mok_attr_float(b->context, m->clamp.value));
  MlirValue h = append_value(&draft, rows_type(b, width), b->body);
  return matmul(b, field, h, shared ? "shared_down" : "down", width_name, "hidden", m->hidden);
}

static MlirValue binary(builder *b, mok_field_id field, const char *name, MlirValue first, MlirValue second, MlirType type) {
  mok_draft draft = mok_draft_make(b->context, loc_of_field(b, field), name);
  mok_draft_operand(&draft, first);
  mok_draft_operand(&draft, second);
  return append_value(&draft, type, b->body);
}

static void build_forward(builder *b) {
  const mok_model *m = b->model;
  MlirValue x = input(b, MOK_FIELD_hidden, "x");
  MlirValue ids = input(b, MOK_FIELD_top_k, "topk_ids");
  MlirValue weights = input(b, MOK_FIELD_top_k, "topk_weights");

  const bool has_shared = m->shared_intermediate > 0;
  MlirValue shared = {NULL};
  if (has_shared) shared = expert(b, x, true);

  mok_draft route = mok_draft_make(b->context, loc_of_field(b, MOK_FIELD_top_k), "mok.route");
  mok_draft_operand(&route, ids);
  MlirValue routes = append_value(&route, mok_type(b->context, b->arena, "tensor<?x2xi32>"), b->body);
  MlirValue rows = binary(b, MOK_FIELD_gpus, "mok.dispatch", x, routes, rows_type(b, m->hidden));
  MlirValue y = expert(b, rows, false);
  MlirType slots_type = mok_type(b->context, b->arena, "tensor<?x%lldx%lldxbf16>", (long long)m->top_k, (long long)m->hidden);
  MlirValue slots = binary(b, MOK_FIELD_gpus, "mok.combine", y, routes, slots_type);
  MlirValue scaled = binary(b, MOK_FIELD_top_k, "mok.scale", slots, weights, slots_type);

  mok_draft reduce = mok_draft_make(b->context, loc_of_field(b, MOK_FIELD_top_k), "mok.reduce");
  const int32_t segments[] = {1, 0, has_shared ? 1 : 0};
  mok_draft_operand(&reduce, scaled);
  if (has_shared) mok_draft_operand(&reduce, shared);
  mok_draft_set(&reduce, "operandSegmentSizes", mlirDenseI32ArrayGet(b->context, 3, segments));
  MlirValue sum = append_value(&reduce, rows_type(b, m->hidden), b->body);

  mok_draft output = mok_draft_make(b->context, loc_of_field(b, MOK_FIELD_hidden), "mok.output");
  mok_draft_operand(&output, sum);
  mok_draft_symbol(&output, "argument", "args.out");
  mok_draft_append(&output, b->body);
}

mok_status mok_ir_build(mok_ir *ir, const mok_plan *plan, mok_module **out) {
  *out = NULL;
  const mok_model *model = plan->model;
  if (model->passes != MOK_PASS_FORWARD) return MOK_ERROR(MOK_ERR_NO_PLAN, "not in this version: passes other than forward");
  if (model->dtype != MOK_BF16) return MOK_ERROR(MOK_ERR_NO_PLAN, "not in this version: dtype other than bf16");

  MlirLocation loc = mok_loc_make(ir->context, model->loc[MOK_FIELD_name]);
  mok_module *module = mok_module_own(ir, mlirModuleCreateEmpty(loc), false);
  mok_module_set_after(module, "build");
  mok_module_set_plan(module, plan);

  mok_draft kernel = mok_draft_make(ir->context, loc, "mok.kernel");
  mok_draft_text(&kernel, "sym_name", "forward");
  kernel.body = true;
  MlirOperation op = mok_draft_append(&kernel, mlirModuleGetBody(module->module));
  builder b = {.ir = ir, .context = ir->context, .arena = ir->arena, .model = model, .body = mok_op_body(op)};
  declare_arguments(&b);
  build_forward(&b);
  if (!mlirOperationVerify(mlirModuleGetOperation(module->module)))
    return MOK_ERROR(MOK_ERR_CODEGEN, "the module built from the plan is not valid");
  *out = module;
  return MOK_OK;
}
