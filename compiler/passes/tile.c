/* tile: tile shapes and stages of the products, the space and walk of each task, the global order of tasks.
 *
 *   task up { load up }      ->  task up over(column, row_block) extent(up_columns) { load up }
 *   phase experts            ->  phase experts once(shared_up, shared_down) per_minibatch(dispatch, up, down, combine)
 *                                ahead(dispatch, up)
 *
 * Row blocks vary fastest in a product: tiles that run at the same time share an expert's weight columns in L2. Pieces vary
 * fastest in a move, so that the first row blocks are complete early.
 */
#include <string.h>

#include "pass_impl.h"

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t field_value(const mok_model *model, const char *name) {
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (strcmp(mok_fields[i].name, name) == 0 && mok_fields[i].kind == MOK_K_INT)
      return *(const int64_t *)((const char *)model + mok_fields[i].offset);
  return 0;
}

static mok_status tile_product(mok_pass_context *context, MlirOperation op) {
  const mok_plan *plan = context->plan;
  mok_arena *arena = context->arena;
  const bool up = mok_op_text(arena, op, "epilogue") != NULL;
  const bool gated = mok_op_count(op, "b") == 2;
  const int64_t m = up ? plan->gate_up_m : plan->down_m, n = up ? plan->gate_up_n : plan->down_n;
  const int64_t k = up ? plan->gate_up_k : plan->down_k, stages = up ? plan->gate_up_stages : plan->down_stages;
  const int64_t columns = gated ? n / 2 : n; /* of out in one tile */
  if (m != plan->row_padding)
    return mok_pass_fail(context, op, "tiles of %lld rows do not cover row blocks of %lld", (long long)m,
                         (long long)plan->row_padding);
  if (k < 1 || stages < 1 || columns < 1 || (gated && n % 2 != 0)) return mok_pass_fail(context, op, "the plan's tile is empty");

  mok_op_set(op, "tile", mok_attr_text(context->context, up ? "gate_up" : "down"));
  mok_op_set(op, "m", mok_attr_int(context->context, m));
  mok_op_set(op, "n", mok_attr_int(context->context, n));
  mok_op_set(op, "k", mok_attr_int(context->context, k));
  mok_op_set(op, "stages", mok_attr_int(context->context, stages));
  const char *width = mok_op_text(arena, op, "columns");
  const int64_t total = field_value(plan->model, width);
  if (total < 1) return mok_pass_fail(context, op, "'%s' is no positive field of the description", width);
  mok_pass_extent(context, mok_arena_printf(arena, "%s_columns", mok_op_text(arena, op, "sym_name")), ceil_div(total, columns),
                  mok_arena_printf(arena, "ceil(%s / %lld)", width, (long long)columns));
  return MOK_OK;
}

static void set_space(mok_pass_context *context, MlirOperation task, const char *outer, const char *inner, const char *extent) {
  const char *names[] = {outer, inner};
  mok_op_set(task, "space", mok_attr_texts(context->context, names, inner ? 2 : 1));
  if (extent) mok_op_set(task, "extent", mok_attr_text(context->context, extent));
}

/* The space follows from what the task's steps work on. */
static mok_status tile_task(mok_pass_context *context, MlirOperation task) {
  MlirOperation first = mlirBlockGetFirstOperation(mok_op_body(task));
  mok_ir_op_kind kind;
  if (mlirOperationIsNull(first) || !mok_op_kind_of(first, &kind)) return mok_pass_fail(context, task, "the task has no steps");
  switch (kind) {
    case MOK_IR_LOAD:
    case MOK_IR_LOAD_GATHERED:
    case MOK_IR_MMA:
    case MOK_IR_STORE:
    case MOK_IR_STORE_PUSHED:
    case MOK_IR_STORE_SPLIT: {
      const char *product = mok_op_text(context->arena, first, "product");
      const char *rows = mok_op_text(context->arena, mok_kernel_symbol(context->kernel, product), "rows");
      set_space(context, task, "column", rows, mok_arena_printf(context->arena, "%s_columns", product));
      return MOK_OK;
    }
    case MOK_IR_PULL:
    case MOK_IR_PUSH:
      if (context->plan->dispatch_rows < 1)
        return mok_pass_fail(context, task, "the plan has no rows for a task that moves some");
      set_space(context, task, "row_block", "piece", "row_pieces");
      return MOK_OK;
    case MOK_IR_REDUCE:
      set_space(context, task, "token", NULL, NULL);
      return MOK_OK;
    case MOK_IR_SORT_ROUTES:
    case MOK_IR_PUBLISH_TOKENS:
    case MOK_IR_PLACE_EXPERTS:
    case MOK_IR_PLACE_ROWS:
      set_space(context, task, "once", NULL, NULL);
      return MOK_OK;
    case MOK_IR_WAIT:
    case MOK_IR_SIGNAL:
    case MOK_IR_NUM_OP_KINDS:
      break;
  }
  return mok_pass_fail(context, task, "the task is past insert-sync already");
}

/* ---- order ---- */

enum { MAX_TASKS = 32 };

typedef struct task_list {
  const mok_ir_task *tasks[MAX_TASKS]; /* one of each name */
  const char *reads[MAX_TASKS][8], *writes[MAX_TASKS][8];
  size_t count;
} task_list;

static size_t task_index(task_list *list, const mok_ir_task *task) {
  for (size_t i = 0; i < list->count; ++i)
    if (strcmp(list->tasks[i]->name, task->name) == 0) return i;
  list->tasks[list->count] = task;
  return list->count++;
}

static void note(const char **names, const mok_ir_place *places, size_t count) {
  size_t end = 0;
  while (names[end]) ++end;
  for (size_t i = 0; i < count && end < 7; ++i)
    if (places[i].region) names[end++] = places[i].name;
}

static bool touches(const char *const *writes, const char *const *reads) {
  for (; *writes; ++writes)
    for (const char *const *r = reads; *r; ++r)
      if (strcmp(*writes, *r) == 0) return true;
  return false;
}

static const mok_ir_task *task_named(const task_list *list, const char *name) {
  for (size_t i = 0; i < list->count; ++i)
    if (strcmp(list->tasks[i]->name, name) == 0) return list->tasks[i];
  return NULL;
}

/* A tile of the second product waits for all tiles of the first in its row block, the last of which have just begun when a
 * minibatch's first product ends. So everything up to the first product runs a minibatch ahead where the ring has room for it,
 * and nobody waits. */
static size_t tasks_ahead(const mok_plan *plan, const task_list *list, const char *const *names, size_t count) {
  if (!mok_plan_runs_ahead(plan)) return 0;
  size_t products = 0;
  for (size_t i = 0; i < count; ++i) {
    products += task_named(list, names[i])->space == MOK_IR_ROW_BLOCK_COLUMN;
    if (products == 2) return i;
  }
  return 0;
}

/* Producers before consumers; among ready tasks the first in the module. Tasks on tokens come once, ahead of the minibatches. */
static mok_status order_phase(mok_pass_context *context, MlirOperation op, const mok_ir_phase *phase) {
  task_list list = {.count = 0};
  for (size_t i = 0; i < phase->item_count; ++i) {
    const mok_ir_role *role = phase->items[i].role;
    for (size_t w = 0; role && w < role->worker_count; ++w) {
      for (size_t t = 0; t < role->workers[w].task_count; ++t) {
        const mok_ir_task *task = &role->workers[w].tasks[t];
        if (list.count == MAX_TASKS) return mok_pass_fail(context, op, "more than %d tasks in a phase", MAX_TASKS);
        const size_t k = task_index(&list, task);
        for (size_t s = 0; s < task->op_count; ++s) {
          note(list.reads[k], task->ops[s].reads, task->ops[s].read_count);
          note(list.writes[k], task->ops[s].writes, task->ops[s].write_count);
        }
      }
    }
  }
  const char *once[MAX_TASKS], *per_minibatch[MAX_TASKS];
  size_t once_count = 0, minibatch_count = 0;
  bool placed[MAX_TASKS] = {false};
  for (size_t done = 0; done < list.count; ++done) {
    size_t next = list.count;
    for (size_t i = 0; i < list.count && next == list.count; ++i) {
      bool ready = !placed[i];
      for (size_t p = 0; p < list.count && ready; ++p) ready = placed[p] || p == i || !touches(list.writes[p], list.reads[i]);
      if (ready) next = i;
    }
    if (next == list.count)
      return mok_pass_fail(context, op, "the tasks of phase @%s wait for each other in a circle", phase->name);
    placed[next] = true;
    const mok_ir_task *task = list.tasks[next];
    if (task->space == MOK_IR_ROW_BLOCK_COLUMN || task->space == MOK_IR_ROW_BLOCK_PIECE)
      per_minibatch[minibatch_count++] = task->name;
    else if (task->space == MOK_IR_TOKEN_BLOCK_COLUMN) once[once_count++] = task->name;
  }
  const size_t ahead_count = tasks_ahead(context->plan, &list, per_minibatch, minibatch_count);
  if (ahead_count > 0) mok_op_set(op, "ahead", mok_attr_texts(context->context, per_minibatch, ahead_count));
  if (once_count > 0) mok_op_set(op, "once", mok_attr_texts(context->context, once, once_count));
  if (minibatch_count > 0) mok_op_set(op, "per_minibatch", mok_attr_texts(context->context, per_minibatch, minibatch_count));
  return MOK_OK;
}

/* A worker loops over the global order, so its tasks stand in that order. */
static void sort_worker(mok_pass_context *context, MlirOperation phase, MlirOperation worker) {
  static const char *const lists[] = {"once", "per_minibatch"};
  for (size_t l = 0; l < 2; ++l) {
    for (size_t i = 0; i < mok_op_count(phase, lists[l]); ++i) {
      const char *name = mok_op_at(context->arena, phase, lists[l], i);
      MlirBlock body = mok_op_body(worker);
      MlirOperation last = {NULL};
      MOK_FOR_OPS(task, body) { last = task; }
      MOK_FOR_OPS(task, body) {
        if (strcmp(mok_op_text(context->arena, task, "sym_name"), name) != 0) continue;
        if (!mlirOperationEqual(task, last)) mlirOperationMoveAfter(task, last);
        break;
      }
    }
  }
}

static mok_status run(mok_pass_context *context) {
  const mok_plan *plan = context->plan;
  MlirBlock body = mok_op_body(context->kernel);
  if (plan->minibatch_rows % plan->row_padding != 0)
    return mok_pass_fail(context, context->kernel, "minibatches of %lld rows are no whole row blocks of %lld",
                         (long long)plan->minibatch_rows, (long long)plan->row_padding);
  if (plan->dispatch_rows > 0) /* rows are moved */
    mok_pass_extent(context, "row_pieces", ceil_div(plan->row_padding, plan->dispatch_rows), "ceil(row_padding / dispatch_rows)");
  mok_pass_extent(context, "minibatch_blocks", plan->minibatch_rows / plan->row_padding, "minibatch_rows / row_padding");
  MOK_FOR_OPS(op, body) {
    if (mok_op_is(op, "mok.product")) MOK_TRY(tile_product(context, op));
  }
  MOK_FOR_OPS(phase, body) {
    if (!mok_op_is(phase, "mok.phase")) continue;
    MOK_FOR_OPS(role, mok_op_body(phase)) {
      if (!mok_op_is(role, "mok.role")) continue;
      MOK_FOR_OPS(worker, mok_op_body(role)) { MOK_FOR_OPS(task, mok_op_body(worker)) MOK_TRY(tile_task(context, task)); }
    }
  }
  const mok_kernel_view *view = mok_kernel_view_of(context->arena, context->kernel);
  size_t i = 0;
  MOK_FOR_OPS(phase, body) {
    if (!mok_op_is(phase, "mok.phase")) continue;
    MOK_TRY(order_phase(context, phase, &view->phases[i++]));
    MOK_FOR_OPS(role, mok_op_body(phase)) {
      if (!mok_op_is(role, "mok.role")) continue;
      MOK_FOR_OPS(worker, mok_op_body(role)) sort_worker(context, phase, worker);
    }
  }
  return MOK_OK;
}

const mok_pass mok_pass_tile = {
    .name = "tile",
    .summary = "tile shapes and stages, task spaces and walks, the global task order",
    .requires_ = "task altitude",
    .guarantees = "every task has a space; every product a tile; every phase with tiles an order, producers first",
    .run = run,
};
