/* templates/host when something goes wrong: who gives up, what is recorded, that everybody leaves, and that the memory is refused
 * afterwards. Each under several schedules, with the race detector and under what sanitizers the build has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "mok_fault.h"
#include "sample_case.h"

enum { SEEDS = 6, COMM = 2, COMPUTE = 3, CTAS = COMM + COMPUTE };

static layer_case *sample(void) {
  static const int tokens[] = {100, 61};
  layer_case *c = layer_case_create(SAMPLE_LIBRARY, &sample_shape, tokens, 7);
  c->args.comm_ctas = COMM;
  c->args.compute_ctas = COMPUTE;
  return c;
}

static int run_with(layer_case *c, int seed, mok_host_injection what, int rank, unsigned long long number) {
  const mok_host_launch_t launch = {.struct_size = sizeof launch,
                                    .flags = MOK_HOST_POISON | MOK_HOST_RACES,
                                    .args = &c->args,
                                    .seed = (unsigned long long)seed,
                                    .inject = what,
                                    .inject_rank = rank,
                                    .inject_number = number};
  c->report = (mok_host_report_t){.struct_size = sizeof c->report, .text = c->text, .text_size = sizeof c->text};
  return c->run(&launch, &c->report);
}

static const unsigned *control(const layer_case *c, int rank, int line) {
  return (const unsigned *)c->ranks[rank].local + line * MOK_LINE_WORDS; /* control is the first region */
}
static const unsigned *record(const layer_case *c, int rank) { return control(c, rank, MOK_LINE_WAIT_ERROR); }

/* Everybody has left, and all ranks of `aborted` have given up. */
static void everybody_left(const layer_case *c, unsigned aborted) {
  ck_assert_msg(c->report.stuck == 0, "%s", c->text);
  ck_assert_uint_eq(c->report.aborted_ranks, aborted);
  for (int r = 0; r < PLAN_GPUS; ++r) ck_assert_uint_eq(*control(c, r, MOK_LINE_ABORT) != 0, record(c, r)[MOK_WAIT_KIND] != 0);
}

static void says(const layer_case *c, const char *part) {
  ck_assert_msg(strstr(c->text, part) != NULL, "no '%s' in\n%s", part, c->text);
}

/* A peer that heard of it: by the flag of rank `from`. */
static void poisoned_by(const layer_case *c, int rank, int from) {
  const unsigned *r = record(c, rank);
  ck_assert_uint_eq(r[MOK_WAIT_KIND], MOK_WAIT_IS_POISONED);
  ck_assert_uint_eq(r[MOK_WAIT_RANK], rank);
  ck_assert_uint_eq(r[MOK_WAIT_INDEX], from);
  ck_assert_uint_eq(r[MOK_WAIT_SEEN], *control(c, from, MOK_LINE_ABORT));
}

START_TEST(lost_signal) {
  layer_case *c = sample();
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_LOSE_SIGNAL, 0, (unsigned long long)_i * 7), MOK_HOST_DEADLOCK);
  everybody_left(c, 2);
  const unsigned *r = record(c, 0);
  ck_assert_uint_eq(r[MOK_WAIT_KIND], MOK_WAIT_IS_COUNTER);
  ck_assert_uint_eq(r[MOK_WAIT_RANK], 0);
  ck_assert_uint_lt(r[MOK_WAIT_SEEN], r[MOK_WAIT_EXPECTED]); /* the longest wait, not always the one that the signal was for */
  ck_assert_uint_lt(r[MOK_WAIT_CTA], CTAS);
  ck_assert_uint_gt(r[MOK_WAIT_LINE], 0);
  poisoned_by(c, 1, 0);
  says(c, "deadlock: none of ");
  says(c, ": a worker did not signal within 10 s\n");
  says(c, "rank 0 gave up and will not arrive (it waited for a counter)\n");
  char line[32];
  snprintf(line, sizeof line, "at kernel.cu:%u: COUNTER_", r[MOK_WAIT_LINE]);
  says(c, line);
  layer_case_destroy(c);
}
END_TEST

START_TEST(absent_rank) {
  layer_case *c = sample();
  c->args.peer_limit_ms = 1500;
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_RANK_ABSENT, 1, 0), MOK_HOST_DEADLOCK);
  everybody_left(c, 1);
  const unsigned *r = record(c, 0);
  ck_assert_uint_eq(r[MOK_WAIT_KIND], MOK_WAIT_IS_RANK_BARRIER);
  ck_assert_uint_eq(r[MOK_WAIT_INDEX], 1);
  ck_assert_uint_eq(r[MOK_WAIT_EXPECTED], 1);
  ck_assert_uint_eq(r[MOK_WAIT_SEEN], 0);
  says(c, "rank barrier BARRIER_ROUTED expected launch 1 of rank 1, seen 0: the rank did not arrive within 1.5 s\n");
  layer_case_destroy(c);
}
END_TEST

/* Any worker: of the route phase, of the experts phase, of the reduce phase. */
START_TEST(stalled_worker) {
  static const unsigned long long numbers[] = {0, 3, 11, 16, 18, 25, 30, 36, 37, 39};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    layer_case *c = sample();
    c->args.local_limit_ms = 20;
    const int result = run_with(c, _i, MOK_INJECT_STALL_WORKER, 1, numbers[i]);
    ck_assert_msg(result == MOK_HOST_DEADLOCK, "worker %d: %s", (int)numbers[i], c->text);
    everybody_left(c, 2);
    const unsigned kind = record(c, 1)[MOK_WAIT_KIND];
    ck_assert(kind == MOK_WAIT_IS_COUNTER || kind == MOK_WAIT_IS_GRID_BARRIER);
    poisoned_by(c, 0, 1);
    says(c, "stalls, as it was told to");
    says(c, " within 0.02 s\n");
    layer_case_destroy(c);
  }
}
END_TEST

START_TEST(stalled_cta) {
  layer_case *c = sample();
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_STALL_CTA, 0, (unsigned long long)(_i % CTAS)), MOK_HOST_DEADLOCK);
  everybody_left(c, 2);
  const unsigned *r = record(c, 0);
  ck_assert_uint_eq(r[MOK_WAIT_KIND], MOK_WAIT_IS_GRID_BARRIER);
  ck_assert_uint_eq(r[MOK_WAIT_EXPECTED], CTAS);
  ck_assert_uint_eq(r[MOK_WAIT_SEEN], CTAS - 1);
  poisoned_by(c, 1, 0);
  says(c, ": a CTA did not arrive within 10 s\n");
  layer_case_destroy(c);
}
END_TEST

START_TEST(aborted_memory_is_refused) {
  layer_case *c = sample();
  ck_assert_int_eq(run_with(c, 0, MOK_INJECT_NONE, 0, 0), MOK_HOST_OK);
  const uint64_t digest = layer_case_digest(c);
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_LOSE_SIGNAL, 1, 0), MOK_HOST_DEADLOCK);
  unsigned before[PLAN_GPUS][MOK_LINE_WORDS];
  for (int r = 0; r < PLAN_GPUS; ++r) memcpy(before[r], record(c, r), sizeof before[r]);
  for (int again = 0; again < 2; ++again) {
    ck_assert_int_eq(run_with(c, _i + again, MOK_INJECT_NONE, 0, 0), MOK_HOST_ABORTED);
    everybody_left(c, 2);
    ck_assert_uint_eq(c->report.fibers, PLAN_GPUS * CTAS); /* no worker was started */
    ck_assert_uint_eq(c->report.copies, 0);
    for (int r = 0; r < PLAN_GPUS; ++r) {
      ck_assert_mem_eq(before[r], record(c, r), sizeof before[r]);
      for (int i = 0; i < c->tokens[r] * PLAN_HIDDEN; ++i) ck_assert_uint_eq(c->out[r][i], MOK_HOST_POISON_WORD);
    }
    says(c, "gave up in an earlier launch");
  }
  layer_case_reset(c);
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_NONE, 0, 0), MOK_HOST_OK);
  ck_assert(layer_case_digest(c) == digest);
  layer_case_destroy(c);
}
END_TEST

/* A rank that did not abort hears of one that did, before it has launched at all. */
START_TEST(poison_stays_for_a_rank_that_comes_later) {
  layer_case *c = sample();
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_RANK_ABSENT, 1, 0), MOK_HOST_DEADLOCK);
  ck_assert_uint_eq(*control(c, 1, MOK_LINE_ABORT), 0);
  ck_assert_int_eq(run_with(c, _i, MOK_INJECT_NONE, 0, 0), MOK_HOST_ABORTED);
  everybody_left(c, 2);
  poisoned_by(c, 1, 0);
  layer_case_destroy(c);
}
END_TEST

START_TEST(text_of_a_record) {
  unsigned r[MOK_LINE_WORDS] = {0};
  char text[200];
  mok_fault_text(text, sizeof text, r, NULL, 0, 0);
  ck_assert_str_eq(text, "rank 0 gave up, without a record of the wait");
  r[MOK_WAIT_KIND] = MOK_WAIT_IS_COUNTER, r[MOK_WAIT_RANK] = 1, r[MOK_WAIT_ROLE] = 1, r[MOK_WAIT_CTA] = 9, r[MOK_WAIT_WARP] = 4;
  r[MOK_WAIT_COUNTER] = 12, r[MOK_WAIT_INDEX] = 3, r[MOK_WAIT_EXPECTED] = 4, r[MOK_WAIT_SEEN] = 3, r[MOK_WAIT_LINE] = 210;
  mok_fault_text(text, sizeof text, r, NULL, 0, 0);
  ck_assert_str_eq(text,
                   "rank 1 CTA 9 role 1, worker at warp 4[0] at kernel.cu:210: counter word 15 expected 4, seen 3: "
                   "a worker did not signal within 10 s");
  const mok_fault_names names = {"COUNTER_X_READY", "compute_load", "up"};
  mok_fault_text(text, sizeof text, r, &names, 250, 0);
  ck_assert_str_eq(
      text,
      "rank 1 CTA 9 compute_load[0] in task up at kernel.cu:210: COUNTER_X_READY[3] expected 4, seen 3: a worker did "
      "not signal within 0.25 s");
  r[MOK_WAIT_KIND] = MOK_WAIT_IS_POISONED, r[MOK_WAIT_COUNTER] = 1, r[MOK_WAIT_SEEN] = MOK_WAIT_IS_POISONED, r[MOK_WAIT_LINE] = 0;
  mok_fault_text(text, sizeof text, r, NULL, 0, 0);
  ck_assert_str_eq(text, "rank 1 CTA 9: rank barrier 1: rank 3 gave up and will not arrive (another rank had given up)");
  mok_fault_text(text, 12, r, NULL, 0, 0);
  ck_assert_str_eq(text, "rank 1 CTA ");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("faults");
  TCase *faults = tcase_create("faults");
  tcase_set_timeout(faults, 60);
  tcase_add_loop_test(faults, lost_signal, 0, SEEDS);
  tcase_add_loop_test(faults, absent_rank, 0, SEEDS);
  tcase_add_loop_test(faults, stalled_worker, 0, SEEDS);
  tcase_add_loop_test(faults, stalled_cta, 0, SEEDS);
  tcase_add_loop_test(faults, aborted_memory_is_refused, 0, SEEDS);
  tcase_add_loop_test(faults, poison_stays_for_a_rank_that_comes_later, 0, SEEDS);
  tcase_add_test(faults, text_of_a_record);
  suite_add_tcase(suite, faults);
  return mok_suite_main(suite);
}
