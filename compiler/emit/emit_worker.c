/* kernel.cu: one function per worker. One small function per kind of step, dispatched by table. */
#include <string.h>

#include "emit_impl.h"

typedef void (*put_step)(mok_emission *e, const mok_ir_op *op);

static const char *index_text(mok_emission *e, const mok_ir_index *index) {
  return index->lag_text ? mok_w_format(e->w, "%s - %s", index->base_text, index->lag_text) : index->base_text;
}

/* Of the wait on the line that was printed last. */
static void put_wait_name(mok_emission *e) {
  int line = 0;
  for (const char *c = e->w->out.data; (c = strchr(c, '\n')) != NULL; ++c) ++line;
  mok_w_directive(e->names, "wait %d %s %s", line, mok_w_name(e->w, e->worker->function), mok_w_name(e->w, e->task->name));
}

static void put_wait(mok_emission *e, const mok_ir_op *op) {
  const char *call =
      mok_w_format(e->w, "%s(c, %s, %s, %s, %s);", mok_w_name(e->w, op->call), mok_w_name(e->w, op->counter->constant),
                   index_text(e, &op->index), op->target_text, mok_w_name(e->w, op->edge_text));
  if (op->lap) {
    mok_w_line(e->w, "if (%s >= %s)", op->index.base_text, op->index.lag_text);
    if (op->why) mok_w_remark(e->w, 0, op->why);
    mok_w_under(e->w, "%s", call);
  } else {
    mok_w_line(e->w, "%s", call);
    if (op->why) mok_w_remark(e->w, 0, op->why);
  }
  put_wait_name(e);
}

static void put_signal(mok_emission *e, const mok_ir_op *op) {
  mok_w_line(e->w, "%s(c, %s, %s, %s);", mok_w_name(e->w, op->call), mok_w_name(e->w, op->counter->constant),
             index_text(e, &op->index), mok_w_name(e->w, op->edge_text));
}

static void put_once(mok_emission *e, const mok_ir_op *op) { mok_w_line(e->w, "%s(c);", mok_w_name(e->w, op->call)); }

static void put_move(mok_emission *e, const mok_ir_op *op) { mok_w_line(e->w, "%s(c, &t);", mok_w_name(e->w, op->call)); }

static void put_load(mok_emission *e, const mok_ir_op *op) {
  const char *product = mok_w_name(e->w, op->product->structure);
  mok_w_line(e->w, "for (int k = 0; k < %s::k_tiles; ++k) %s<%s>(c, &t, k);", product, mok_w_name(e->w, op->call), product);
}

static void put_load_gathered(mok_emission *e, const mok_ir_op *op) {
  const char *product = mok_w_name(e->w, op->product->structure);
  mok_w_line(e->w, "mok_gathered<%s> rows;", product);
  mok_w_line(e->w, "mok_gather(c, &t, rows);");
  mok_w_line(e->w, "for (int k = 0; k < %s::k_tiles; ++k) %s(c, &t, k, rows);", product, mok_w_name(e->w, op->call));
  mok_w_line(e->w, "mok_gather_end(c, &t, rows);");
}

static void put_mma(mok_emission *e, const mok_ir_op *op) {
  const char *product = mok_w_name(e->w, op->product->structure);
  mok_w_line(e->w, "mok_accumulator<%s> acc;", product);
  mok_w_line(e->w, "mok_clear(acc);");
  mok_w_line(e->w, "for (int k = 0; k < %s::k_tiles; ++k) %s(c, &t, k, acc);", product, mok_w_name(e->w, op->call));
  mok_w_line(e->w, "mok_finish(c, acc);");
}

static void put_store(mok_emission *e, const mok_ir_op *op) { mok_w_line(e->w, "%s(c, &t, acc);", mok_w_name(e->w, op->call)); }

static void put_token(mok_emission *e, const mok_ir_op *op) {
  mok_w_line(e->w, "%s(c, (int)token);", mok_w_name(e->w, op->call));
}

static const put_step steps[MOK_IR_NUM_OP_KINDS] = {
    [MOK_IR_WAIT] = put_wait,
    [MOK_IR_SIGNAL] = put_signal,
    [MOK_IR_SORT_ROUTES] = put_once,
    [MOK_IR_PUBLISH_TOKENS] = put_once,
    [MOK_IR_PLACE_EXPERTS] = put_once,
    [MOK_IR_PLACE_ROWS] = put_once,
    [MOK_IR_PULL] = put_move,
    [MOK_IR_PUSH] = put_move,
    [MOK_IR_LOAD] = put_load,
    [MOK_IR_LOAD_GATHERED] = put_load_gathered,
    [MOK_IR_MMA] = put_mma,
    [MOK_IR_STORE] = put_store,
    [MOK_IR_STORE_PUSHED] = put_store,
    [MOK_IR_STORE_SPLIT] = put_store,
    [MOK_IR_REDUCE] = put_token,
};

static void put_steps(mok_emission *e, const mok_ir_task *task) {
  e->task = task;
  for (size_t i = 0; i < task->op_count; ++i) steps[task->ops[i].kind](e, &task->ops[i]);
}

/* Something of the tile lives from step to step. */
static bool has_variables(const mok_ir_task *task) {
  for (size_t i = 0; i < task->op_count; ++i)
    if (task->ops[i].kind == MOK_IR_MMA || task->ops[i].kind == MOK_IR_LOAD_GATHERED) return true;
  return false;
}

static void put_case(mok_emission *e, const mok_ir_task *task) {
  const bool scope = has_variables(task);
  mok_w_label(e->w, "case %s:%s", mok_w_name(e->w, task->enumerator), scope ? " {" : "");
  put_steps(e, task);
  mok_w_line(e->w, "break;");
  if (scope) mok_w_label(e->w, "}");
}

static void put_loop(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker) {
  const char *share = worker->shares_cta ? "mok_cta" : "mok";
  mok_w_open(e->w, "for (mok_index i = %s_first(c);; i += %s_stride(c))", share, share);
  mok_w_line(e->w, "const mok_task t = %s(c, i);", mok_task_order_name(e, role, worker));
  mok_w_line(e->w, "if (t.kind == MOK_TASK_END) break;");
  mok_w_open(e->w, "switch (t.kind)");
  for (size_t i = 0; i < worker->task_count; ++i) put_case(e, &worker->tasks[i]);
  mok_w_close(e->w, "");
  mok_w_close(e->w, "");
}

/* Tasks without a place in an order: done once, or for each token. */
static void put_plain(mok_emission *e, const mok_ir_task *task) {
  if (task->space == MOK_IR_TOKEN) {
    mok_w_open(e->w, "for (mok_index token = mok_first(c); token < c->tokens; token += mok_stride(c))");
    put_steps(e, task);
    mok_w_close(e->w, "");
  } else if (task->space == MOK_IR_ONCE) {
    put_steps(e, task);
  } else {
    mok_emit_fail(e, task->loc, "a task over blocks that has no place in its phase's order");
  }
}

static void put_worker(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker) {
  const char *names = "";
  e->worker = worker;
  for (size_t i = 0; i < worker->task_count; ++i)
    names = mok_w_format(e->w, "%s%s%s", names, i ? ", " : "", worker->tasks[i].name);
  mok_w_blank(e->w);
  mok_w_heading(e->w, worker->loc, "worker %s of role %s: %s", worker->name, role->name, names);
  mok_w_open(e->w, "MOK_WORKER void %s(mok_cta *c)", mok_w_name(e->w, worker->function));
  if (mok_worker_loops(worker)) put_loop(e, role, worker);
  else
    for (size_t i = 0; i < worker->task_count; ++i) put_plain(e, &worker->tasks[i]);
  mok_w_close(e->w, "");
}

void mok_emit_workers(mok_emission *e) { mok_each_worker(e, put_worker); }
