/* State of one rank's run. Private to check. */
#ifndef MOK_CHECK_ENGINE_H
#define MOK_CHECK_ENGINE_H

#include "check_impl.h"

typedef enum check_state { CHECK_READY, CHECK_AT_COUNTER, CHECK_AT_PIPE, CHECK_DONE } check_state;

/* One worker instance of one CTA. */
typedef struct check_agent {
  const check_worker *worker;
  int32_t number, cta, instance;
  check_state state;
  check_clock clock; /* of its next publication */
  /* its place in the loop over tiles */
  int32_t task;
  int64_t round, at; /* of the row tasks; index within the task's part */
  int64_t block;
  int32_t second; /* column or piece */
  int32_t op;
  bool entered; /* a load or mma that has begun */
  /* pipeline */
  int32_t pipe, pipe_slot; /* of its CTA; multiplying instances: own place in it */
  int32_t sequence;        /* loads or mmas so far */
  int64_t stages_end;      /* stages up to and with the current tile */
  /* waiting */
  uint32_t seen;
  int64_t word;
  int32_t next_waiter;
} check_agent;

/* What load and mma of a CTA share. */
typedef struct check_pipe {
  int32_t loads;        /* tiles that the loader has begun */
  int32_t first_waiter; /* -1: none */
} check_pipe;

/* A tile in the pipeline. */
typedef struct check_tile {
  const mok_ir_product *product;
  int64_t block;
  int32_t second;
} check_tile;

typedef struct check_buffer {
  void *data;
  size_t bytes;
} check_buffer;

typedef struct check_run {
  mok_checker *c;
  const mok_check_case *which;
  check_group *group;
  int64_t rank;
  size_t launch;
  int64_t row_blocks, token_blocks, tokens, ring_slots, minibatch_blocks;
  check_agent *agents;
  int32_t agent_count;
  check_clock *clocks; /* [agent][agent] */
  check_clock *gates;  /* per gate and word: [agent] */
  check_pipe *pipes;
  int64_t *started;    /* [pipe][slot]: stages up to the tile that the instance multiplies */
  int32_t slots;       /* multiplying instances of a CTA */
  check_tile *tiles;   /* [pipe][depth] */
  check_clock *handed; /* [pipe][depth][agent]: what the loader knew when it handed the tile over */
  int32_t depth;
  int32_t *ready;
  size_t ready_first, ready_end, ready_capacity;
  uint32_t *counts[2]; /* counter sets by epoch parity */
  int32_t *waiters;    /* first agent that waits for a word, -1 */
  int64_t words;
  int64_t signals; /* of this rank */
  mok_check_totals *totals;
  check_buffer agents_buffer, clocks_buffer, gates_buffer, pipes_buffer, started_buffer, tiles_buffer, handed_buffer,
      ready_buffer, streams_buffer, counts_buffer, waiters_buffer;
} check_run;

/* verdict.c */
/* "rank 3, comm.pull CTA 2 instance 1, task dispatch of row_block 45, tile 2" */
const char *check_agent_text(const check_run *run, const check_agent *agent);
const char *check_launch_text(const check_run *run); /* the case and the launch's sizes */
/* "<agent>: `<op>` <text>" */
void check_report(check_run *run, const check_agent *agent, const check_op *op, mok_check_kind kind, const char *fmt, ...)
    MOK_PRINTF(5, 6);
void check_deadlock(check_run *run); /* instances that are neither done nor ready */
void check_counters(check_run *run);

/* tiles.c */
int64_t check_blocks(const check_run *run, mok_ir_base base);    /* of this rank and launch */
bool check_first_tile(const check_run *run, check_agent *agent); /* false: it has none */
bool check_next_tile(const check_run *run, check_agent *agent);  /* false: that was its last one */

/* setup.c */
void *check_grow(check_run *run, check_buffer *buffer, size_t count, size_t size); /* contents are lost when it moves */
MOK_MUST_USE mok_status check_make_group(check_run *run);

/* engine.c */
void check_make_ready(check_run *run, check_agent *agent);
check_agent *check_take_ready(check_run *run, int *burst);           /* as the chooser says */
void check_run_agent(check_run *run, check_agent *agent, int burst); /* until it is done, stuck, or has run `burst` ops */

/* access.c
 * The accesses of the agent's current op, by happens-before. */
void check_accesses(check_run *run, check_agent *agent, const check_op *op);

static inline check_clock *check_clock_of(const check_run *run, int32_t agent) {
  return run->clocks + (size_t)agent * (size_t)run->agent_count;
}

#endif
