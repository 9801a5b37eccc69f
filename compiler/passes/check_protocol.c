/* check-protocol: the invariants that can be decided without running, for all sizes and routings at once.
 *
 *   order     every wait names a strictly smaller task of the global order, and a worker's tasks rise: nobody waits in a circle
 *   counts    the signals of a counter's word add up to exactly the target of its waits
 *   cover     two accesses to one region, one of them a write, are ordered by a barrier or a chain of signals and waits;
 *             across ranks only a rank barrier does; a ring slot is written again only after its last reader
 *   steps     each product is loaded, multiplied and stored by one task, and what it leaves for others is taken; the output is
 *             written
 *   edges     the kind of a wait and of its signal fits how the data was written and is read
 *
 * First the numbers that the proof and the kernel rest on are compared with the plan (check_numbers.c), and what the steps state
 * with what their primitives do (check_steps.c); a difference is an error, never a warning.
 *
 * Symbolic: blocks stay names. A lap back means `ring_slots` blocks, which is at least one minibatch, or two where tasks
 * run ahead.
 */
#include <string.h>

#include "check_numbers.h"
#include "check_steps.h"
#include "protocol.h"

enum { MAX_LAG = 1 };

typedef struct checker {
  mok_pass_context *context;
  mok_protocol protocol;
  const mok_access *accesses;
  size_t access_count;
  int findings;
  bool *visited; /* [step][lag] of one search */
} checker;

MOK_PRINTF(3, 4) static void find(checker *c, mok_loc loc, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(c->context->arena, fmt, args);
  va_end(args);
  mok_diag_report(c->context->diag, c->context->check_warns ? MOK_WARNING : MOK_SEVERITY_ERROR, loc, NULL, "protocol: %s", text);
  ++c->findings;
}

/* "comm.pull, task dispatch" */
static const char *where(const checker *c, const mok_step *s) {
  return mok_arena_printf(c->context->arena, "%s.%s, task %s", s->role->name, s->worker->name, s->task->name);
}

static int lag_of(const mok_ir_op *wait) { return wait->index.lag ? 1 : 0; }

/* ---- order ---- */

static void check_worker_order(checker *c) {
  const mok_protocol *p = &c->protocol;
  for (size_t i = 0; i + 1 < p->count; ++i) {
    const mok_step *a = &p->steps[i], *b = &p->steps[i + 1];
    if (a->worker != b->worker || a->task == b->task) continue;
    if (a->task->order < 0 || b->task->order < 0)
      find(c, b->task->loc, "%s.%s has several tasks, and @%s is not in the phase's order", a->role->name, a->worker->name,
           a->task->order < 0 ? a->task->name : b->task->name);
    else if (a->task->order >= b->task->order)
      find(c, b->task->loc, "%s.%s runs @%s ahead of @%s, against the global order", a->role->name, a->worker->name,
           a->task->name, b->task->name);
  }
}

static int64_t extent_value(const mok_kernel_view *view, const char *name) {
  for (size_t i = 0; i < view->extent_count; ++i)
    if (strcmp(view->extents[i].name, name) == 0) return view->extents[i].value;
  return 0;
}

/* Rounds from the task that `signal` ends to the one that waits, whose block is `laps` laps of the ring further. */
static int64_t rounds_between(const checker *c, const mok_step *wait, const mok_step *signal, int laps) {
  const int64_t slots = c->context->plan->ring_slots, blocks = extent_value(c->protocol.view, "minibatch_blocks");
  const int64_t minibatches = laps > 0 && blocks > 0 ? laps * slots / blocks : 0;
  return minibatches + (wait->phase->ahead_count > 0 ? (int64_t)signal->task->ahead - (int64_t)wait->task->ahead : 0);
}

/* Is the task that `signal` ends strictly smaller than the one that waits? */
static const char *order_problem(const checker *c, const mok_step *wait, const mok_step *signal) {
  if (signal->group != wait->group) return signal->group < wait->group ? NULL : "which comes after a later barrier";
  if (signal->phase != wait->phase) return "which is of another phase with no barrier between";
  if (signal->task->order < 0 || wait->task->order < 0) return "and the phase's order does not hold both";
  const bool both = signal->task->per_minibatch && wait->task->per_minibatch;
  const int laps = lag_of(wait->op);
  if (laps > 0 && !both) return "and only tasks of minibatches have laps";
  const int64_t rounds = both ? rounds_between(c, wait, signal, laps) : 0;
  if (laps == 0)
    return rounds > 0 || (rounds == 0 && signal->task->order < wait->task->order)
               ? NULL
               : "which does not come earlier in the global order";
  if (rounds > 0) return NULL;
  return wait->task->ahead ? "of a later round, because the ring is shorter than two minibatches"
                           : "of the same minibatch, because the ring is shorter than one";
}

/* ---- counts ---- */

static bool same_factors(const mok_ir_factors *a, const mok_ir_factors *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; ++i) {
    size_t in_a = 0, in_b = 0;
    for (size_t k = 0; k < a->count; ++k) {
      in_a += a->factor[k] == a->factor[i];
      in_b += b->factor[k] == a->factor[i];
    }
    if (in_a != in_b) return false;
  }
  return true;
}

/* Signals of one word that one signal op makes in a launch. false: not countable. */
static bool signals_of(const mok_step *signal, int64_t *count, mok_ir_factors *factors, const mok_ir_extent **storage,
                       mok_ir_extent *instances) {
  mok_ir_base base;
  if (!mok_task_base(signal->task, &base) || base != signal->op->counter->per || !signal->task->extent) return false;
  *factors = (mok_ir_factors){.factor = storage, .count = 1, .value = signal->task->extent->value};
  storage[0] = signal->task->extent;
  const mok_ir_count *n = &signal->worker->instances;
  if (signal->worker->shares_cta && (n->symbol || n->value != 1)) {
    *instances = (mok_ir_extent){.name = n->symbol ? n->symbol : "", .value = n->value};
    storage[factors->count++] = instances;
    factors->value *= n->value;
  }
  *count = factors->value;
  return true;
}

static bool same_names(const mok_ir_factors *a, const mok_ir_factors *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; ++i) {
    bool found = false;
    for (size_t k = 0; k < b->count; ++k) found = found || strcmp(a->factor[i]->name, b->factor[k]->name) == 0;
    if (!found) return false;
  }
  return true;
}

static void check_wait(checker *c, const mok_step *wait) {
  const mok_protocol *p = &c->protocol;
  const mok_ir_counter *counter = wait->op->counter;
  mok_ir_base base;
  if (!mok_task_base(wait->task, &base) || base != counter->per || wait->op->index.base != counter->per)
    find(c, wait->op->loc, "%s waits for @%s, which counts per %s, by another index", where(c, wait), counter->name,
         mok_ir_base_name(counter->per));
  if (!same_factors(&wait->op->target, &counter->target))
    find(c, wait->op->loc, "%s waits until @%s is %lld; its target is %lld", where(c, wait), counter->name,
         (long long)wait->op->target.value, (long long)counter->target.value);
  size_t signals = 0;
  for (size_t i = 0; i < p->count; ++i) {
    const mok_step *signal = &p->steps[i];
    if (signal->op->kind != MOK_IR_SIGNAL || signal->op->counter != counter) continue;
    ++signals;
    const char *problem = order_problem(c, wait, signal);
    if (problem)
      find(c, wait->op->loc, "%s waits for @%s of task %s, %s", where(c, wait), counter->name, signal->task->name, problem);
  }
  if (signals == 0) find(c, wait->op->loc, "%s waits for @%s, which nobody signals", where(c, wait), counter->name);
}

static void check_counter(checker *c, const mok_ir_counter *counter) {
  const mok_protocol *p = &c->protocol;
  int64_t total = 0;
  size_t signals = 0;
  bool symbolic = true;
  mok_loc loc = c->protocol.view->loc;
  for (size_t i = 0; i < p->count; ++i) {
    const mok_step *signal = &p->steps[i];
    if (signal->op->kind != MOK_IR_SIGNAL || signal->op->counter != counter) continue;
    const mok_ir_extent *storage[2];
    mok_ir_extent instances;
    mok_ir_factors factors;
    int64_t count = 0;
    ++signals;
    loc = signal->op->loc;
    if (!signals_of(signal, &count, &factors, storage, &instances) || signal->op->index.base != counter->per) {
      find(c, loc, "%s signals @%s, which counts per %s, from another tile space", where(c, signal), counter->name,
           mok_ir_base_name(counter->per));
      return;
    }
    symbolic = symbolic && same_names(&factors, &counter->target);
    total += count;
  }
  if (signals == 0) return; /* its waits report it */
  if (total != counter->target.value || (signals == 1 && !symbolic))
    find(c, loc, "the signals of @%s add up to %lld per %s, its target is %lld", counter->name, (long long)total,
         mok_ir_base_name(counter->per), (long long)counter->target.value);
}

/* ---- cover ---- */

/* When `step` of a block runs, is `goal` of the block `goal_lag` laps before done? Follows waits to signals. */
static bool reaches(checker *c, const mok_step *step, int lag, const mok_step *goal, int goal_lag) {
  const mok_protocol *p = &c->protocol;
  const size_t key = (size_t)(step - p->steps) * (MAX_LAG + 1) + (size_t)lag;
  if (c->visited[key]) return false;
  c->visited[key] = true;
  for (size_t w = 0; w < p->count; ++w) {
    const mok_step *wait = &p->steps[w];
    if (wait->op->kind != MOK_IR_WAIT || !mok_step_before(p, wait, step)) continue;
    const int at = lag + lag_of(wait->op);
    if (at > goal_lag) continue;
    for (size_t s = 0; s < p->count; ++s) {
      const mok_step *signal = &p->steps[s];
      if (signal->op->kind != MOK_IR_SIGNAL || signal->op->counter != wait->op->counter) continue;
      if (at == goal_lag && mok_step_before(p, goal, signal)) return true;
      if (reaches(c, signal, at, goal, goal_lag)) return true;
    }
  }
  return false;
}

static bool ordered(checker *c, const mok_step *later, const mok_step *earlier, int lag) {
  memset(c->visited, 0, c->protocol.count * (MAX_LAG + 1) * sizeof *c->visited);
  return reaches(c, later, 0, earlier, lag);
}

static void check_read(checker *c, const mok_access *read) {
  bool written = false;
  for (size_t i = 0; i < c->access_count; ++i) {
    const mok_access *write = &c->accesses[i];
    if (write->region != read->region || !write->write) continue;
    const mok_step *reader = read->step, *writer = write->step;
    if (writer->group > reader->group) continue; /* the next launch's reader, if any */
    written = true;
    if (writer->group < reader->group) {
      if ((read->peers || write->peers) && !mok_rank_barrier_between(&c->protocol, writer->group, reader->group))
        find(c, reader->op->loc, "%s reads @%s across ranks after %s wrote it, with no rank barrier between", where(c, reader),
             read->region->name, where(c, writer));
      continue;
    }
    if (mok_step_same_task(reader, writer) && mok_step_before(&c->protocol, writer, reader)) continue;
    if (read->peers || write->peers)
      find(c, reader->op->loc, "%s reads @%s across ranks while %s writes it: only a rank barrier orders them", where(c, reader),
           read->region->name, where(c, writer));
    else if (!ordered(c, reader, writer, 0))
      find(c, reader->op->loc, "%s reads @%s, but no wait makes sure that %s has written it", where(c, reader),
           read->region->name, where(c, writer));
  }
  if (!written) find(c, read->step->op->loc, "%s reads @%s, which nothing has written", where(c, read->step), read->region->name);
}

static void check_write(checker *c, const mok_access *write) {
  for (size_t i = 0; i < c->access_count; ++i) {
    const mok_access *other = &c->accesses[i];
    if (other->region != write->region || other->step->group != write->step->group) continue;
    if (write->region->ring) {
      if (!ordered(c, write->step, other->step, 1))
        find(c, write->step->op->loc, "%s writes a slot of @%s, but no wait makes sure that %s of the lap before has %s it",
             where(c, write->step), write->region->name, where(c, other->step), other->write ? "written" : "read");
    } else if (other->write && other > write && !(other->routes && write->routes) && !ordered(c, write->step, other->step, 0) &&
               !ordered(c, other->step, write->step, 0)) {
      find(c, write->step->op->loc, "%s and %s both write @%s in no order", where(c, write->step), where(c, other->step),
           write->region->name);
    }
  }
}

/* ---- steps ---- */

/* Steps of the product of `step`, in its task: its loads, its stores, or those of one kind. */
static size_t count_partners(const checker *c, const mok_step *step, mok_ir_op_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < c->protocol.count; ++i) {
    const mok_step *other = &c->protocol.steps[i];
    const bool counts = kind == MOK_IR_LOAD    ? mok_ir_loads(other->op->kind)
                        : kind == MOK_IR_STORE ? mok_ir_stores(other->op->kind) && other->op->kind != MOK_IR_STORE_PUSHED
                                               : other->op->kind == kind;
    count += counts && other->op->product == step->op->product && mok_step_same_task(other, step);
  }
  return count;
}

static void check_product_step(checker *c, const mok_step *step) {
  const mok_ir_op_kind kinds[] = {MOK_IR_LOAD, MOK_IR_MMA, step->op->product->out.name ? MOK_IR_STORE : MOK_IR_STORE_PUSHED};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    const size_t count = count_partners(c, step, kinds[i]);
    if (count != 1)
      find(c, step->op->loc, "task %s has %zu steps %s of product @%s, not one", step->task->name, count,
           mok_ir_op_name(kinds[i]), step->op->product->name);
  }
  if (!step->worker->shares_cta)
    find(c, step->op->loc, "%s works on a product, whose stages all of its CTA share, by itself", where(c, step));
  if (!mok_ir_stores(step->op->kind)) return;
  for (size_t i = 0; i < step->position; ++i)
    if (step->task->ops[i].kind == MOK_IR_MMA && step->task->ops[i].product == step->op->product) return;
  find(c, step->op->loc, "%s stores product @%s ahead of its mma", where(c, step), step->op->product->name);
}

static bool holds(const mok_ir_place *places, size_t count, const char *name) {
  for (size_t i = 0; i < count; ++i)
    if (strcmp(places[i].name, name) == 0) return true;
  return false;
}

/* Rows that a split store leaves in the product's out, somebody takes to the slots of the same region. */
static void check_split(checker *c, const mok_step *split) {
  for (size_t k = 1; k < split->op->write_count; ++k) {
    const char *slots = split->op->writes[k].name, *out = split->op->writes[0].name;
    bool taken = false;
    for (size_t i = 0; i < c->protocol.count && !taken; ++i) {
      const mok_ir_op *op = c->protocol.steps[i].op;
      taken = mok_op_table[op->kind].writes_peers && holds(op->reads, op->read_count, out) &&
              holds(op->writes, op->write_count, slots);
    }
    if (!taken)
      find(c, split->op->loc, "%s leaves rows of other ranks in @%s, but nobody takes them to @%s", where(c, split), out, slots);
  }
}

static void check_output(checker *c) {
  bool declared = false, written = false;
  for (size_t i = 0; i < c->protocol.view->argument_count; ++i)
    declared = declared || strcmp(c->protocol.view->arguments[i].name, "out") == 0;
  for (size_t i = 0; i < c->protocol.count; ++i) {
    const mok_ir_op *op = c->protocol.steps[i].op;
    for (size_t k = 0; k < op->write_count; ++k)
      written = written || (op->writes[k].argument && strcmp(op->writes[k].argument->name, "out") == 0);
  }
  if (declared && !written) find(c, c->protocol.view->loc, "nothing writes @args.out");
}

/* ---- edges ---- */

/* A signal that frees a slot comes after asynchronous reads are over. A load's are: its stage is full when it is multiplied. */
static void check_freeing(checker *c, const mok_step *wait) {
  for (size_t r = 0; r < c->access_count; ++r) {
    const mok_access *read = &c->accesses[r];
    if (read->write || !read->region->ring || read->proxy != MOK_PROXY_BULK || read->step->op->kind == MOK_IR_LOAD) continue;
    for (size_t s = 0; s < c->protocol.count; ++s) {
      const mok_step *signal = &c->protocol.steps[s];
      if (signal->op->kind != MOK_IR_SIGNAL || signal->op->counter != wait->op->counter ||
          !mok_step_before(&c->protocol, read->step, signal))
        continue;
      if (signal->op->edge == MOK_IR_GENERIC_TO_BULK || signal->op->edge == MOK_IR_GENERIC_TO_GENERIC)
        find(c, signal->op->loc, "%s frees a slot of @%s with edge %s, which does not wait for its bulk reads", where(c, signal),
             read->region->name, mok_ir_edge_name(signal->op->edge));
    }
  }
}

/* Data that a wait stands for: written before a signal of its counter, read after it in the same task. */
static void check_edges(checker *c, const mok_step *wait) {
  const mok_protocol *p = &c->protocol;
  if (lag_of(wait->op) > 0 && wait->op->edge != MOK_IR_READ_TO_WRITE)
    find(c, wait->op->loc, "%s waits for a ring slot with edge %s, not read_to_write", where(c, wait),
         mok_ir_edge_name(wait->op->edge));
  if (lag_of(wait->op) > 0) check_freeing(c, wait);
  if (lag_of(wait->op) > 0) return;
  for (size_t w = 0; w < c->access_count; ++w) {
    for (size_t r = 0; r < c->access_count; ++r) {
      const mok_access *write = &c->accesses[w], *read = &c->accesses[r];
      if (!write->write || read->write || write->region != read->region) continue;
      if (read->step->task != wait->task || !mok_step_before(p, wait, read->step)) continue;
      for (size_t s = 0; s < p->count; ++s) {
        const mok_step *signal = &p->steps[s];
        if (signal->op->kind != MOK_IR_SIGNAL || signal->op->counter != wait->op->counter ||
            !mok_step_before(p, write->step, signal))
          continue;
        const mok_ir_edge want = mok_edge_of(write->proxy, read->proxy);
        if (wait->op->edge != want || signal->op->edge != want)
          find(c, wait->op->loc, "%s: @%s goes through an edge of kind %s, signalled as %s and awaited as %s", where(c, wait),
               read->region->name, mok_ir_edge_name(want), mok_ir_edge_name(signal->op->edge), mok_ir_edge_name(wait->op->edge));
      }
    }
  }
}

static mok_status run(mok_pass_context *context) {
  const mok_kernel_view *view = mok_kernel_view_of(context->arena, context->kernel);
  MOK_TRY(mok_check_numbers(context, view));
  MOK_TRY(mok_check_steps(context, view));
  checker c = {.context = context, .protocol = mok_protocol_of(context->arena, view)};
  c.accesses = mok_protocol_accesses(context->arena, &c.protocol, &c.access_count);
  c.visited = MOK_NEW_ARRAY(context->arena, c.protocol.count * (MAX_LAG + 1), bool);
  check_worker_order(&c);
  for (size_t i = 0; i < view->counter_count; ++i) check_counter(&c, &view->counters[i]);
  check_output(&c);
  for (size_t i = 0; i < c.protocol.count; ++i) {
    if (c.protocol.steps[i].op->product) check_product_step(&c, &c.protocol.steps[i]);
    if (c.protocol.steps[i].op->kind == MOK_IR_STORE_SPLIT) check_split(&c, &c.protocol.steps[i]);
    if (c.protocol.steps[i].op->kind != MOK_IR_WAIT) continue;
    check_wait(&c, &c.protocol.steps[i]);
    check_edges(&c, &c.protocol.steps[i]);
  }
  for (size_t i = 0; i < c.access_count; ++i) {
    if (c.accesses[i].write) check_write(&c, &c.accesses[i]);
    else check_read(&c, &c.accesses[i]);
  }
  if (c.findings == 0 || context->check_warns) return MOK_OK;
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_PROTOCOL, "%d findings in kernel @%s", c.findings, view->name));
}

const mok_pass mok_pass_check_protocol = {
    .name = "check-protocol",
    .summary = "order, counts, cover and edge kinds of the protocol, proved for all sizes",
    .requires_ = "protocol altitude",
    .guarantees = "no wait can be circular; every shared access is ordered",
    .run = run,
};
