/* What happens before what in a kernel: the facts that insert-sync works from and check-protocol proves. Private to passes. */
#ifndef MOK_PASSES_PROTOCOL_H
#define MOK_PASSES_PROTOCOL_H

#include "pass_impl.h"

/* One op of a task, with everything around it. */
typedef struct mok_step {
  const mok_ir_op *op;
  const mok_ir_task *task;
  const mok_ir_worker *worker;
  const mok_ir_role *role;
  const mok_ir_phase *phase;
  size_t position; /* in the task */
  size_t group;    /* barriers of the kernel before it: steps of one group run side by side */
} mok_step;

typedef struct mok_protocol {
  const mok_kernel_view *view;
  mok_step *steps; /* in the order of the module */
  size_t count;
  bool *rank_barrier; /* [g]: the barrier after group g is a rank barrier */
} mok_protocol;

mok_protocol mok_protocol_of(mok_arena *arena, const mok_kernel_view *view);

/* For one and the same tile: a is done when b is, by program order of a worker or through the pipeline from load to mma. True
 * for a == b. */
bool mok_step_before(const mok_protocol *p, const mok_step *a, const mok_step *b);
/* Same task, maybe shares of two workers. */
bool mok_step_same_task(const mok_step *a, const mok_step *b);
/* A rank barrier stands between the groups. */
bool mok_rank_barrier_between(const mok_protocol *p, size_t first_group, size_t second_group);

/* What one op does to a region. */
typedef struct mok_access {
  const mok_step *step;
  const mok_ir_region *region;
  bool write;
  bool peers;  /* other ranks' copies too */
  bool routes; /* slots of its rows' routes */
  mok_proxy proxy;
} mok_access;
const mok_access *mok_protocol_accesses(mok_arena *arena, const mok_protocol *p, size_t *count);

mok_ir_edge mok_edge_of(mok_proxy writer, mok_proxy reader);
/* Tiles are row or token blocks; false for tasks that have none. */
bool mok_task_base(const mok_ir_task *task, mok_ir_base *base);

#endif
