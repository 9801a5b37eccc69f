#include "protocol.h"

#include <string.h>

static size_t count_steps(const mok_kernel_view *view, size_t *barriers) {
  size_t steps = 0;
  *barriers = 0;
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      *barriers += role == NULL;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t) steps += role->workers[w].tasks[t].op_count;
    }
  return steps;
}

static void add_role(mok_protocol *p, const mok_ir_phase *phase, const mok_ir_role *role, size_t group) {
  for (size_t w = 0; w < role->worker_count; ++w) {
    const mok_ir_worker *worker = &role->workers[w];
    for (size_t t = 0; t < worker->task_count; ++t) {
      const mok_ir_task *task = &worker->tasks[t];
      for (size_t s = 0; s < task->op_count; ++s) {
        p->steps[p->count++] = (mok_step){
            .op = &task->ops[s], .task = task, .worker = worker, .role = role, .phase = phase, .position = s, .group = group};
      }
    }
  }
}

mok_protocol mok_protocol_of(mok_arena *arena, const mok_kernel_view *view) {
  size_t barriers = 0;
  const size_t steps = count_steps(view, &barriers);
  mok_protocol p = {
      .view = view, .steps = MOK_NEW_ARRAY(arena, steps, mok_step), .rank_barrier = MOK_NEW_ARRAY(arena, barriers, bool)};
  size_t group = 0;
  for (size_t i = 0; i < view->phase_count; ++i) {
    const mok_ir_phase *phase = &view->phases[i];
    for (size_t k = 0; k < phase->item_count; ++k) {
      if (phase->items[k].role) add_role(&p, phase, phase->items[k].role, group);
      else p.rank_barrier[group++] = phase->items[k].barrier->rank;
    }
  }
  return p;
}

bool mok_step_same_task(const mok_step *a, const mok_step *b) {
  return a->phase == b->phase && a->role == b->role && a->group == b->group && strcmp(a->task->name, b->task->name) == 0;
}

bool mok_step_before(const mok_protocol *p, const mok_step *a, const mok_step *b) {
  if (a->task == b->task) return a->position <= b->position;
  if (!mok_step_same_task(a, b) || !a->worker->shares_cta || !b->worker->shares_cta) return false;
  /* The stages of product q carry data from load to mma: a .. load q | mma q .. b. */
  for (size_t l = 0; l < p->count; ++l) {
    const mok_step *load = &p->steps[l];
    if (!mok_ir_loads(load->op->kind) || load->task != a->task || load->position < a->position) continue;
    for (size_t m = 0; m < p->count; ++m) {
      const mok_step *mma = &p->steps[m];
      if (mma->op->kind == MOK_IR_MMA && mma->task == b->task && mma->position <= b->position &&
          mma->op->product == load->op->product)
        return true;
    }
  }
  return false;
}

bool mok_rank_barrier_between(const mok_protocol *p, size_t first_group, size_t second_group) {
  for (size_t g = first_group; g < second_group; ++g)
    if (p->rank_barrier[g]) return true;
  return false;
}

const mok_access *mok_protocol_accesses(mok_arena *arena, const mok_protocol *p, size_t *count) {
  size_t capacity = 0;
  for (size_t i = 0; i < p->count; ++i) capacity += p->steps[i].op->read_count + p->steps[i].op->write_count;
  mok_access *list = MOK_NEW_ARRAY(arena, capacity, mok_access);
  *count = 0;
  for (size_t i = 0; i < p->count; ++i) {
    const mok_ir_op *op = p->steps[i].op;
    const mok_op_facts *facts = &mok_op_table[op->kind];
    for (size_t k = 0; k < op->read_count + op->write_count; ++k) {
      const bool write = k >= op->read_count;
      const mok_ir_region *region = write ? op->writes[k - op->read_count].region : op->reads[k].region;
      if (!region) continue; /* arguments are the caller's */
      const bool heap = !region->space || strcmp(region->space, "heap") == 0;
      list[(*count)++] = (mok_access){.step = &p->steps[i],
                                      .region = region,
                                      .write = write,
                                      .peers = heap && (write ? facts->writes_peers : facts->reads_peers),
                                      .routes = heap && write && facts->writes_routes,
                                      .proxy = write ? facts->writes : facts->reads};
    }
  }
  return list;
}

mok_ir_edge mok_edge_of(mok_proxy writer, mok_proxy reader) {
  if (writer == MOK_PROXY_BULK) return reader == MOK_PROXY_BULK ? MOK_IR_BULK_TO_BULK : MOK_IR_BULK_TO_GENERIC;
  return reader == MOK_PROXY_BULK ? MOK_IR_GENERIC_TO_BULK : MOK_IR_GENERIC_TO_GENERIC;
}

bool mok_task_base(const mok_ir_task *task, mok_ir_base *base) {
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
