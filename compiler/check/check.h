/* One engine over the protocol-level program: what `mokgen check` explores (and a simulator can time) without any data.
 *
 * The module is interpreted as it stands: phases, barriers, roles, workers x instances x CTAs, tile spaces with the work sharing
 * of mok_primitives.h, waits, signals, and reads and writes at (region, block, tile) granularity. Op kinds say how memory is
 * touched; no task, region or counter is known by name.
 *
 * Why one schedule stands for all. Which tasks a worker runs is fixed, counters only rise within a launch, and a wait that holds
 * once holds for good; so either every schedule ends or none does: a deadlock does not depend on luck. Accesses are compared by
 * happens-before (vector clocks over all worker instances of a rank), not by the order in which this run made them. A wait
 * orders only the first `target` signals of its word, since it may have gone on right then; with a target below the number of
 * signals the order of signals matters, and seeds vary it. What remains to be varied is the configuration: tokens, routing,
 * ring, minibatch and CTA counts, which the program is symbolic in.
 *
 * Asynchrony: an access of the bulk proxy is over when a later signal of its worker waits for it. Edges bulk_to_* wait for reads
 * and writes, read_to_write for reads only, generic_to_* for neither. A load's reads are over when the multiplying worker has
 * had all its stages. That a stage is free again orders nothing: the protocol may not rest on the depth of a pipeline.
 *
 * Ranks meet in rank barriers only, so each rank runs by itself; accesses to another rank's memory are compared by the barriers
 * between, over two consecutive launches.
 */
#ifndef MOK_CHECK_H
#define MOK_CHECK_H

#include "../ir/ir_query.h"

typedef enum mok_check_kind {
  MOK_CHECK_DEADLOCK,    /* nobody can go on */
  MOK_CHECK_UNWRITTEN,   /* a read of a block that this lap has not written: poison or the block of the lap before */
  MOK_CHECK_OVERWRITTEN, /* a slot written again before a reader of its old block, or read after that */
  MOK_CHECK_UNORDERED,   /* two accesses, one of them a write, that no chain of signals and waits orders */
  MOK_CHECK_RANKS,       /* the same across ranks: no rank barrier between */
  MOK_CHECK_PASSED,      /* a counter above its target */
  MOK_CHECK_SHORT,       /* a counter that ends below its target */
  MOK_CHECK_STALE,       /* a counter that a launch finds set */
  MOK_CHECK_INDEX,       /* a word that the counter does not have */
  MOK_CHECK_TWICE,       /* a tile written twice */
  MOK_CHECK_NEVER,       /* a task that no worker runs */
  MOK_CHECK_PIPELINE,    /* load and mma of a CTA do not go through the same tiles */
  MOK_CHECK_FENCE,       /* a bulk read of generic writes whose wait has no proxy fence */
  MOK_CHECK_NUM_KINDS
} mok_check_kind;
const char *mok_check_kind_name(mok_check_kind kind); /* "deadlock" */

typedef struct mok_check_finding {
  mok_check_kind kind;
  mok_loc loc;
  const char *text; /* who, where, what was expected and seen */
  const char *when; /* the configuration: "seed 3, launch 2: .."; NULL: in all of them */
} mok_check_finding;

/* Who goes on next; the seam of a simulator, which would pick by a clock that `ran` moves. */
typedef struct mok_check_chooser {
  void *user;
  /* Index into ready[0..count-1], numbers of worker instances that can run, oldest first. *burst: ops to run at most. */
  size_t (*pick)(void *user, const int32_t *ready, size_t count, int *burst);
  /* An instance is done with an op; may be NULL. */
  void (*ran)(void *user, int32_t instance, const mok_ir_op *op);
} mok_check_chooser;

/* One launch: its sizes and where its rows go. */
typedef struct mok_check_launch {
  const int64_t *tokens;      /* [gpus] */
  const int64_t *expert_rows; /* [experts], valid routes of all ranks */
} mok_check_launch;

/* Consecutive launches of all ranks under one configuration. */
typedef struct mok_check_case {
  int64_t ring_slots, minibatch_blocks; /* 0: the plan's */
  int64_t cta_limit;                    /* CTAs of each role at most; 0: the plan's */
  const mok_check_launch *launches;
  size_t launch_count;
  const mok_check_chooser *chooser; /* NULL: the oldest first, one op at a time */
  const char *when;                 /* names the case in findings */
  bool keep_counters; /* for tests: launches do not clear the other counter set, which is the templates' duty, not the module's */
} mok_check_case;

typedef struct mok_check_totals {
  int64_t launches; /* of all ranks */
  int64_t tasks;    /* tiles run by worker instances; ranks of equal sizes are run once */
  int64_t signals;  /* of all ranks */
  int64_t laps;     /* most laps of a ring in one launch */
} mok_check_totals;

typedef struct mok_checker mok_checker; /* in the arena */

/* Reads the program; findings that hold for all configurations are there afterwards. View and plan are borrowed. A program that
 * the engine cannot interpret (several loading workers in a CTA, say) is MOK_ERR_CODEGEN. */
MOK_MUST_USE mok_status mok_checker_make(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_checker **out);

/* Runs one case and adds to findings and totals. A case that would not fit into memory is MOK_ERR_USAGE. */
MOK_MUST_USE mok_status mok_checker_run(mok_checker *checker, const mok_check_case *which, mok_check_totals *totals);

/* In the order found; each (kind, op) once. Valid until the next run. */
const mok_check_finding *mok_checker_findings(const mok_checker *checker, size_t *count);

/* What mok_check_explore varies; zeroed: everything. */
typedef struct mok_check_options {
  uint64_t first_seed;
  int64_t seeds;
  const int64_t *tokens; /* [gpus] of every launch but the small ones between; NULL: chosen */
  /* Fills expert_rows for given tokens; NULL: uniform, skewed, one expert, masked and no routes in turn. */
  mok_status (*route)(void *user, uint64_t seed, const int64_t *tokens, int64_t *expert_rows);
  void *route_user;
  mok_status (*poll)(void); /* between cases; may be NULL */
} mok_check_options;

typedef struct mok_check_coverage {
  mok_check_totals totals;
  int64_t seeds;
  int64_t tokens_least, tokens_most; /* per rank and launch */
  int64_t ring_least, ring_most;     /* slots */
  int64_t blocks_most;               /* row blocks of a rank */
} mok_check_coverage;

/* Runs `seeds` cases of three launches each: the plan's own ring and CTAs, the smallest legal ring, rings and CTA counts between.
 * Stops after the first case with findings. */
MOK_MUST_USE mok_status mok_check_explore(mok_checker *checker, const mok_check_options *options, mok_check_coverage *coverage);

/* The op as in the module: "wait @h_ready[row_block - ring_slots] >= 32 edge(read_to_write) lap". */
const char *mok_check_op_text(mok_arena *arena, const mok_ir_op *op);

#endif
