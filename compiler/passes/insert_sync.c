/* insert-sync: counter, target and edge kind for each producer-consumer edge that no barrier orders; implied waits removed.
 *
 *   task up { load up }    ->   task up { wait @x_ready[row_block] >= row_pieces edge(bulk_to_bulk)  load up }
 *   task dispatch { pull } ->   task dispatch { wait @h_ready[row_block - ring_slots] >= .. edge(read_to_write) lap  pull
 *                                               signal @x_ready[row_block] edge(bulk_to_bulk) }
 *
 * Edges come from who reads and writes which region:
 *   read after write    the reader waits for the writer's tasks of the same block
 *   write after read    a ring slot's writer waits for the reader's tasks of the block that had the slot a lap before
 *   write after write   the same for its writer
 * An edge that follows from the others (a task is done only when all its waits were satisfied) gets no wait. One counter stands
 * for "all tiles of that task of this block are done", whoever waits for it.
 */
#include <string.h>

#include "protocol.h"

enum { MAX_EDGES = 128, MAX_DEPTH = 64 };

typedef enum reason { READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE } reason;

typedef struct edge {
  reason why;
  const mok_access *producer, *consumer;
  int lag; /* laps: 0 or 1 */
  bool implied;
} edge;

typedef struct planner {
  mok_pass_context *context;
  mok_protocol protocol;
  const mok_access *accesses;
  size_t access_count;
  edge edges[MAX_EDGES];
  size_t edge_count;
} planner;

static MlirOperation mlir_op(const void *op) { return (MlirOperation){(void *)(uintptr_t)op}; }

static mok_status add_edge(planner *p, reason why, const mok_access *producer, const mok_access *consumer, int lag) {
  mok_ir_base a, b;
  if (!mok_task_base(producer->step->task, &a) || !mok_task_base(consumer->step->task, &b) || a != b)
    return mok_pass_fail(p->context, mlir_op(consumer->step->op->op),
                         "region @%s: tasks @%s and @%s have no common block to count by", consumer->region->name,
                         producer->step->task->name, consumer->step->task->name);
  if (p->edge_count == MAX_EDGES)
    return mok_pass_fail(p->context, p->context->kernel, "more than %d edges in a kernel", MAX_EDGES);
  p->edges[p->edge_count++] = (edge){.why = why, .producer = producer, .consumer = consumer, .lag = lag};
  return MOK_OK;
}

static mok_status find_edges(planner *p) {
  for (size_t c = 0; c < p->access_count; ++c) {
    const mok_access *consumer = &p->accesses[c];
    for (size_t k = 0; k < p->access_count; ++k) {
      const mok_access *producer = &p->accesses[k];
      if (producer->region != consumer->region || producer->step->group != consumer->step->group) continue;
      const bool same_task = mok_step_same_task(producer->step, consumer->step);
      const bool ring = consumer->region->ring;
      if (!consumer->write && producer->write && !same_task) MOK_TRY(add_edge(p, READ_AFTER_WRITE, producer, consumer, 0));
      if (ring && consumer->write && !producer->write) MOK_TRY(add_edge(p, WRITE_AFTER_READ, producer, consumer, 1));
      if (ring && consumer->write && producer->write) MOK_TRY(add_edge(p, WRITE_AFTER_WRITE, producer, consumer, 1));
    }
  }
  return MOK_OK;
}

/* ---- what follows from the rest ---- */

/* Does "task `from` of the block `lag` laps back is done" imply the same of `goal` at goal_lag, through edges other than `skip`?
 */
static bool done_implies(const planner *p, const mok_step *from, int lag, const mok_step *goal, int goal_lag, const edge *skip,
                         int depth) {
  if (mok_step_same_task(from, goal) && lag == goal_lag) return true;
  if (lag > goal_lag || depth == MAX_DEPTH) return false;
  for (size_t i = 0; i < p->edge_count; ++i) {
    const edge *e = &p->edges[i];
    if (e == skip || e->implied || !mok_step_same_task(e->consumer->step, from)) continue;
    if (done_implies(p, e->producer->step, lag + e->lag, goal, goal_lag, skip, depth + 1)) return true;
  }
  return false;
}

static bool follows(const planner *p, const edge *wanted) {
  for (size_t i = 0; i < p->edge_count; ++i) {
    const edge *e = &p->edges[i];
    if (e == wanted || e->implied || !mok_step_before(&p->protocol, e->consumer->step, wanted->consumer->step)) continue;
    if (done_implies(p, e->producer->step, e->lag, wanted->producer->step, wanted->lag, wanted, 0)) return true;
  }
  return false;
}

/* Weakest reason first, so that a wait for data stays where one for a slot would do as well. */
static void remove_implied(planner *p) {
  for (int why = WRITE_AFTER_WRITE; why >= READ_AFTER_WRITE; --why)
    for (size_t i = p->edge_count; i > 0; --i)
      if ((int)p->edges[i - 1].why == why) p->edges[i - 1].implied = follows(p, &p->edges[i - 1]);
}

/* ---- counters ---- */

typedef struct completion {
  const mok_step *last; /* when it is done, so is the whole task */
  const edge *first;    /* the edge that names the counter */
  const char *counter;
  const char *const *target;
  size_t target_count;
  mok_ir_edge kind; /* of the signal */
} completion;

static const mok_step *last_step(const planner *p, const mok_step *task) {
  const mok_protocol *protocol = &p->protocol;
  for (size_t i = 0; i < protocol->count; ++i) {
    const mok_step *last = &protocol->steps[i];
    if (!mok_step_same_task(last, task) || last->position + 1 != last->task->op_count) continue;
    bool all = true;
    for (size_t k = 0; k < protocol->count && all; ++k)
      all = !mok_step_same_task(&protocol->steps[k], task) || mok_step_before(protocol, &protocol->steps[k], last);
    if (all) return last;
  }
  return NULL;
}

static const char *stem(const char *region) { return strncmp(region, "ring_", 5) == 0 ? region + 5 : region; }

static mok_status complete(planner *p, const edge *first, completion *out) {
  mok_arena *arena = p->context->arena;
  const mok_access *producer = first->producer;
  *out = (completion){.last = last_step(p, producer->step), .first = first, .kind = MOK_IR_READ_TO_WRITE};
  if (!out->last)
    return mok_pass_fail(p->context, mlir_op(producer->step->task->op), "no worker of task @%s knows when all of it is done",
                         producer->step->task->name);
  bool named = false;
  for (size_t i = 0; i < p->edge_count; ++i) {
    const edge *e = &p->edges[i];
    if (e->implied || e->why != READ_AFTER_WRITE || !mok_step_same_task(e->producer->step, producer->step)) continue;
    const mok_ir_edge kind = mok_edge_of(e->producer->proxy, e->consumer->proxy);
    if (named && kind != out->kind)
      return mok_pass_fail(p->context, mlir_op(producer->step->task->op), "the readers of task @%s need signals of two kinds",
                           producer->step->task->name);
    if (!named) out->counter = mok_arena_printf(arena, "%s_ready", stem(e->producer->region->name));
    out->kind = kind;
    named = true;
  }
  if (!named) out->counter = mok_arena_printf(arena, "%s_done", stem(producer->region->name));

  const mok_ir_worker *worker = out->last->worker;
  const char **factors = MOK_NEW_ARRAY(arena, 2, const char *);
  factors[out->target_count++] = out->last->task->extent->name;
  const bool many = worker->shares_cta && (worker->instances.symbol || worker->instances.value != 1);
  if (many && !worker->instances.symbol)
    return mok_pass_fail(p->context, mlir_op(worker->op), "instances that share a tile need a named extent as their count");
  if (many) factors[out->target_count++] = worker->instances.symbol;
  out->target = factors;
  return MOK_OK;
}

typedef struct counter_table {
  completion list[MAX_EDGES];
  size_t count;
} counter_table;

static const completion *find_completion(const counter_table *table, const mok_step *producer) {
  for (size_t i = 0; i < table->count; ++i)
    if (mok_step_same_task(table->list[i].last, producer)) return &table->list[i];
  return NULL;
}

static int turn(const completion *c) { /* counters of row blocks first, then by the producers' global order */
  mok_ir_base base = MOK_IR_ROW_BLOCK;
  mok_task_base(c->last->task, &base);
  return (base == MOK_IR_TOKEN_BLOCK ? 1000 : 0) + c->last->task->order;
}

static mok_status collect_counters(planner *p, counter_table *table) {
  for (size_t i = 0; i < p->edge_count; ++i) {
    const edge *e = &p->edges[i];
    if (e->implied || find_completion(table, e->producer->step)) continue;
    completion fresh;
    MOK_TRY(complete(p, e, &fresh));
    size_t at = table->count++;
    for (; at > 0 && turn(&table->list[at - 1]) > turn(&fresh); --at) table->list[at] = table->list[at - 1];
    table->list[at] = fresh;
  }
  return MOK_OK;
}

static mok_status declare_counters(planner *p, const counter_table *table) {
  mok_pass_context *context = p->context;
  const mok_plan *plan = context->plan;
  const int64_t row_blocks = plan->capacity_rows / plan->row_padding;
  const int64_t cluster_rows = plan->row_padding * plan->cluster; /* the CTAs of a cluster have a block each */
  const int64_t token_blocks = (plan->model->tokens_per_gpu + cluster_rows - 1) / cluster_rows * plan->cluster;
  int64_t word = 0;
  for (size_t i = 0; i < table->count; ++i) {
    const completion *c = &table->list[i];
    MlirOperation at = mlir_op(c->last->task->op);
    if (!mlirOperationIsNull(mok_kernel_symbol(context->kernel, c->counter)))
      return mok_pass_fail(context, at, "two tasks would signal a counter @%s", c->counter);
    mok_ir_base base = MOK_IR_ROW_BLOCK;
    mok_task_base(c->last->task, &base);
    const int64_t words = base == MOK_IR_ROW_BLOCK ? row_blocks : token_blocks;
    mok_draft draft = mok_draft_make(context->context, mlirOperationGetLocation(at), "mok.counter");
    mok_draft_text(&draft, "sym_name", c->counter);
    mok_draft_text(&draft, "per", mok_ir_base_name(base));
    mok_draft_int(&draft, "word", word);
    mok_draft_int(&draft, "words", words);
    mok_draft_texts(&draft, "target", c->target, c->target_count);
    mok_pass_declare(context, &draft);
    word += words;
  }
  const mok_region *counters = mok_layout_find(&plan->layout, "counters");
  if (!counters || counters->columns < word)
    return mok_pass_fail(context, context->kernel, "the protocol counts in %lld words, the plan's layout has %lld",
                         (long long)word, (long long)(counters ? counters->columns : 0));
  return MOK_OK;
}

/* ---- waits and signals ---- */

static const char *explain(planner *p, const edge *e) {
  const char *task = e->producer->step->task->name, *region = e->consumer->region->name;
  switch (e->why) {
    case READ_AFTER_WRITE:
      return mok_arena_printf(p->context->arena, "%s: every %s task of the block has written it", region, task);
    case WRITE_AFTER_READ:
      return mok_arena_printf(p->context->arena, "%s slot: every %s task of the lap before has read it", region, task);
    case WRITE_AFTER_WRITE:
      return mok_arena_printf(p->context->arena, "%s slot: every %s task of the lap before has written it", region, task);
  }
  return NULL;
}

static void insert_wait(planner *p, const edge *e, const completion *c) {
  MlirOperation next = mlir_op(e->consumer->step->op->op);
  mok_ir_base base = MOK_IR_ROW_BLOCK;
  mok_task_base(e->consumer->step->task, &base);
  mok_draft draft = mok_draft_make(p->context->context, mlirOperationGetLocation(next), "mok.wait");
  mok_draft_symbol(&draft, "counter", c->counter);
  mok_draft_text(&draft, "index", mok_ir_base_name(base));
  mok_draft_texts(&draft, "target", c->target, c->target_count);
  if (e->lag > 0) {
    mok_draft_text(&draft, "lag", "ring_slots");
    mok_draft_set(&draft, "lap", mlirUnitAttrGet(p->context->context));
  }
  const bool data = e->why == READ_AFTER_WRITE;
  mok_draft_text(&draft, "edge",
                 mok_ir_edge_name(data ? mok_edge_of(e->producer->proxy, e->consumer->proxy) : MOK_IR_READ_TO_WRITE));
  mok_draft_text(&draft, "why", explain(p, e));
  mok_draft_before(&draft, next);
}

static void insert_signal(planner *p, const completion *c) {
  MlirOperation task = mlir_op(c->last->task->op);
  mok_ir_base base = MOK_IR_ROW_BLOCK;
  mok_task_base(c->last->task, &base);
  mok_draft draft = mok_draft_make(p->context->context, mlirOperationGetLocation(mlir_op(c->last->op->op)), "mok.signal");
  mok_draft_symbol(&draft, "counter", c->counter);
  mok_draft_text(&draft, "index", mok_ir_base_name(base));
  mok_draft_text(&draft, "edge", mok_ir_edge_name(c->kind));
  mok_draft_append(&draft, mok_op_body(task));
}

static mok_status run(mok_pass_context *context) {
  const mok_kernel_view *view = mok_kernel_view_of(context->arena, context->kernel);
  if (view->counter_count > 0) return mok_pass_fail(context, context->kernel, "the kernel has counters already");
  planner *p = MOK_NEW(context->arena, planner);
  p->context = context;
  p->protocol = mok_protocol_of(context->arena, view);
  p->accesses = mok_protocol_accesses(context->arena, &p->protocol, &p->access_count);
  MOK_TRY(find_edges(p));
  remove_implied(p);
  counter_table *table = MOK_NEW(context->arena, counter_table);
  MOK_TRY(collect_counters(p, table));
  MOK_TRY(declare_counters(p, table));
  for (int why = READ_AFTER_WRITE; why <= WRITE_AFTER_WRITE; ++why)
    for (size_t i = 0; i < p->edge_count; ++i)
      if ((int)p->edges[i].why == why && !p->edges[i].implied)
        insert_wait(p, &p->edges[i], find_completion(table, p->edges[i].producer->step));
  for (size_t i = 0; i < table->count; ++i) insert_signal(p, &table->list[i]);
  return MOK_OK;
}

const mok_pass mok_pass_insert_sync = {
    .name = "insert-sync",
    .summary = "counters, waits and signals from the dataflow; implied waits removed",
    .requires_ = "regions placed, rings known, tasks in global order",
    .guarantees = "protocol altitude: every edge that no barrier orders has a wait, and none is redundant",
    .run = run,
};
