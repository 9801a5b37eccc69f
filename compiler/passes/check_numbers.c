/* Numbers that the module states and the plan decides must agree: a module may have been edited since tile and allocate-rings. */
#include <string.h>

#include "check_numbers.h"

typedef struct checker {
  mok_pass_context *context;
  const mok_kernel_view *view;
  int problems;
} checker;

MOK_PRINTF(3, 4) static void complain(checker *c, const char *symbol, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(c->context->arena, fmt, args);
  va_end(args);
  MlirOperation op = mok_kernel_symbol(c->context->kernel, symbol);
  const mok_loc loc = mok_loc_of(c->context->arena, mlirOperationGetLocation(mlirOperationIsNull(op) ? c->context->kernel : op));
  mok_diag_report(c->context->diag, MOK_SEVERITY_ERROR, loc, NULL, "@%s: %s", symbol, text);
  ++c->problems;
}

/* `count` pieces of `piece` are what covers `total`. */
static bool covers(int64_t count, int64_t piece, int64_t total) {
  return count > 0 && piece > 0 && count <= total && (count - 1) * piece < total && total <= count * piece;
}

static const mok_ir_extent *find_extent(const mok_kernel_view *view, const char *name) {
  for (size_t i = 0; i < view->extent_count; ++i)
    if (strcmp(view->extents[i].name, name) == 0) return &view->extents[i];
  return NULL;
}

static int64_t model_value(const mok_model *model, const char *name) {
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (mok_fields[i].kind == MOK_K_INT && strcmp(mok_fields[i].name, name) == 0)
      return *(const int64_t *)((const char *)model + mok_fields[i].offset);
  return 0;
}

static void check_products(checker *c) {
  const mok_plan *plan = c->context->plan;
  for (size_t i = 0; i < c->view->product_count; ++i) {
    const mok_ir_product *p = &c->view->products[i];
    const bool up = p->tile && strcmp(p->tile, "gate_up") == 0;
    const int64_t m = up ? plan->gate_up_m : plan->down_m, n = up ? plan->gate_up_n : plan->down_n;
    const int64_t k = up ? plan->gate_up_k : plan->down_k, stages = up ? plan->gate_up_stages : plan->down_stages;
    if (p->m != m || p->n != n || p->k != k || p->stages != stages)
      complain(c, p->name, "its tile is %lld x %lld x %lld with %lld stages in the plan", (long long)m, (long long)n,
               (long long)k, (long long)stages);
    const mok_ir_extent *columns = find_extent(c->view, mok_arena_printf(c->context->arena, "%s_columns", p->name));
    const int64_t width = model_value(plan->model, p->columns);
    if (!columns || !covers(columns->value, p->b_count == 2 ? n / 2 : n, width))
      complain(c, p->name, "@%s_columns does not cover %lld columns in tiles of %lld", p->name, (long long)width, (long long)n);
  }
}

static void check_extent(checker *c, const char *name, bool right) {
  const mok_ir_extent *extent = find_extent(c->view, name);
  if (!extent) complain(c, name, "the kernel has no such extent");
  if (extent && !right) complain(c, name, "%lld is not what the plan gives: %s", (long long)extent->value, extent->origin);
}

static int64_t extent_value(const checker *c, const char *name) {
  const mok_ir_extent *extent = find_extent(c->view, name);
  return extent ? extent->value : 0;
}

static void check_extents(checker *c) {
  const mok_plan *plan = c->context->plan;
  if (plan->dispatch_rows > 0)
    check_extent(c, "row_pieces", covers(extent_value(c, "row_pieces"), plan->dispatch_rows, plan->row_padding));
  check_extent(c, "minibatch_blocks", extent_value(c, "minibatch_blocks") * plan->row_padding == plan->minibatch_rows);
  check_extent(c, "mma_instances", (extent_value(c, "mma_instances") + 1) * 128 == plan->threads);
}

static void check_regions(checker *c) {
  for (size_t i = 0; i < c->view->region_count; ++i) {
    const mok_ir_region *r = &c->view->regions[i];
    const mok_region *want = mok_layout_find(&c->context->plan->layout, r->name);
    if (!want) complain(c, r->name, "the plan's layout has no such region");
    else if (!r->space || strcmp(r->space, mok_space_name(want->space)) != 0 || r->offset != want->offset ||
             r->bytes != want->bytes)
      complain(c, r->name, "the plan's layout has it in %s memory at %lld, %lld bytes", mok_space_name(want->space),
               (long long)want->offset, (long long)want->bytes);
    if (!want) continue;
    const char *type = mok_pass_region_type(c->context->arena, want);
    if (strcmp(r->type, type) != 0) complain(c, r->name, "the plan's layout holds %s, not %s", type, r->type);
    const bool ring = strncmp(r->name, "ring_", 5) == 0; /* that is what the layout calls them */
    if (r->ring != ring)
      complain(c, r->name, ring ? "a ring holds a block in slot(row_block mod ring_slots)" : "only rings have slots");
  }
}

static void check_arguments(checker *c) {
  for (size_t i = 0; i < c->view->argument_count; ++i) {
    const mok_ir_argument *a = &c->view->arguments[i];
    const char *symbol = mok_arena_printf(c->context->arena, "args.%s", a->name);
    const char *type = mok_ir_argument_type(c->context->arena, c->context->plan->model, a->name);
    if (!type) complain(c, symbol, "a kernel of this description takes no such argument");
    else if (strcmp(a->type, type) != 0) complain(c, symbol, "the caller passes %s, not %s", type, a->type);
  }
}

static void check_layout(checker *c) {
  const mok_layout *layout = &c->context->plan->layout;
  for (size_t i = 0; i < layout->count; ++i) {
    bool declared = false;
    for (size_t k = 0; k < c->view->region_count && !declared; ++k)
      declared = strcmp(c->view->regions[k].name, layout->regions[i].name) == 0;
    if (!declared) complain(c, layout->regions[i].name, "a region of the plan's layout that the kernel does not declare");
  }
}

static void check_counters(checker *c) {
  const mok_plan *plan = c->context->plan;
  const mok_region *region = mok_layout_find(&plan->layout, "counters");
  const int64_t rows = plan->capacity_rows / plan->row_padding;
  const int64_t together = plan->row_padding * plan->cluster; /* the CTAs of a cluster have a block each */
  const int64_t tokens = (plan->model->tokens_per_gpu + together - 1) / together * plan->cluster;
  for (size_t i = 0; i < c->view->counter_count; ++i) {
    const mok_ir_counter *a = &c->view->counters[i];
    if (a->words != (a->per == MOK_IR_ROW_BLOCK ? rows : tokens))
      complain(c, a->name, "%lld words are not one per %s", (long long)a->words, mok_ir_base_name(a->per));
    if (a->word < 0 || !region || a->word + a->words > region->columns)
      complain(c, a->name, "its words are outside a set of %lld", (long long)(region ? region->columns : 0));
    for (size_t k = 0; k < i; ++k) {
      const mok_ir_counter *b = &c->view->counters[k];
      if (a->word < b->word + b->words && b->word < a->word + a->words)
        complain(c, a->name, "its words overlap those of @%s", b->name);
    }
  }
}

static void check_task(checker *c, const mok_ir_task *task) {
  if (!task->extent) return;
  for (size_t i = 0; i < task->op_count; ++i) {
    const mok_ir_op *op = &task->ops[i];
    const char *want = op->product ? mok_arena_printf(c->context->arena, "%s_columns", op->product->name) : "row_pieces";
    const bool moves = op->kind == MOK_IR_PULL || op->kind == MOK_IR_PUSH;
    if ((op->product || moves) && strcmp(want, task->extent->name) != 0)
      complain(c, task->extent->name, "task @%s goes over @%s", task->name, want);
  }
}

static void check_tasks(checker *c) {
  for (size_t p = 0; p < c->view->phase_count; ++p)
    for (size_t i = 0; i < c->view->phases[p].item_count; ++i) {
      const mok_ir_role *role = c->view->phases[p].items[i].role;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t) check_task(c, &role->workers[w].tasks[t]);
    }
}

mok_status mok_check_numbers(mok_pass_context *context, const mok_kernel_view *view) {
  checker c = {.context = context, .view = view};
  check_products(&c);
  check_extents(&c);
  check_arguments(&c);
  check_regions(&c);
  check_layout(&c);
  check_counters(&c);
  check_tasks(&c);
  if (c.problems == 0) return MOK_OK;
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_CODEGEN, "%d numbers of the module are not the plan's", c.problems));
}
