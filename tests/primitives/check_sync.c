/* Waits, signals, barriers and what a wait without a partner ends in. sync.cu checks what it hands over; here is read what it
 * found, and what the launch left in the control lines. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases.h"
#include "harness.h"

enum {
  COMM = 4,
  COMPUTE = 4,
  CTAS = COMM + COMPUTE,
  FILL = 0xa5,
  LOCAL_LIMIT_MS = 200,
  PEER_LIMIT_MS = 400,
  MOST_ANSWERS = 4096
};

static void set_scenario(prim *p, int scenario) {
  const int words[WORD_FIRST_TASK] = {scenario};
  for (int r = 0; r < p->rank_count; r++) prim_write(p, (void *)(uintptr_t)p->ranks[r].shared_down.base, words, sizeof words);
}

/* Row sources: `rows` of each block, rank and combine row as `of` says. */
typedef void (*source_of)(const prim *p, int rank, int block, int row, int *source);
static void set_sources(prim *p, int rows, source_of of) {
  const int padding = (int)prim_fact(p, "PLAN_ROW_PADDING"), blocks = (int)prim_fact(p, "PLAN_CAPACITY_ROWS") / padding;
  int *sources = prim_host_memory((size_t)(blocks * padding) * 8, 0xff);
  for (int r = 0; r < p->rank_count; r++) {
    for (int b = 0; b < blocks; b++)
      for (int i = 0; i < rows; i++) of(p, r, b, i, sources + 2 * (b * padding + i));
    prim_write(p, prim_local(p, r, "ROW_SOURCE"), sources, (size_t)(blocks * padding) * 8);
  }
  free(sources);
}
static void source_of_item(const prim *p, int rank, int block, int row, int *source) {
  (void)p;
  source[0] = rank;
  source[1] = block % SYNC_SLOTS * SYNC_RING_ROWS + row;
}
static void source_of_neighbour(const prim *p, int rank, int block, int row, int *source) {
  (void)p;
  (void)row;
  source[0] = rank;
  source[1] = (block + 1) % CTAS;
}
static void source_of_peer(const prim *p, int rank, int block, int row, int *source) {
  source[0] = row;
  source[1] = p->rank_count * CTAS + rank * CTAS + block % CTAS;
}

/* After `launches` launches since the reset, none of which gave up; `done` items or CTAs answered. */
static void expect_answers(prim *p, const char *name, int launches, int done) {
  for (int r = 0; r < p->rank_count; r++) {
    int answers[MOST_ANSWERS];
    prim_read(p, answers, p->ranks[r].shared_up.base, sizeof answers);
    prim_expect(p, answers[SYNC_WRONG] == 0, "%s, launch %d, rank %d: wrong words, last of item %d", name, launches, r,
                answers[SYNC_WRONG] - 1);
    for (int i = 0; i < done; i++)
      prim_expect(p, answers[SYNC_DONE + i] == launches, "%s, launch %d, rank %d: item %d was done in launch %d", name, launches,
                  r, i, answers[SYNC_DONE + i]);
    static const struct {
      int line;
      const char *name;
    } idle[] = {{MOK_LINE_TICKET, "ticket"},
                {MOK_LINE_EXITS, "exits"},
                {MOK_LINE_GRID_BARRIER, "grid barrier"},
                {MOK_LINE_ABORT, "abort"}};
    unsigned words[MOK_LINE_WORDS];
    prim_control(p, r, MOK_LINE_EPOCH, words);
    prim_expect(p, words[0] == (unsigned)launches, "%s, launch %d, rank %d: the epoch is %u", name, launches, r, words[0]);
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
      prim_control(p, r, idle[i].line, words);
      prim_expect(p, words[0] == 0 && words[1] == 0, "%s, launch %d, rank %d: %s is left at %u, %u", name, launches, r,
                  idle[i].name, words[0], words[1]);
    }
  }
}

static void clear_answers(prim *p) {
  for (int r = 0; r < p->rank_count; r++)
    prim_fill(p, (void *)(uintptr_t)p->ranks[r].shared_up.base, 0, MOST_ANSWERS * sizeof(int));
}

/* Many launches one after the other: epochs rise, counter sets take turns. */
static void run_scenario(prim *p, const char *name, int scenario, int rows, source_of of, int done) {
  prim_reset(p, FILL);
  clear_answers(p);
  set_sources(p, rows, of);
  set_scenario(p, scenario);
  p->races = true;
  const int launches = p->machine->real_time ? 40 : 2 * p->machine->schedules;
  for (int i = 1; i <= launches; i++) {
    p->seed = (uint64_t)i;
    prim_launch(p, COMM, COMPUTE);
    expect_answers(p, name, i, done);
  }
}

/* ------------------------------------------------------------------------------------------------ faults */

typedef struct record {
  unsigned abort, words[MOK_LINE_WORDS];
} record;

static record read_record(prim *p, int rank) {
  record found;
  unsigned line[MOK_LINE_WORDS];
  prim_control(p, rank, MOK_LINE_ABORT, line);
  found.abort = line[0];
  prim_control(p, rank, MOK_LINE_WAIT_ERROR, found.words);
  return found;
}

/* expected[]: pairs of word and value, ended by -1. */
static void expect_record(prim *p, const char *name, int rank, unsigned kind, const int *expected) {
  const record found = read_record(p, rank);
  prim_expect(p, found.abort == kind && found.words[MOK_WAIT_KIND] == kind,
              "%s, rank %d: gave up with %u, record of %u, right is %u", name, rank, found.abort, found.words[MOK_WAIT_KIND],
              kind);
  if (kind != 0)
    prim_expect(p, found.words[MOK_WAIT_RANK] == (unsigned)rank, "%s: rank %d's record names rank %u", name, rank,
                found.words[MOK_WAIT_RANK]);
  for (; *expected >= 0; expected += 2)
    prim_expect(p, found.words[expected[0]] == (unsigned)expected[1], "%s, rank %d: word %d of the record is %u, right is %d",
                name, rank, expected[0], found.words[expected[0]], expected[1]);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* One launch that gives up, not before its limit. */
static void launch_fault(prim *p, const char *name, int scenario, int limit_ms) {
  prim_reset(p, FILL);
  clear_answers(p);
  set_scenario(p, scenario);
  p->seed = 1;
  p->races = false;
  p->may_deadlock = true;
  p->args.local_limit_ms = LOCAL_LIMIT_MS;
  p->args.peer_limit_ms = PEER_LIMIT_MS;
  const double start = now_ms();
  prim_launch(p, COMM, COMPUTE);
  const double took = now_ms() - start;
  if (p->machine->real_time)
    prim_expect(p, took >= limit_ms && took < limit_ms + 2000, "%s ended after %.0f ms, its limit is %d", name, took, limit_ms);
}

/* The workspace that gave up computes nothing more and waits for nobody; a new one is as good as ever. */
static void expect_end(prim *p, const char *name, int scenario, int rows, source_of of, int done) {
  const size_t ring_bytes = (size_t)prim_fact(p, "LAYOUT_RING_X_BYTES");
  void *untouched = prim_host_memory(ring_bytes, FILL);
  set_sources(p, rows, of);
  set_scenario(p, scenario);
  const double start = now_ms();
  prim_launch(p, COMM, COMPUTE);
  if (p->machine->real_time)
    prim_expect(p, now_ms() - start < LOCAL_LIMIT_MS, "the launch after '%s' took %.0f ms", name, now_ms() - start);
  for (int r = 0; r < p->rank_count; r++)
    prim_expect_bytes(p, prim_local(p, r, "RING_X"), untouched, ring_bytes, 4, "the launch after '%s', rank %d, ring_x", name, r);
  free(untouched);
  p->may_deadlock = false;
  p->args.local_limit_ms = p->args.peer_limit_ms = 0;
  run_scenario(p, name, scenario, rows, of, done);
}

static const int lost_signal[] = {MOK_WAIT_INSTANCE,
                                  0,
                                  MOK_WAIT_COUNTER,
                                  SYNC_LOST_COUNTER,
                                  MOK_WAIT_INDEX,
                                  SYNC_LOST_INDEX,
                                  MOK_WAIT_EXPECTED,
                                  SYNC_LOST_TARGET,
                                  MOK_WAIT_SEEN,
                                  1,
                                  MOK_WAIT_WARP,
                                  0,
                                  -1};

static void check_alone(prim *p) {
  const char *const pipelines[] = {"pipeline of a warp and a warpgroup", "pipeline of a warpgroup and a warp",
                                   "pipeline of CTAs"};
  const int padding = (int)prim_fact(p, "PLAN_ROW_PADDING"), blocks = (int)prim_fact(p, "PLAN_CAPACITY_ROWS") / padding;
  const int words = (int)(prim_fact(p, "LAYOUT_COUNTERS_BYTES") / 8) / 4, items = blocks < words ? blocks : words;
  for (int i = 0; i < 3; i++) run_scenario(p, pipelines[i], SYNC_PIPELINE_WARP_GROUP + i, SYNC_RING_ROWS, source_of_item, items);
  run_scenario(p, "grid barrier", SYNC_GRID_BARRIER, 1, source_of_neighbour, CTAS);

  launch_fault(p, "lost signal", SYNC_LOST_SIGNAL, LOCAL_LIMIT_MS);
  expect_record(p, "lost signal", 0, MOK_WAIT_IS_COUNTER, lost_signal);
  prim_expect(p, read_record(p, 0).words[MOK_WAIT_LINE] > 0, "lost signal: the record has no line of kernel.cu");
  expect_end(p, "lost signal", SYNC_GRID_BARRIER, 1, source_of_neighbour, CTAS);

  launch_fault(p, "absent CTA", SYNC_ABSENT_CTA, LOCAL_LIMIT_MS);
  const int absent[] = {MOK_WAIT_COUNTER, 0, MOK_WAIT_EXPECTED, CTAS, MOK_WAIT_SEEN, CTAS - 1, MOK_WAIT_LINE, 0, -1};
  expect_record(p, "absent CTA", 0, MOK_WAIT_IS_GRID_BARRIER, absent);
  expect_end(p, "absent CTA", SYNC_GRID_BARRIER, 1, source_of_neighbour, CTAS);
}

static void check_ranks(prim *p) {
  run_scenario(p, "rank barriers", SYNC_RANK_BARRIER, p->rank_count, source_of_peer, CTAS);

  const int absent[] = {MOK_WAIT_COUNTER, SYNC_LAST_BARRIER, MOK_WAIT_INDEX, 1, MOK_WAIT_EXPECTED, 1, MOK_WAIT_SEEN, 0, -1};
  const int none[] = {-1};
  launch_fault(p, "absent rank", SYNC_ABSENT_RANK, PEER_LIMIT_MS);
  for (int r = 0; r < p->rank_count; r++)
    if (r == 1) expect_record(p, "absent rank", r, 0, none);
    else expect_record(p, "absent rank", r, MOK_WAIT_IS_RANK_BARRIER, absent);

  const int poisoned[] = {MOK_WAIT_COUNTER, SYNC_LAST_BARRIER, MOK_WAIT_INDEX, 1, MOK_WAIT_SEEN, MOK_WAIT_IS_COUNTER, -1};
  launch_fault(p, "poisoned rank", SYNC_POISONED_RANK, LOCAL_LIMIT_MS);
  for (int r = 0; r < p->rank_count; r++)
    if (r == 1) expect_record(p, "poisoned rank", r, MOK_WAIT_IS_COUNTER, lost_signal);
    else expect_record(p, "poisoned rank", r, MOK_WAIT_IS_POISONED, poisoned);
  expect_end(p, "poisoned rank", SYNC_RANK_BARRIER, p->rank_count, source_of_peer, CTAS);
}

void check_sync(prim *p) {
  const int tokens = (int)prim_fact(p, "PLAN_TOKENS_PER_GPU");
  for (int r = 0; r < p->rank_count; r++) {
    mok_rank_args *args = &p->ranks[r];
    args->x = args->out = prim_heap(p, r, "COMBINE"); /* rows that were pushed can be pulled */
    args->shared_down.base = prim_memory(p, WORD_FIRST_TASK * sizeof(int), 0);
    args->shared_up.base = prim_memory(p, MOST_ANSWERS * sizeof(int), 0);
    args->topk_ids = args->shared_down.base;
    args->topk_weights = args->shared_down.base;
    args->tokens = tokens;
  }
  if (p->rank_count == 1) check_alone(p);
  else check_ranks(p);
}
