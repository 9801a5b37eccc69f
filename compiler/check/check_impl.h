/* The program as the engine runs it. Private to check. */
#ifndef MOK_CHECK_IMPL_H
#define MOK_CHECK_IMPL_H

#include "check.h"

enum {
  CHECK_NEVER = INT32_MAX, /* a stamp that nothing reaches: the access is not over before the next barrier */
  CHECK_MAX_FINDINGS = 32
};

/* A vector clock has one entry for each worker instance of a rank: how many of its publications (signals, loaded tiles) are
 * known. */
typedef int32_t check_clock;

typedef struct check_task check_task;
typedef struct check_worker check_worker;

/* All accesses of one op to one region, by tile. Who touched which block of a slot last, and when. */
typedef struct check_stream {
  const struct check_op *op;
  const check_task *task;
  const check_worker *worker;
  mok_proxy proxy;
  bool write, routes;
  int32_t released;      /* publications from the access on until it is over; CHECK_NEVER */
  int32_t released_bulk; /* writes: the same for readers of the bulk proxy */
  int32_t elements;      /* tiles of one block, times instances that share a tile */
  /* [slot][element], of the current run */
  int32_t *block;
  check_clock *stamp;
  uint16_t *instance;
} check_stream;

/* A region that blocks are written to and read from between two barriers. */
typedef struct check_track {
  const mok_ir_region *region;
  mok_ir_base base;
  int64_t slots; /* of the current run */
  check_stream *writes, *reads;
  int write_count, read_count;
} check_track;

typedef struct check_access {
  const mok_ir_region *region;
  bool write, peers;
  bool routes; /* a write to the slots of its rows' routes, which no other such write meets */
  mok_proxy proxy;
  check_track *track;   /* NULL: barriers alone order it */
  check_stream *stream; /* in it */
} check_access;

/* A word's clock: what its first `target` signals publish. */
typedef struct check_gate {
  const mok_ir_counter *counter;
  int64_t target;
  size_t offset; /* of the first word's clock, in clocks; of the current run */
} check_gate;

typedef struct check_op {
  const mok_ir_op *op;
  check_access *accesses; /* reads, then writes */
  int access_count;
  check_gate *gate;         /* wait */
  const int64_t *lag_field; /* wait: value in the plan; NULL: none */
  int64_t lag;              /* of the current run */
  int64_t k_tiles;          /* load, mma: stages of a tile */
} check_op;

struct check_task {
  const mok_ir_task *task;
  bool has_base;
  mok_ir_base base;
  int64_t extent;
  check_op *ops;
  int op_count;
};

struct check_worker {
  const mok_ir_phase *phase;
  const mok_ir_role *role;
  const mok_ir_worker *worker;
  check_task *tasks; /* those that run once first */
  int task_count, once_count;
  int32_t instances;
  int64_t plan_ctas, ctas; /* of the plan; of the current run */
  int64_t cluster;         /* CTAs that take an index together */
  bool loads, multiplies;
  int pipe_role; /* number of its role in the group */
  int32_t share; /* instances that work on one tile */
};

/* What runs between two barriers. */
typedef struct check_group {
  check_worker *workers;
  int worker_count, role_count;
  check_track *tracks;
  int track_count;
  check_gate *gates;
  int gate_count;
  int rank_barriers; /* of the launch, before it */
  int stages;        /* of the deepest pipeline */
  int64_t least_k_tiles;
} check_group;

struct mok_checker {
  mok_arena *arena;
  const mok_kernel_view *view;
  const mok_plan *plan;
  check_group *groups;
  int group_count;
  int rank_barriers; /* of a launch */
  int64_t minibatch_blocks;
  mok_check_finding findings[CHECK_MAX_FINDINGS];
  const void *about[CHECK_MAX_FINDINGS]; /* op, counter or task of each */
  size_t finding_count;
  struct check_run *run; /* buffers, kept from run to run */
};

/* Records a finding unless the list is full or has one of this kind about this thing. */
void check_find(mok_checker *c, mok_check_kind kind, const void *about, mok_loc loc, const char *when, const char *fmt, ...)
    MOK_PRINTF(6, 7);

/* Accesses that barriers alone must order: once, for all sizes. */
void check_barriers(mok_checker *c);

/* "comm.pull, task dispatch" */
const char *check_where(const mok_checker *c, const check_worker *worker, const check_task *task);

#endif
