/* assign-roles: values become regions, ops become tasks of workers.
 *
 *   %rows = dispatch %x by %routes              phase experts { role comm { worker pull { task dispatch { pull } }
 *   %up = grouped_matmul %rows with(...)    ->                   role compute { worker load { task up { load } }
 *   %slots = combine %y by %routes                                              worker mma { task up { mma store } } }
 *
 * With comm = "epilogue" a product whose rows are combined pushes them itself: no out, no worker push, no task combine.
 *   %y = grouped_matmul  %slots = combine %y   ->   worker mma { task down { mma  store_pushed writes(@combine) } }
 *
 * With own_rows = "direct" only rows of other ranks are moved. The up product picks a row from x or ring_x, the down product puts
 * it into its slot or ring_y.
 *   worker load { task up { load_gathered reads(@row_source, @x, @ring_x) } }  worker mma { task down { mma  store_split } }
 * One rank then moves nothing: products read dispatched rows where their tokens are and push their rows, and
 * role compute has all CTAs.
 *   %rows = dispatch %x  %up = grouped_matmul %rows   ->   worker load { task up { load_gathered reads(@row_source, @args.x) } }
 *
 * Three phases: route (all CTAs), experts (roles side by side), reduce (all CTAs). The rank barriers between them carry
 * everything that crosses GPUs: routes and tokens out of the first, combined rows out of the second.
 */
#include <string.h>

#include "pass_impl.h"

enum { MAX_VALUES = 32, WARP_THREADS = 32, WARPGROUP_THREADS = 128 };

/* Which memory holds a value, and whether its rows are the rank's padded rows or tokens. */
typedef struct placed {
  MlirValue value;
  const char *symbol; /* region or @args.NAME */
  bool padded_rows;
  const char *routes; /* padded rows that are picked by their routes; NULL: they lie one after the other */
  const char *own;    /* of those, where the rank's own ones are, if not in `symbol` */
  bool split;         /* a product's rows, the rank's own of which are where their mok.combine would take them */
  bool pushed;        /* a product's rows, which its epilogue has taken to where their mok.combine would */
} placed;

typedef struct assigner {
  mok_pass_context *context;
  placed values[MAX_VALUES];
  size_t value_count;
  MlirBlock experts, pull, push, load, mma; /* bodies of phase experts and of its workers; null until needed */
  MlirBlock kernel;
} assigner;

static mok_status remember(assigner *a, MlirOperation op, const char *symbol, bool padded_rows) {
  if (a->value_count == MAX_VALUES) return mok_pass_fail(a->context, op, "more than %d values in a kernel", MAX_VALUES);
  a->values[a->value_count++] = (placed){.value = mlirOperationGetResult(op, 0), .symbol = symbol, .padded_rows = padded_rows};
  return MOK_OK;
}

static mok_status operand(assigner *a, MlirOperation op, intptr_t i, const placed **out) {
  MlirValue value = mlirOperationGetOperand(op, i);
  for (size_t k = 0; k < a->value_count; ++k) {
    *out = &a->values[k];
    if (mlirValueEqual(a->values[k].value, value)) return MOK_OK;
  }
  return mok_pass_fail(a->context, op, "operand %d comes from no op that assign-roles knows", (int)i);
}

/* ---- making ops ---- */

static mok_draft draft_at(assigner *a, MlirOperation source, const char *name) {
  return mok_draft_make(a->context->context, mlirOperationGetLocation(source), name);
}

static void declare_region(assigner *a, MlirOperation source, const char *name, const char *type) {
  mok_draft draft = draft_at(a, source, "mok.region");
  mok_draft_text(&draft, "sym_name", name);
  mok_draft_set(&draft, "type", mlirTypeAttrGet(mok_type(a->context->context, a->context->arena, "%s", type)));
  mok_pass_declare(a->context, &draft);
}

/* Rows x columns of bf16, the columns of the op's result. */
static void declare_rows(assigner *a, MlirOperation op, const char *name) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  const int64_t columns = mlirShapedTypeGetDimSize(type, mlirShapedTypeGetRank(type) - 1);
  declare_region(a, op, name, mok_arena_printf(a->context->arena, "memref<?x%lldxbf16>", (long long)columns));
}

static MlirBlock make_scope(mok_draft *draft, MlirBlock parent) {
  draft->body = true;
  return mok_op_body(mok_draft_append(draft, parent));
}

static MlirBlock make_phase(assigner *a, MlirOperation source, const char *name) {
  mok_draft draft = draft_at(a, source, "mok.phase");
  mok_draft_text(&draft, "sym_name", name);
  return make_scope(&draft, a->kernel);
}

static MlirBlock make_role(assigner *a, MlirOperation source, MlirBlock phase, const char *name, const char *ctas,
                           int64_t cluster) {
  mok_draft draft = draft_at(a, source, "mok.role");
  mok_draft_text(&draft, "sym_name", name);
  mok_draft_text(&draft, "ctas", ctas);
  if (cluster > 1) mok_draft_int(&draft, "cluster", cluster);
  return make_scope(&draft, phase);
}

typedef struct count {
  const char *symbol; /* or */
  int64_t number;
} count;

static MlirAttribute count_attribute(assigner *a, count c) {
  return c.symbol ? mok_attr_text(a->context->context, c.symbol) : mok_attr_int(a->context->context, c.number);
}

static MlirBlock make_worker(assigner *a, MlirOperation source, MlirBlock role, const char *name, count first_warp, count warps,
                             count instances, const char *shares) {
  mok_draft draft = draft_at(a, source, "mok.worker");
  mok_draft_text(&draft, "sym_name", name);
  mok_draft_set(&draft, "first_warp", count_attribute(a, first_warp));
  mok_draft_set(&draft, "warps", count_attribute(a, warps));
  mok_draft_set(&draft, "instances", count_attribute(a, instances));
  mok_draft_text(&draft, "shares", shares);
  return make_scope(&draft, role);
}

static MlirBlock make_task(assigner *a, MlirOperation source, MlirBlock worker, const char *name) {
  mok_draft draft = draft_at(a, source, "mok.task");
  mok_draft_text(&draft, "sym_name", name);
  return make_scope(&draft, worker);
}

static void make_barrier(assigner *a, MlirOperation source, MlirBlock phase, const char *rank_name) {
  mok_draft draft = draft_at(a, source, "mok.barrier");
  mok_draft_text(&draft, "scope", rank_name ? "rank" : "grid");
  mok_draft_text(&draft, "name", rank_name);
  mok_draft_append(&draft, phase);
}

/* NULL-terminated lists of symbols. */
static void make_move(assigner *a, MlirOperation source, MlirBlock task, const char *name, const char *const *reads,
                      const char *const *writes) {
  mok_draft draft = draft_at(a, source, name);
  size_t read_count = 0, write_count = 0;
  while (reads[read_count]) ++read_count;
  while (writes[write_count]) ++write_count;
  mok_draft_symbols(&draft, "reads", reads, read_count);
  mok_draft_symbols(&draft, "writes", writes, write_count);
  mok_draft_append(&draft, task);
}

static void make_step(assigner *a, MlirOperation source, MlirBlock task, const char *name, const char *product) {
  mok_draft draft = draft_at(a, source, name);
  mok_draft_symbol(&draft, "product", product);
  mok_draft_append(&draft, task);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- phase route ---- */

/* A worker of all warps of all CTAs. */
static MlirBlock whole_cta_task(assigner *a, MlirOperation source, MlirBlock phase, const char *name) {
  MlirBlock role = make_role(a, source, phase, "all", "grid", 1);
  MlirBlock worker = make_worker(a, source, role, name, (count){NULL, 0}, (count){"warps", 0}, (count){NULL, 1}, "cta");
  return make_task(a, source, worker, name);
}

static mok_status assign_route(assigner *a, MlirOperation op) {
  const placed *ids = NULL;
  MOK_TRY(operand(a, op, 0, &ids));
  const char *ids_symbol = ids->symbol;
  declare_region(a, op, "route_offsets", "memref<?xi32>");
  declare_region(a, op, "route_list", "memref<?xi32>");
  declare_region(a, op, "expert_base", "memref<?xi32>");
  declare_region(a, op, "expert_rows", "memref<?xi32>");
  declare_region(a, op, "block_expert", "memref<?xi32>");
  declare_region(a, op, "row_source", "memref<?x2xi32>");

  MlirBlock phase = make_phase(a, op, "route");
  MlirBlock publish = whole_cta_task(a, op, phase, "publish");
  make_move(a, op, publish, "mok.sort_routes", LIST(ids_symbol), LIST("route_offsets", "route_list"));
  if (a->context->plan->model->gpus > 1) { /* alone, a rank reads its caller's tokens */
    declare_region(a, op, "x",
                   mok_arena_printf(a->context->arena, "memref<?x%lldxbf16>", (long long)a->context->plan->model->hidden));
    make_move(a, op, publish, "mok.publish_tokens", LIST("args.x"), LIST("x"));
  }
  make_barrier(a, op, phase, "routed");
  /* What reads the peers' lists belongs to the next phase: a staged launch ends with this barrier. */
  a->experts = make_phase(a, op, "experts");
  make_move(a, op, whole_cta_task(a, op, a->experts, "place_experts"), "mok.place_experts", LIST("route_offsets"),
            LIST("expert_base", "expert_rows", "block_expert"));
  make_barrier(a, op, a->experts, NULL);
  make_move(a, op, whole_cta_task(a, op, a->experts, "place_rows"), "mok.place_rows",
            LIST("route_offsets", "route_list", "expert_base", "expert_rows"), LIST("row_source"));
  make_barrier(a, op, a->experts, NULL);
  return remember(a, op, "row_source", true);
}

/* ---- phase experts ---- */

static bool moves_rows(const mok_plan *plan) { return plan->model->gpus > 1 || plan->own_rows != MOK_OWN_DIRECT; }

static mok_status open_comm(assigner *a, MlirOperation source) {
  const mok_plan *plan = a->context->plan;
  const bool pushers = plan->comm == MOK_COMM_SMS; /* else the down product's epilogue pushes */
  if (!pushers && plan->comm != MOK_COMM_EPILOGUE)
    return mok_pass_fail(a->context, source, "row movement by spare warps of compute CTAs is not in this version");
  if (plan->sms_comm < 1) return mok_pass_fail(a->context, source, "each role needs a CTA");
  if (plan->pull_warps < 1 || (pushers ? plan->push_warps < 1 : plan->push_warps != 0) ||
      plan->pull_warps + plan->push_warps > plan->threads / WARP_THREADS)
    return mok_pass_fail(a->context, source, "%lld pulling and %lld pushing warps do not fit %lld threads",
                         (long long)plan->pull_warps, (long long)plan->push_warps, (long long)plan->threads);
  MlirBlock comm = make_role(a, source, a->experts, "comm", "sms_comm", 1);
  a->pull = make_worker(a, source, comm, "pull", (count){NULL, 0}, (count){NULL, 1}, (count){"pull_warps", 0}, "instance");
  if (pushers)
    a->push =
        make_worker(a, source, comm, "push", (count){"pull_warps", 0}, (count){NULL, 1}, (count){"push_warps", 0}, "instance");
  return MOK_OK;
}

/* Its roles, after the steps that place the rows. */
static mok_status open_experts(assigner *a, MlirOperation source) {
  const mok_plan *plan = a->context->plan;
  if (plan->sms_compute < 1) return mok_pass_fail(a->context, source, "each role needs a CTA");
  const int64_t consumers = plan->threads / WARPGROUP_THREADS - 1; /* the first warpgroup loads */
  if (plan->threads % WARPGROUP_THREADS != 0 || consumers < 1)
    return mok_pass_fail(a->context, source, "%lld threads leave no warpgroup for the products", (long long)plan->threads);
  mok_pass_extent(a->context, "mma_instances", consumers, "threads / 128 - 1");
  const bool comm = moves_rows(plan);
  if (comm) MOK_TRY(open_comm(a, source));
  MlirBlock compute = make_role(a, source, a->experts, "compute", comm ? "sms_compute" : "grid", plan->cluster);
  const int64_t warps =
      plan->own_rows == MOK_OWN_DIRECT ? WARPGROUP_THREADS / WARP_THREADS : 1; /* gathering takes many threads */
  a->load = make_worker(a, source, compute, "load", (count){NULL, 0}, (count){NULL, warps}, (count){NULL, 1}, "cta");
  a->mma = make_worker(a, source, compute, "mma", (count){NULL, WARPGROUP_THREADS / WARP_THREADS},
                       (count){NULL, WARPGROUP_THREADS / WARP_THREADS}, (count){"mma_instances", 0}, "cta");
  return MOK_OK;
}

static mok_status assign_dispatch(assigner *a, MlirOperation op) {
  const placed *tokens = NULL, *routes = NULL;
  MOK_TRY(operand(a, op, 0, &tokens));
  MOK_TRY(operand(a, op, 1, &routes));
  const char *source = a->context->plan->model->gpus > 1 ? "x" : tokens->symbol, *where = routes->symbol;
  if (!moves_rows(a->context->plan)) {
    MOK_TRY(remember(a, op, source, true));
    a->values[a->value_count - 1].routes = where;
    return MOK_OK;
  }
  declare_rows(a, op, "ring_x");
  make_move(a, op, make_task(a, op, a->pull, "dispatch"), "mok.pull", LIST(where, source), LIST("ring_x"));
  MOK_TRY(remember(a, op, "ring_x", true));
  if (a->context->plan->own_rows != MOK_OWN_DIRECT) return MOK_OK;
  a->values[a->value_count - 1].routes = where;
  a->values[a->value_count - 1].own = source;
  return MOK_OK;
}

static mok_status assign_combine(assigner *a, MlirOperation op) {
  const placed *rows = NULL, *routes = NULL;
  MOK_TRY(operand(a, op, 0, &rows));
  MOK_TRY(operand(a, op, 1, &routes));
  if (rows->pushed) return remember(a, op, rows->symbol, false);
  if (mlirBlockIsNull(a->push))
    return mok_pass_fail(a->context, op, "without pushing workers only a product's rows that go nowhere else are combined");
  if (a->context->plan->own_rows == MOK_OWN_DIRECT && !rows->split)
    return mok_pass_fail(a->context, op, "with own_rows = \"direct\" only a product's rows that go nowhere else are combined");
  declare_rows(a, op, "combine");
  make_move(a, op, make_task(a, op, a->push, "combine"), "mok.push", LIST(routes->symbol, rows->symbol), LIST("combine"));
  return remember(a, op, "combine", false);
}

/* Products push all their rows: nobody else does. */
static bool products_push(const mok_plan *plan) { return plan->comm == MOK_COMM_EPILOGUE || !moves_rows(plan); }

/* The mok.combine that the product's own epilogue does, for all rows or the rank's own; null: it stores to an out. */
static MlirOperation combine_in_epilogue(const assigner *a, MlirOperation op) {
  const mok_plan *plan = a->context->plan;
  const bool some = products_push(plan) || plan->own_rows == MOK_OWN_DIRECT;
  if (!some || !mlirAttributeIsNull(mok_op_get(op, "epilogue"))) return (MlirOperation){NULL};
  MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(op, 0));
  if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use))) return (MlirOperation){NULL};
  MlirOperation user = mlirOpOperandGetOwner(use);
  return mok_op_is(user, "mok.combine") && mlirOpOperandGetOperandNumber(use) == 0 ? user : (MlirOperation){NULL};
}

static mok_status make_store(assigner *a, MlirOperation op, MlirBlock task, const char *product, MlirOperation combine) {
  if (mlirOperationIsNull(combine)) {
    make_step(a, op, task, "mok.store", product);
    return MOK_OK;
  }
  const placed *routes = NULL;
  MOK_TRY(operand(a, combine, 1, &routes));
  mok_draft draft = draft_at(a, op, products_push(a->context->plan) ? "mok.store_pushed" : "mok.store_split");
  mok_draft_symbol(&draft, "product", product);
  mok_draft_symbols(&draft, "reads", LIST(routes->symbol), 1);
  mok_draft_symbols(&draft, "writes", LIST("combine"), 1);
  mok_draft_append(&draft, task);
  return MOK_OK;
}

static void make_load(assigner *a, MlirOperation op, const char *product, const placed *rows) {
  MlirBlock task = make_task(a, op, a->load, product);
  if (!rows->routes) {
    make_step(a, op, task, "mok.load", product);
    return;
  }
  mok_draft draft = draft_at(a, op, "mok.load_gathered");
  mok_draft_symbol(&draft, "product", product);
  const char *reads[3];
  size_t count_reads = 0;
  reads[count_reads++] = rows->routes;
  if (rows->own) reads[count_reads++] = rows->own;
  reads[count_reads++] = rows->symbol;
  mok_draft_symbols(&draft, "reads", reads, count_reads);
  mok_draft_append(&draft, task);
}

static mok_status assign_product(assigner *a, MlirOperation op) {
  mok_arena *arena = a->context->arena;
  const placed *found = NULL;
  MOK_TRY(operand(a, op, 0, &found));
  const placed rows = *found;
  const bool padded = rows.padded_rows;
  const size_t weights = mok_op_count(op, "weights");
  const char *name = mok_op_at(arena, op, "weights", weights - 1) + strlen("args.");
  const bool hidden = mok_op_text(arena, op, "epilogue") != NULL; /* between the products */
  MlirOperation combine = combine_in_epilogue(a, op);
  const bool routed = !mlirOperationIsNull(combine), pushed = routed && products_push(a->context->plan);
  const char *out = pushed ? "combine" : mok_arena_printf(arena, "%s_%s", padded ? "ring" : "shared", hidden ? "h" : "y");
  declare_rows(a, op, out);

  mok_draft product = draft_at(a, op, "mok.product");
  mok_draft_text(&product, "sym_name", name);
  mok_draft_symbol(&product, "a", rows.symbol);
  mok_draft_set(&product, "b", mok_op_get(op, "weights"));
  mok_draft_symbol(&product, "result", pushed ? NULL : out);
  mok_draft_text(&product, "rows", padded ? "row_block" : "token_block");
  mok_draft_set(&product, "depth", mok_op_get(op, "depth"));
  mok_draft_set(&product, "columns", mok_op_get(op, "columns"));
  mok_draft_set(&product, "epilogue", mok_op_get(op, "epilogue"));
  mok_draft_set(&product, "clamp", mok_op_get(op, "clamp"));
  mok_pass_declare(a->context, &product);

  make_load(a, op, name, &rows);
  MlirBlock mma = make_task(a, op, a->mma, name);
  make_step(a, op, mma, "mok.mma", name);
  MOK_TRY(make_store(a, op, mma, name, combine));
  MOK_TRY(remember(a, op, out, padded));
  a->values[a->value_count - 1].pushed = pushed;
  a->values[a->value_count - 1].split = routed && !pushed;
  return MOK_OK;
}

/* ---- phase reduce ---- */

static mok_status assign_reduce(assigner *a, MlirOperation op) {
  const char *reads[4] = {NULL};
  const intptr_t count_in = mlirOperationGetNumOperands(op);
  for (intptr_t i = 0; i < count_in; ++i) {
    const placed *in = NULL;
    MOK_TRY(operand(a, op, i, &in));
    reads[i] = in->symbol;
  }
  MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(op, 0));
  if (mlirOpOperandIsNull(use) || !mok_op_is(mlirOpOperandGetOwner(use), "mok.output"))
    return mok_pass_fail(a->context, op, "the reduction must give the kernel's output");
  const char *out = mok_op_text(a->context->arena, mlirOpOperandGetOwner(use), "argument");

  make_barrier(a, op, a->experts, "combined");
  MlirBlock phase = make_phase(a, op, "reduce");
  MlirBlock role = make_role(a, op, phase, "all", "grid", 1);
  MlirBlock worker = make_worker(a, op, role, "tokens", (count){NULL, 0}, (count){NULL, 1}, (count){"warps", 0}, "instance");
  make_move(a, op, make_task(a, op, worker, "reduce"), "mok.reduce_token", reads, LIST(out));
  return remember(a, op, out, false);
}

/* ---- the walk ---- */

static mok_status assign_input(assigner *a, MlirOperation op) {
  return remember(a, op, mok_op_text(a->context->arena, op, "argument"), false);
}

static mok_status assign_output(assigner *a, MlirOperation op) {
  const placed *in = NULL;
  return operand(a, op, 0, &in);
}

typedef struct rule {
  const char *op;
  mok_status (*assign)(assigner *a, MlirOperation op);
} rule;

static const rule rules[] = {
    {"mok.input", assign_input},       {"mok.route", assign_route},
    {"mok.dispatch", assign_dispatch}, {"mok.grouped_matmul", assign_product},
    {"mok.combine", assign_combine},   {"mok.reduce", assign_reduce},
    {"mok.output", assign_output},
};

static const rule *rule_of(MlirOperation op) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i)
    if (mok_op_is(op, rules[i].op)) return &rules[i];
  return NULL;
}

static bool is_value_op(MlirOperation op) {
  return !mok_op_is(op, "mok.argument") && !mok_op_is(op, "mok.region") && !mok_op_is(op, "mok.product") &&
         !mok_op_is(op, "mok.extent") && !mok_op_is(op, "mok.phase");
}

static mok_status run(mok_pass_context *context) {
  assigner a = {.context = context, .kernel = mok_op_body(context->kernel)};
  MlirOperation values[2 * MAX_VALUES];
  size_t count_values = 0;
  MlirOperation route = {NULL};
  MOK_FOR_OPS(op, a.kernel) {
    if (!is_value_op(op)) continue;
    if (!rule_of(op)) return mok_pass_fail(context, op, "assign-roles knows no such op at layer altitude");
    if (count_values == 2 * MAX_VALUES) return mok_pass_fail(context, op, "more than %d ops in a kernel", 2 * MAX_VALUES);
    if (mok_op_is(op, "mok.route") && !mlirOperationIsNull(route))
      return mok_pass_fail(context, op, "a kernel has one mok.route");
    if (mok_op_is(op, "mok.route")) route = op;
    values[count_values++] = op;
  }
  if (mlirOperationIsNull(route))
    return mok_pass_fail(context, context->kernel, "the kernel has no mok.route, or is past assign-roles already");

  /* Phase route comes first in the kernel, so its inputs and it are assigned before the experts. */
  for (size_t i = 0; i < count_values; ++i)
    if (mok_op_is(values[i], "mok.input")) MOK_TRY(assign_input(&a, values[i]));
  MOK_TRY(assign_route(&a, route));
  MOK_TRY(open_experts(&a, route));
  for (size_t i = 0; i < count_values; ++i) {
    if (mok_op_is(values[i], "mok.input") || mok_op_is(values[i], "mok.route")) continue;
    MOK_TRY(rule_of(values[i])->assign(&a, values[i]));
  }
  for (size_t i = count_values; i > 0; --i) mlirOperationDestroy(values[i - 1]); /* users before what they use */
  return MOK_OK;
}

const mok_pass mok_pass_assign_roles = {
    .name = "assign-roles",
    .summary = "values to regions, ops to tasks of workers, CTA and warp counts from the plan",
    .requires_ = "layer altitude, epilogues fused",
    .guarantees = "task altitude: phases, roles, workers, tasks; no values left",
    .run = run,
};
