/* What the primitives fix, whatever the module states: mok_pull_rows reads row_source and x and writes ring_x, and is the work
 * of one warp. The proof believes the module's reads, writes, spaces and warps, so they must be those of mok_primitives.h. */
#include <string.h>

#include "check_steps.h"

enum { WARP_THREADS = 32, WARPGROUP_WARPS = 4 };

typedef struct checker {
  mok_pass_context *context;
  const mok_kernel_view *view;
  int problems;
} checker;

MOK_PRINTF(3, 4) static void complain(checker *c, mok_loc loc, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(c->context->arena, fmt, args);
  va_end(args);
  mok_diag_report(c->context->diag, MOK_SEVERITY_ERROR, loc, NULL, "%s", text);
  ++c->problems;
}

/* ---- what a primitive touches, and who runs it ---- */

typedef enum crew { WHOLE_CTA, WARPGROUPS, LOADERS, ONE_WARP } crew; /* LOADERS: a warp, a warpgroup where it gathers rows */

typedef struct duty {
  /* Places in order, "row_source x": a region where the plan has one of this name, else what the caller passes; left out where
   * there is neither. NULL: its product says which. */
  const char *reads, *writes;
  mok_ir_space space; /* of its task; for a step of a product its rows decide */
  crew crew;
} duty;

static const duty duties[MOK_IR_NUM_OP_KINDS] = {
    [MOK_IR_SORT_ROUTES] = {"args.topk_ids", "route_offsets route_list", MOK_IR_ONCE, WHOLE_CTA},
    [MOK_IR_PUBLISH_TOKENS] = {"args.x", "x", MOK_IR_ONCE, WHOLE_CTA},
    [MOK_IR_PLACE_EXPERTS] = {"route_offsets", "expert_base expert_rows block_expert", MOK_IR_ONCE, WHOLE_CTA},
    [MOK_IR_PLACE_ROWS] = {"route_offsets route_list expert_base expert_rows", "row_source", MOK_IR_ONCE, WHOLE_CTA},
    [MOK_IR_PULL] = {"row_source x", "ring_x", MOK_IR_ROW_BLOCK_PIECE, ONE_WARP},
    [MOK_IR_PUSH] = {"row_source ring_y", "combine", MOK_IR_ROW_BLOCK_PIECE, ONE_WARP},
    [MOK_IR_LOAD] = {NULL, NULL, MOK_IR_ROW_BLOCK_COLUMN, LOADERS},
    [MOK_IR_LOAD_GATHERED] = {"row_source x ring_x", "", MOK_IR_ROW_BLOCK_COLUMN, LOADERS},
    [MOK_IR_MMA] = {NULL, NULL, MOK_IR_ROW_BLOCK_COLUMN, WARPGROUPS},
    [MOK_IR_STORE] = {NULL, NULL, MOK_IR_ROW_BLOCK_COLUMN, WARPGROUPS},
    [MOK_IR_STORE_PUSHED] = {"row_source", "combine", MOK_IR_ROW_BLOCK_COLUMN, WARPGROUPS},
    [MOK_IR_STORE_SPLIT] = {"row_source", "ring_y combine", MOK_IR_ROW_BLOCK_COLUMN, WARPGROUPS},
    [MOK_IR_REDUCE] = {"combine args.topk_weights shared_y", "args.out", MOK_IR_TOKEN, ONE_WARP},
};

static bool is_argument(const mok_kernel_view *view, const char *name) {
  for (size_t i = 0; i < view->argument_count; ++i)
    if (strcmp(view->arguments[i].name, name) == 0) return true;
  return false;
}

/* "@row_source, @args.x" of a duty's list. */
static const char *wanted_places(const checker *c, const char *list) {
  mok_buf out = mok_buf_make(c->context->arena);
  while (*list) {
    const size_t length = strcspn(list, " ");
    const char *word = mok_arena_strndup(c->context->arena, list, length);
    const bool spelled = strncmp(word, "args.", 5) == 0;
    const bool region = !spelled && mok_layout_find(&c->context->plan->layout, word);
    if (spelled || region || is_argument(c->view, word))
      mok_buf_printf(&out, "%s@%s%s", out.size ? ", " : "", spelled || region ? "" : "args.", word);
    list += length + (list[length] == ' ');
  }
  return out.size ? out.data : "nothing";
}

static const char *stated_places(const checker *c, const mok_ir_place *places, size_t count) {
  mok_buf out = mok_buf_make(c->context->arena);
  for (size_t i = 0; i < count; ++i)
    mok_buf_printf(&out, "%s@%s%s", i ? ", " : "", places[i].argument ? "args." : "", places[i].name);
  return count ? out.data : "nothing";
}

static void check_places(checker *c, const mok_ir_op *op, const char *verb, const char *list, const mok_ir_place *places,
                         size_t count) {
  if (!list) return;
  const char *want = wanted_places(c, list), *stated = stated_places(c, places, count);
  if (strcmp(want, stated) != 0) complain(c, op->loc, "mok.%s %s %s, not %s", mok_ir_op_name(op->kind), verb, want, stated);
}

static const char *space_name(mok_ir_space space) {
  switch (space) {
    case MOK_IR_ONCE:
      return "once";
    case MOK_IR_ROW_BLOCK_COLUMN:
      return "row_block and column";
    case MOK_IR_ROW_BLOCK_PIECE:
      return "row_block and piece";
    case MOK_IR_TOKEN_BLOCK_COLUMN:
      return "token_block and column";
    case MOK_IR_TOKEN:
      return "token";
  }
  return "";
}

static void check_space(checker *c, const mok_ir_task *task, const mok_ir_op *op) {
  mok_ir_space want = duties[op->kind].space;
  if (op->product && op->product->rows == MOK_IR_TOKEN_BLOCK) want = MOK_IR_TOKEN_BLOCK_COLUMN;
  if (task->space != want)
    complain(c, op->loc, "mok.%s goes over (%s), task @%s over (%s)", mok_ir_op_name(op->kind), space_name(want), task->name,
             space_name(task->space));
}

/* Instances that the plan's shared memory and counters are for; 0: as many as fit. */
static int64_t instances_of(const mok_plan *plan, mok_ir_op_kind kind) {
  if (kind == MOK_IR_PULL) return plan->pull_warps;
  if (kind == MOK_IR_PUSH) return plan->push_warps;
  if (kind == MOK_IR_REDUCE) return 0;
  return duties[kind].crew == WARPGROUPS ? plan->threads / (WARP_THREADS * WARPGROUP_WARPS) - 1 : 1;
}

static void check_crew(checker *c, const mok_ir_worker *worker, const mok_ir_op *op) {
  const char *name = mok_ir_op_name(op->kind);
  const mok_plan *plan = c->context->plan;
  const crew who = duties[op->kind].crew;
  const bool group = who == WARPGROUPS || (who == LOADERS && plan->own_rows == MOK_OWN_DIRECT);
  const int64_t all = plan->threads / WARP_THREADS, warps = group ? WARPGROUP_WARPS : who == WHOLE_CTA ? all : 1;
  const int64_t instances = instances_of(plan, op->kind);
  const bool shares = who != ONE_WARP || op->product;
  if (worker->warps.value != warps)
    complain(c, op->loc, "mok.%s is the work of %lld warps, an instance of worker @%s has %lld", name, (long long)warps,
             worker->name, (long long)worker->warps.value);
  if (instances > 0 && worker->instances.value != instances)
    complain(c, op->loc, "mok.%s: worker @%s has %lld instances in a CTA, the plan is for %lld", name, worker->name,
             (long long)worker->instances.value, (long long)instances);
  if (who == WARPGROUPS && worker->first_warp.value % WARPGROUP_WARPS != 0)
    complain(c, op->loc, "mok.%s: worker @%s starts at warp %lld, a warpgroup at a multiple of %d", name, worker->name,
             (long long)worker->first_warp.value, WARPGROUP_WARPS);
  if (worker->shares_cta != shares)
    complain(c, op->loc, "mok.%s: the instances of worker @%s take tasks %s", name, worker->name,
             shares ? "with their CTA: shares(cta)" : "of their own: shares(instance)");
}

/* A launch says how many CTAs two roles have; what all CTAs do before and after them is nobody's own. */
static void check_ctas(checker *c, const mok_ir_role *role, const mok_ir_op *op) {
  /* Where no rows move, the CTAs have one role. */
  const bool all = duties[op->kind].crew == WHOLE_CTA || op->kind == MOK_IR_REDUCE || c->context->plan->sms_comm == 0;
  if (all != (strcmp(role->ctas, "grid") == 0))
    complain(c, op->loc, "mok.%s is the work of %s, role @%s has ctas(%s)", mok_ir_op_name(op->kind),
             all ? "all CTAs: ctas(grid)" : "some CTAs, sms_comm or sms_compute", role->name, role->ctas);
}

/* Who multiplies works in the plan's clusters, all others by themselves. */
static void check_cluster(checker *c, const mok_ir_role *role, const mok_ir_op *op) {
  const int64_t want = op->product ? c->context->plan->cluster : 1;
  if (role->cluster != want)
    complain(c, op->loc, "mok.%s: role @%s has clusters of %lld CTAs, not of %lld as the plan has them", mok_ir_op_name(op->kind),
             role->name, (long long)role->cluster, (long long)want);
}

static void check_task(checker *c, const mok_ir_role *role, const mok_ir_worker *worker, const mok_ir_task *task) {
  for (size_t i = 0; i < task->op_count; ++i) {
    const mok_ir_op *op = &task->ops[i];
    if (op->kind == MOK_IR_WAIT || op->kind == MOK_IR_SIGNAL) continue;
    check_places(c, op, "reads", duties[op->kind].reads, op->reads, op->read_count);
    check_places(c, op, "writes", duties[op->kind].writes, op->writes, op->write_count);
    check_space(c, task, op);
    check_crew(c, worker, op);
    check_ctas(c, role, op);
    check_cluster(c, role, op);
    for (size_t k = 0; k < i; ++k)
      if (task->ops[k].kind == op->kind && !op->product)
        complain(c, op->loc, "task @%s has mok.%s twice", task->name, mok_ir_op_name(op->kind));
  }
}

/* ---- roles and their warps ---- */

/* Roles that run at once have CTAs of their own, and shares of a task in several workers go through the same tiles. */
static void check_beside(checker *c, const mok_ir_role *a, const mok_ir_role *b) {
  if (strcmp(a->ctas, b->ctas) == 0 || strcmp(a->ctas, "grid") == 0 || strcmp(b->ctas, "grid") == 0)
    complain(c, b->loc, "roles @%s and @%s run at once on ctas(%s) and ctas(%s), which have CTAs in common", a->name, b->name,
             a->ctas, b->ctas);
}

static void check_shares(checker *c, const mok_ir_worker *a, const mok_ir_worker *b) {
  for (size_t i = 0; i < a->task_count; ++i)
    for (size_t k = 0; k < b->task_count; ++k) {
      const mok_ir_task *x = &a->tasks[i], *y = &b->tasks[k];
      if (strcmp(x->name, y->name) != 0) continue;
      if (x->space != y->space || x->blocks_inner != y->blocks_inner || x->extent != y->extent)
        complain(c, y->loc, "task @%s goes through other tiles in worker @%s than in worker @%s", x->name, b->name, a->name);
    }
}

static void check_role(checker *c, const mok_ir_role *role) {
  const int64_t all = c->context->plan->threads / WARP_THREADS;
  for (size_t i = 0; i < role->worker_count; ++i) {
    const mok_ir_worker *a = &role->workers[i];
    const int64_t a_end = a->first_warp.value + a->warps.value * a->instances.value;
    if (a->warps.value < 1 || a->instances.value < 1 || a_end > all)
      complain(c, a->loc, "worker @%s: warps %lld to %lld are not in a CTA of %lld", a->name, (long long)a->first_warp.value,
               (long long)(a_end - 1), (long long)all);
    for (size_t k = 0; k < i; ++k) {
      const mok_ir_worker *b = &role->workers[k];
      if (a->first_warp.value < b->first_warp.value + b->warps.value * b->instances.value && b->first_warp.value < a_end)
        complain(c, a->loc, "workers @%s and @%s of role @%s have a warp in common", b->name, a->name, role->name);
    }
    for (size_t k = 0; k < i; ++k) check_shares(c, &role->workers[k], a);
    for (size_t t = 0; t < a->task_count; ++t) check_task(c, role, a, &a->tasks[t]);
  }
}

/* ---- products ---- */

static int64_t model_value(const mok_model *model, const char *name) {
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (mok_fields[i].kind == MOK_K_INT && strcmp(mok_fields[i].name, name) == 0)
      return *(const int64_t *)((const char *)model + mok_fields[i].offset);
  return 0;
}

static bool gathers(const checker *c, const mok_ir_product *p) {
  for (size_t i = 0; i < c->view->phase_count; ++i)
    for (size_t k = 0; k < c->view->phases[i].item_count; ++k) {
      const mok_ir_role *role = c->view->phases[i].items[k].role;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t)
          for (size_t o = 0; o < role->workers[w].tasks[t].op_count; ++o) {
            const mok_ir_op *op = &role->workers[w].tasks[t].ops[o];
            if (op->kind == MOK_IR_LOAD_GATHERED && op->product == p) return true;
          }
    }
  return false;
}

static void check_operand(checker *c, const mok_ir_product *p, const char *what, const mok_ir_place *place, int64_t columns) {
  const char *type = place->region ? place->region->type : place->argument->type;
  const char *want =
      mok_arena_printf(c->context->arena, "%s<?x%lldxbf16>", place->region ? "memref" : "tensor", (long long)columns);
  if (strcmp(type, want) != 0) complain(c, p->loc, "product @%s: %s @%s is %s, not %s", p->name, what, place->name, type, want);
  const bool by_token = place->argument && gathers(c, p); /* a row block's rows, picked from the caller's tokens */
  if (p->rows == MOK_IR_ROW_BLOCK ? !by_token && (!place->region || !place->region->ring) : place->region && place->region->ring)
    complain(c, p->loc, "product @%s: %s @%s does not hold its rows by %s", p->name, what, place->name,
             mok_ir_base_name(p->rows));
  if (place->region ? strcmp(place->region->space ? place->region->space : "", "local") != 0 : strcmp(place->name, "x") != 0)
    complain(c, p->loc, "product @%s: %s @%s is neither local memory nor the caller's tokens", p->name, what, place->name);
}

static void check_product(checker *c, const mok_ir_product *p) {
  const mok_model *model = c->context->plan->model;
  const int64_t depth = model_value(model, p->k_extent), columns = model_value(model, p->columns);
  const char *want = mok_arena_printf(c->context->arena, "tensor<?x%lldx%lldxbf16>", (long long)columns, (long long)depth);
  check_operand(c, p, "a", &p->a, depth);
  if (p->out.name) check_operand(c, p, "out", &p->out, columns);
  for (size_t i = 0; i < p->b_count; ++i) {
    const mok_ir_argument *b = p->b[i];
    const bool shared = strncmp(b->name, "shared_", 7) == 0;
    if (strcmp(b->type, want) != 0) complain(c, p->loc, "product @%s: b @args.%s is %s, not %s", p->name, b->name, b->type, want);
    if (shared != (p->rows == MOK_IR_TOKEN_BLOCK))
      complain(c, p->loc, "product @%s: rows of %ss go through %s experts, @args.%s is not theirs", p->name,
               mok_ir_base_name(p->rows), shared ? "routed" : "shared", b->name);
  }
  const mok_activation *activation = &mok_activations[model->activation];
  if (p->activation && p->activation != activation)
    complain(c, p->loc, "product @%s: epilogue %s, the description has %s", p->name, p->activation->name, activation->name);
  const bool clamps = p->activation && model->clamp.present;
  if (p->has_clamp != clamps || (clamps && (p->clamp < model->clamp.value || p->clamp > model->clamp.value)))
    complain(c, p->loc, "product @%s: its clamp is not the description's", p->name);
}

/* ---- phases and barriers ---- */

/* A launch may be of some of them. */
static void check_phase_name(checker *c, const mok_ir_phase *phase) {
  static const char *const names[] = {"route", "experts", "reduce"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(phase->name, names[i]) == 0) return;
  complain(c, phase->loc, "phase @%s: a launch has the phases route, experts and reduce", phase->name);
}

/* A launch of some phases ends with their last barrier, and a barrier's flags take the launch's epoch once. */
static void check_barriers(checker *c) {
  const mok_region *flags = mok_layout_find(&c->context->plan->layout, "flags");
  const int64_t most = flags ? flags->rows / c->context->plan->model->gpus : 0;
  int64_t count = 0;
  const mok_kernel_view *view = c->view;
  const char **names = MOK_NEW_ARRAY(c->context->arena, (size_t)most + 1, const char *);
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_barrier *barrier = view->phases[p].items[i].barrier;
      if (!barrier || !barrier->rank) continue;
      const mok_loc loc = view->phases[p].loc;
      if (i + 1 < view->phases[p].item_count)
        complain(c, loc, "phase @%s: rank barrier '%s' must be its end, where a launch of single phases stops",
                 view->phases[p].name, barrier->name);
      for (int64_t k = 0; k < count && k <= most; ++k)
        if (strcmp(names[k], barrier->name) == 0)
          complain(c, loc, "phase @%s: a launch comes through rank barrier '%s' twice, and its flags stop it once",
                   view->phases[p].name, barrier->name);
      if (count <= most) names[count] = barrier->name;
      if (++count == most + 1)
        complain(c, loc, "phase @%s: rank barrier '%s' is one more than the %lld that have flags", view->phases[p].name,
                 barrier->name, (long long)most);
    }
}

mok_status mok_check_steps(mok_pass_context *context, const mok_kernel_view *view) {
  checker c = {.context = context, .view = view};
  for (size_t i = 0; i < view->product_count; ++i) check_product(&c, &view->products[i]);
  for (size_t p = 0; p < view->phase_count; ++p) {
    check_phase_name(&c, &view->phases[p]);
    const mok_ir_item *items = view->phases[p].items;
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      if (items[i].role) check_role(&c, items[i].role);
      for (size_t k = i; k > 0 && items[i].role && items[k - 1].role; --k) check_beside(&c, items[k - 1].role, items[i].role);
    }
  }
  check_barriers(&c);
  if (c.problems == 0) return MOK_OK;
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_CODEGEN, "%d steps of the module are not their primitives'", c.problems));
}
