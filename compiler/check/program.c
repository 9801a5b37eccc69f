/* The view as the engine's program: groups between barriers, accesses with what ends them, regions that blocks pass through. */
#include <string.h>

#include "check_impl.h"

static int64_t model_value(const mok_model *model, const char *name) {
  for (size_t i = 0; name && i < MOK_NUM_FIELDS; ++i)
    if (mok_fields[i].kind == MOK_K_INT && strcmp(mok_fields[i].name, name) == 0)
      return *(const int64_t *)((const char *)model + mok_fields[i].offset);
  return 0;
}

static const int64_t *plan_value(const mok_plan *plan, const char *name) {
  for (size_t i = 0; name && i < MOK_NUM_PLAN; ++i)
    if (mok_plan_fields[i].kind == MOK_PK_INT && strcmp(mok_plan_fields[i].name, name) == 0)
      return (const int64_t *)((const char *)plan + mok_plan_fields[i].offset);
  return NULL;
}

static bool base_of(const mok_ir_task *task, mok_ir_base *base) {
  switch (task->space) {
    case MOK_IR_ROW_BLOCK_COLUMN:
    case MOK_IR_ROW_BLOCK_PIECE:
      *base = MOK_IR_ROW_BLOCK;
      return true;
    case MOK_IR_TOKEN_BLOCK_COLUMN:
      *base = MOK_IR_TOKEN_BLOCK;
      return true;
    case MOK_IR_ONCE:
    case MOK_IR_TOKEN:
      return false;
  }
  return false;
}

/* ---- when an access is over ---- */

static bool publishes(const mok_ir_op *op) { return op->kind == MOK_IR_SIGNAL || mok_ir_loads(op->kind); }

static bool waits_for_writes(mok_ir_edge edge) { return edge == MOK_IR_BULK_TO_BULK || edge == MOK_IR_BULK_TO_GENERIC; }

static bool ends(const mok_ir_op *at, bool write, mok_proxy proxy, bool bulk_reader) {
  if (mok_ir_loads(at->kind)) return false; /* its own reads apart, a load waits for nothing of its worker */
  if (proxy != MOK_PROXY_BULK) return !write || !bulk_reader || at->edge == MOK_IR_GENERIC_TO_BULK;
  return waits_for_writes(at->edge) || (!write && at->edge == MOK_IR_READ_TO_WRITE);
}

/* Publications from op `at` on until one ends its access; 0: the next one. */
static int32_t released_after(const mok_ir_task *task, size_t at, bool write, mok_proxy proxy, bool bulk_reader) {
  if (mok_ir_loads(task->ops[at].kind) && !write) return 0; /* the tile goes to the multiplying worker when it has arrived */
  int32_t count = 0;
  for (size_t i = at; i < task->op_count; ++i) {
    if (!publishes(&task->ops[i])) continue;
    if (ends(&task->ops[i], write, proxy, bulk_reader)) return count;
    ++count;
  }
  return CHECK_NEVER;
}

/* ---- workers ---- */

static void add_accesses(mok_checker *c, check_op *out) {
  const mok_ir_op *op = out->op;
  const mok_op_facts *facts = &mok_op_table[op->kind];
  out->accesses = MOK_NEW_ARRAY(c->arena, op->read_count + op->write_count, check_access);
  for (size_t i = 0; i < op->read_count + op->write_count; ++i) {
    const bool write = i >= op->read_count;
    const mok_ir_region *region = write ? op->writes[i - op->read_count].region : op->reads[i].region;
    if (!region) continue; /* arguments are the caller's */
    const bool heap = !region->space || strcmp(region->space, mok_space_name(MOK_SPACE_HEAP)) == 0;
    out->accesses[out->access_count++] =
        (check_access){.region = region,
                       .write = write,
                       .peers = heap && c->plan->model->gpus > 1 && (write ? facts->writes_peers : facts->reads_peers),
                       .routes = heap && write && facts->writes_routes,
                       .proxy = write ? facts->writes : facts->reads};
  }
}

static check_gate *gate_of(check_group *g, const mok_ir_op *wait) {
  for (int i = 0; i < g->gate_count; ++i)
    if (g->gates[i].counter == wait->counter && g->gates[i].target == wait->target.value) return &g->gates[i];
  g->gates[g->gate_count] = (check_gate){.counter = wait->counter, .target = wait->target.value};
  return &g->gates[g->gate_count++];
}

static mok_status add_op(mok_checker *c, check_group *g, const mok_ir_op *op, check_op *out) {
  *out = (check_op){.op = op};
  if (op->kind == MOK_IR_WAIT) {
    out->gate = gate_of(g, op);
    out->lag_field = plan_value(c->plan, op->index.lag);
    if (op->index.lag && !out->lag_field)
      return MOK_ERROR(MOK_ERR_CODEGEN, "a wait's lag '%s' is no number of the plan", op->index.lag);
  }
  if (mok_ir_loads(op->kind) || op->kind == MOK_IR_MMA) {
    const int64_t depth = model_value(c->plan->model, op->product->k_extent);
    if (op->product->k <= 0 || depth <= 0) return MOK_ERROR(MOK_ERR_CODEGEN, "product @%s has no depth", op->product->name);
    out->k_tiles = (depth + op->product->k - 1) / op->product->k;
    if (g->least_k_tiles == 0 || out->k_tiles < g->least_k_tiles) g->least_k_tiles = out->k_tiles;
    if (op->product->stages > g->stages) g->stages = (int)op->product->stages;
  }
  add_accesses(c, out);
  return MOK_OK;
}

static mok_status add_task(mok_checker *c, check_group *g, check_worker *worker, const mok_ir_task *task) {
  check_task *out = &worker->tasks[worker->task_count++];
  *out = (check_task){.task = task, .extent = task->extent ? task->extent->value : 1};
  out->has_base = base_of(task, &out->base);
  out->ops = MOK_NEW_ARRAY(c->arena, task->op_count, check_op);
  for (size_t i = 0; i < task->op_count; ++i) {
    worker->loads = worker->loads || mok_ir_loads(task->ops[i].kind);
    worker->multiplies = worker->multiplies || task->ops[i].kind == MOK_IR_MMA;
    MOK_TRY(add_op(c, g, &task->ops[i], &out->ops[out->op_count++]));
  }
  return MOK_OK;
}

static mok_status add_worker(mok_checker *c, check_group *g, const mok_ir_phase *phase, const mok_ir_role *role,
                             const mok_ir_worker *worker) {
  check_worker *out = &g->workers[g->worker_count++];
  const int64_t *ctas = plan_value(c->plan, role->ctas);
  if (!ctas || *ctas < 1 || worker->instances.value < 1)
    return MOK_ERROR(MOK_ERR_CODEGEN, "role @%s, worker @%s: no CTAs or no instances", role->name, worker->name);
  if (role->cluster < 1 || *ctas % role->cluster != 0)
    return MOK_ERROR(MOK_ERR_CODEGEN, "role @%s: %lld CTAs in clusters of %lld", role->name, (long long)*ctas,
                     (long long)role->cluster);
  *out = (check_worker){.phase = phase,
                        .role = role,
                        .worker = worker,
                        .tasks = MOK_NEW_ARRAY(c->arena, worker->task_count, check_task),
                        .instances = (int32_t)worker->instances.value,
                        .plan_ctas = *ctas,
                        .cluster = worker->shares_cta ? role->cluster : 1,
                        .pipe_role = g->role_count,
                        .share = worker->shares_cta ? (int32_t)worker->instances.value : 1};
  for (size_t i = 0; i < worker->task_count; ++i)
    if (!worker->tasks[i].per_minibatch) MOK_TRY(add_task(c, g, out, &worker->tasks[i]));
  out->once_count = out->task_count;
  for (size_t i = 0; i < worker->task_count; ++i)
    if (worker->tasks[i].per_minibatch) MOK_TRY(add_task(c, g, out, &worker->tasks[i]));
  if (out->loads && (out->instances != 1 || out->multiplies))
    return MOK_ERROR(MOK_ERR_CODEGEN, "worker @%s: a loading worker has one instance in a CTA and does not multiply",
                     worker->name);
  if ((out->loads || out->multiplies) && !worker->shares_cta)
    return MOK_ERROR(MOK_ERR_CODEGEN, "worker @%s: loading and multiplying workers share the tasks of their CTA", worker->name);
  return MOK_OK;
}

static mok_status add_role(mok_checker *c, check_group *g, const mok_ir_phase *phase, const mok_ir_role *role) {
  int loaders = 0, multipliers = 0;
  for (size_t i = 0; i < role->worker_count; ++i) {
    MOK_TRY(add_worker(c, g, phase, role, &role->workers[i]));
    loaders += g->workers[g->worker_count - 1].loads;
    multipliers += g->workers[g->worker_count - 1].multiplies;
  }
  ++g->role_count;
  if ((loaders > 0) != (multipliers > 0)) return MOK_ERROR(MOK_ERR_CODEGEN, "role @%s: load and mma come in pairs", role->name);
  if (loaders > 1) return MOK_ERROR(MOK_ERR_CODEGEN, "role @%s has %d loading workers", role->name, loaders);
  return MOK_OK;
}

static void count_items(const mok_kernel_view *view, size_t *barriers, size_t *workers, size_t *ops) {
  *barriers = *workers = *ops = 0;
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      *barriers += role == NULL;
      for (size_t w = 0; role && w < role->worker_count; ++w, ++*workers)
        for (size_t t = 0; t < role->workers[w].task_count; ++t) *ops += role->workers[w].tasks[t].op_count;
    }
}

static mok_status add_groups(mok_checker *c) {
  size_t barriers, workers, ops;
  count_items(c->view, &barriers, &workers, &ops);
  c->groups = MOK_NEW_ARRAY(c->arena, barriers + 1, check_group);
  check_group *g = NULL;
  for (size_t p = 0; p < c->view->phase_count; ++p) {
    const mok_ir_phase *phase = &c->view->phases[p];
    for (size_t i = 0; i < phase->item_count; ++i) {
      if (!phase->items[i].role) {
        c->rank_barriers += phase->items[i].barrier->rank;
        g = NULL;
        continue;
      }
      if (!g) {
        g = &c->groups[c->group_count++];
        *g = (check_group){.workers = MOK_NEW_ARRAY(c->arena, workers, check_worker),
                           .gates = MOK_NEW_ARRAY(c->arena, ops, check_gate),
                           .rank_barriers = c->rank_barriers};
      }
      MOK_TRY(add_role(c, g, phase, phase->items[i].role));
    }
  }
  return MOK_OK;
}

/* ---- regions that blocks pass through ---- */

/* Calls `visit` for every access of a group. */
typedef void (*visitor)(mok_checker *c, check_group *g, check_worker *worker, check_task *task, int at, check_access *access);
static void each_access(mok_checker *c, check_group *g, visitor visit) {
  for (int w = 0; w < g->worker_count; ++w)
    for (int t = 0; t < g->workers[w].task_count; ++t)
      for (int o = 0; o < g->workers[w].tasks[t].op_count; ++o) {
        check_op *op = &g->workers[w].tasks[t].ops[o];
        for (int a = 0; a < op->access_count; ++a) visit(c, g, &g->workers[w], &g->workers[w].tasks[t], o, &op->accesses[a]);
      }
}

static check_track *find_track(check_group *g, const mok_ir_region *region) {
  for (int i = 0; i < g->track_count; ++i)
    if (g->tracks[i].region == region) return &g->tracks[i];
  return NULL;
}

static void count_track(mok_checker *c, check_group *g, check_worker *worker, check_task *task, int at, check_access *access) {
  (void)c, (void)worker, (void)at;
  if (access->write && task->has_base && !find_track(g, access->region))
    g->tracks[g->track_count++] = (check_track){.region = access->region, .base = task->base};
}

static void add_stream(mok_checker *c, check_group *g, check_worker *worker, check_task *task, int at, check_access *access) {
  check_track *track = find_track(g, access->region);
  if (!track || !task->has_base || task->base != track->base || (!access->write && access->peers)) return;
  check_stream *stream = access->write ? &track->writes[track->write_count++] : &track->reads[track->read_count++];
  *stream = (check_stream){.op = &task->ops[at],
                           .task = task,
                           .worker = worker,
                           .proxy = access->proxy,
                           .write = access->write,
                           .routes = access->routes,
                           .released = released_after(task->task, (size_t)at, access->write, access->proxy, false),
                           .released_bulk = released_after(task->task, (size_t)at, access->write, access->proxy, true),
                           .elements = (int32_t)task->extent * worker->share};
  access->track = track;
  access->stream = stream;
  (void)c;
}

static void add_tracks(mok_checker *c, check_group *g) {
  size_t accesses = 0;
  for (int w = 0; w < g->worker_count; ++w)
    for (int t = 0; t < g->workers[w].task_count; ++t)
      for (int o = 0; o < g->workers[w].tasks[t].op_count; ++o) accesses += (size_t)g->workers[w].tasks[t].ops[o].access_count;
  g->tracks = MOK_NEW_ARRAY(c->arena, accesses, check_track);
  each_access(c, g, count_track);
  for (int i = 0; i < g->track_count; ++i) {
    g->tracks[i].writes = MOK_NEW_ARRAY(c->arena, accesses, check_stream);
    g->tracks[i].reads = MOK_NEW_ARRAY(c->arena, accesses, check_stream);
  }
  each_access(c, g, add_stream);
}

/* ---- what holds for all sizes ---- */

static void check_order_names(mok_checker *c, const mok_ir_phase *phase, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bool found = false;
    for (int g = 0; g < c->group_count; ++g)
      for (int w = 0; w < c->groups[g].worker_count; ++w)
        for (int t = 0; t < c->groups[g].workers[w].task_count; ++t)
          found = found ||
                  (c->groups[g].workers[w].phase == phase && strcmp(c->groups[g].workers[w].tasks[t].task->name, names[i]) == 0);
    if (!found)
      check_find(c, MOK_CHECK_NEVER, names[i], phase->loc, NULL, "phase %s: no worker runs task %s", phase->name, names[i]);
  }
}

mok_status mok_checker_make(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_checker **out) {
  mok_checker *c = MOK_NEW(arena, mok_checker);
  *c = (mok_checker){.arena = arena, .view = view, .plan = plan};
  c->minibatch_blocks = plan->row_padding > 0 ? plan->minibatch_rows / plan->row_padding : 0;
  if (c->minibatch_blocks < 1 || plan->ring_slots < 1)
    return MOK_ERROR(MOK_ERR_CODEGEN, "the plan has minibatches of %lld blocks and a ring of %lld slots",
                     (long long)c->minibatch_blocks, (long long)plan->ring_slots);
  MOK_TRY(add_groups(c));
  for (int g = 0; g < c->group_count; ++g) add_tracks(c, &c->groups[g]);
  check_barriers(c);
  for (size_t p = 0; p < view->phase_count; ++p) {
    check_order_names(c, &view->phases[p], view->phases[p].once, view->phases[p].once_count);
    check_order_names(c, &view->phases[p], view->phases[p].per_minibatch, view->phases[p].per_minibatch_count);
  }
  *out = c;
  return MOK_OK;
}
