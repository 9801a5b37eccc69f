/* kernel.cu: which task has which index. One function per distinct list of tasks; its worker strides through the indices. */
#include <string.h>

#include "emit_impl.h"

bool mok_worker_loops(const mok_ir_worker *worker) { return worker->task_count > 0 && worker->tasks[0].order >= 0; }

static bool same_tasks(const mok_ir_worker *a, const mok_ir_worker *b) {
  if (a->task_count != b->task_count || !mok_worker_loops(b)) return false;
  for (size_t i = 0; i < a->task_count; ++i)
    if (strcmp(a->tasks[i].name, b->tasks[i].name) != 0) return false;
  return true;
}

/* The first worker of the role with these tasks stands for all of them. */
static const mok_ir_worker *representative(const mok_ir_role *role, const mok_ir_worker *worker) {
  for (size_t i = 0; i < role->worker_count; ++i)
    if (same_tasks(worker, &role->workers[i])) return &role->workers[i];
  return worker;
}

const char *mok_task_order_name(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker) {
  bool shared = true;
  for (size_t i = 0; i < role->worker_count; ++i) shared = shared && same_tasks(worker, &role->workers[i]);
  const char *stem = shared ? role->name : representative(role, worker)->function;
  return mok_w_name(e->w, mok_w_format(e->w, "%s_task", stem));
}

static bool over_tokens(const mok_ir_task *task) { return task->space == MOK_IR_TOKEN_BLOCK_COLUMN; }

/* Number of tiles of a task in `blocks` blocks. */
static const char *tiles_text(mok_emission *e, const mok_ir_task *task, const char *blocks) {
  const char *extent = mok_w_name(e->w, task->extent->constant);
  return task->blocks_inner ? mok_w_format(e->w, "mok_tiles(%s, %s)", blocks, extent)
                            : mok_w_format(e->w, "(mok_index)%s * %s", blocks, extent);
}

/* The call that makes task number i of `blocks` row blocks, starting with block `first`. */
static const char *task_call(mok_emission *e, const mok_ir_task *task, const char *blocks, const char *first,
                             const char *minibatch) {
  const char *extent = mok_w_name(e->w, task->extent->constant), *name = mok_w_name(e->w, task->enumerator);
  if (task->blocks_inner) return mok_w_format(e->w, "mok_row_tile(c, %s, %s, %s, %s, i)", name, minibatch, first, blocks);
  return mok_w_format(e->w, "mok_row_task(c, %s, %s, %s + (int)(i / %s), (int)(i %% %s))", name, minibatch, first, extent,
                      extent);
}

static void put_once(mok_emission *e, const mok_ir_task *task) {
  if (!over_tokens(task) || !task->blocks_inner) {
    mok_emit_fail(e, task->loc, "a task ahead of the minibatches that is not over token blocks, blocks fastest");
    return;
  }
  const char *name = mok_w_name(e->w, task->name);
  mok_w_line(e->w, "const mok_index %s = %s;", name, tiles_text(e, task, "c->token_blocks"));
  mok_w_line(e->w, "if (i < %s) return mok_token_tile(c, %s, i);", name, mok_w_name(e->w, task->enumerator));
  mok_w_line(e->w, "i -= %s;", name);
}

/* One kind of task that goes block by block: no need to know where a minibatch ends. */
static void put_blocks_in_turn(mok_emission *e, const mok_ir_task *task) {
  const char *extent = mok_w_name(e->w, task->extent->constant);
  mok_w_line(e->w, "const mok_index row_block = i / %s;", extent);
  mok_w_line(e->w, "if (row_block >= c->row_blocks) return mok_no_task();");
  mok_w_line(e->w, "return mok_row_task(c, %s, (int)(row_block / MINIBATCH_BLOCKS), (int)row_block, (int)(i %% %s));",
             mok_w_name(e->w, task->enumerator), extent);
}

static const char *sum_of(mok_emission *e, const mok_ir_task *tasks, size_t count) {
  const char *sum = "";
  for (size_t i = 0; i < count; ++i)
    sum = mok_w_format(e->w, "%s%s%s", sum, i ? " + " : "", tiles_text(e, &tasks[i], "MINIBATCH_BLOCKS"));
  return sum;
}

/* `count` kinds of tasks of `blocks` row blocks, one after the other; `more`: others follow. */
static void put_kinds(mok_emission *e, const mok_ir_task *tasks, size_t count, const char *blocks, const char *first,
                      const char *minibatch, bool more) {
  for (size_t i = 0; i < count; ++i) {
    const char *tiles = tiles_text(e, &tasks[i], blocks);
    mok_w_line(e->w, "if (i < %s) return %s;", tiles, task_call(e, &tasks[i], blocks, first, minibatch));
    if (more || i + 1 < count) mok_w_line(e->w, "i -= %s;", tiles);
  }
}

static const char last_short[] =
    "const int blocks = mok_min(MINIBATCH_BLOCKS, c->row_blocks - first); /* the last may be short */";

static void put_minibatches(mok_emission *e, const mok_ir_task *tasks, size_t count) {
  mok_writer *w = e->w;
  mok_w_line(w, "const mok_index per_minibatch = %s;", sum_of(e, tasks, count));
  mok_w_line(w, "const int minibatch = (int)(i / per_minibatch), first = minibatch * MINIBATCH_BLOCKS;");
  mok_w_line(w, "if (first >= c->row_blocks) return mok_no_task();");
  mok_w_line(w, "%s", last_short);
  mok_w_line(w, "i -= minibatch * per_minibatch;");
  put_kinds(e, tasks, count, "blocks", "first", "minibatch", false);
  mok_w_line(w, "return mok_no_task();");
}

/* Tasks that run ahead, then the others: round r has the former for minibatch r and the latter for r - 1. */
static void put_rounds(mok_emission *e, const mok_ir_task *tasks, size_t ahead, size_t count) {
  mok_writer *w = e->w;
  mok_w_line(w, "if (c->row_blocks == 0) return mok_no_task();");
  mok_w_line(w, "const mok_index first_round = %s;", sum_of(e, tasks, ahead));
  mok_w_line(w, "const mok_index per_round = first_round + %s;", sum_of(e, tasks + ahead, count - ahead));
  mok_w_line(w, "const int last = (c->row_blocks - 1) / MINIBATCH_BLOCKS;");
  mok_w_line(w, "const int round = i < first_round ? 0 : (int)mok_min_index(1 + (i - first_round) / per_round, last);");
  mok_w_line(w, "if (round > 0) i -= first_round + (round - 1) * per_round;");
  mok_w_line(w, "const int first = round * MINIBATCH_BLOCKS;");
  mok_w_line(w, "%s", last_short);
  put_kinds(e, tasks, ahead, "blocks", "first", "round", true);
  mok_w_open(w, "if (round > 0)");
  mok_w_line(w, "const int before = first - MINIBATCH_BLOCKS;");
  put_kinds(e, tasks + ahead, count - ahead, "MINIBATCH_BLOCKS", "before", "round - 1", true);
  mok_w_close(w, "");
  mok_w_line(w, "/* Only the last round comes here. */");
  put_kinds(e, tasks + ahead, count - ahead, "blocks", "first", "round", false);
  mok_w_line(w, "return mok_no_task();");
}

static bool has_extent(const mok_kernel_view *view, const char *constant) {
  for (size_t i = 0; i < view->extent_count; ++i)
    if (view->extents[i].constant && strcmp(view->extents[i].constant, constant) == 0) return true;
  return false;
}

/* "s load and mma": all that go through these tasks. */
static const char *workers_text(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker) {
  size_t count = 0, seen = 0;
  for (size_t i = 0; i < role->worker_count; ++i) count += same_tasks(worker, &role->workers[i]);
  const char *text = count > 1 ? "s" : "";
  for (size_t i = 0; i < role->worker_count; ++i) {
    if (!same_tasks(worker, &role->workers[i])) continue;
    const char *joint = seen == 0 ? " " : seen + 1 == count ? " and " : ", ";
    text = mok_w_format(e->w, "%s%s%s", text, joint, role->workers[i].name);
    ++seen;
  }
  return text;
}

static void put_order_of(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker) {
  if (!mok_worker_loops(worker) || representative(role, worker) != worker) return;
  const char *names = "";
  size_t once = 0;
  for (size_t i = 0; i < worker->task_count; ++i) {
    const mok_ir_task *task = &worker->tasks[i];
    names = mok_w_format(e->w, "%s%s%s", names, i ? ", " : "", task->name);
    if (!task->extent || task->order < 0 || (i > 0 && task->order <= worker->tasks[i - 1].order)) {
      mok_emit_fail(e, task->loc, "a worker whose tasks are out of order");
      return;
    }
    if (!task->per_minibatch) ++once;
  }
  const size_t rest = worker->task_count - once;
  const mok_ir_task *per_minibatch = worker->tasks + once;
  size_t ahead = 0;
  while (ahead < rest && per_minibatch[ahead].ahead) ++ahead;
  if (rest && !has_extent(e->view, "MINIBATCH_BLOCKS")) {
    mok_emit_fail(e, worker->loc, "minibatches of unknown size");
    return;
  }
  mok_w_blank(e->w);
  mok_w_heading(e->w, (mok_loc){0}, "Task i of worker%s of role %s: %s.", workers_text(e, role, worker), role->name, names);
  mok_w_open(e->w, "MOK_FN mok_task %s(const mok_cta *c, mok_index i)", mok_task_order_name(e, role, worker));
  for (size_t i = 0; i < once; ++i) put_once(e, &worker->tasks[i]);
  if (once && rest) mok_w_blank(e->w);
  if (rest == 1 && !per_minibatch->blocks_inner) put_blocks_in_turn(e, per_minibatch);
  else if (ahead > 0 && ahead < rest) put_rounds(e, per_minibatch, ahead, rest);
  else if (rest) put_minibatches(e, per_minibatch, rest);
  else mok_w_line(e->w, "return mok_no_task();");
  mok_w_close(e->w, "");
}

void mok_emit_task_orders(mok_emission *e) { mok_each_worker(e, put_order_of); }
