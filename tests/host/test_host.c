/* templates/host on the sample kernel: results, schedules, edge cases, deadlock report, refused launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../support/support.h"
#include "sample_case.h"

enum { MOST = PLAN_TOKENS_PER_GPU };

static layer_case *create(const char *library, int tokens_0, int tokens_1) {
  const int tokens[] = {tokens_0, tokens_1};
  layer_case *c = layer_case_create(library, &sample_shape, tokens, 7);
  c->args.comm_ctas = 2; /* all of the plan's CTAs only where the test is about them */
  c->args.compute_ctas = 3;
  return c;
}

static layer_case *sample(int tokens_0, int tokens_1) { return create(SAMPLE_LIBRARY, tokens_0, tokens_1); }

static void run_ok(layer_case *c, uint64_t seed) {
  const int result = layer_case_run(c, seed, MOK_HOST_POISON, MOK_PHASE_ALL);
  ck_assert_msg(result == MOK_HOST_OK, "result %d: %s", result, c->text);
}

static void fill_ids(layer_case *c, int rank, int id) {
  for (int i = 0; i < c->tokens[rank] * PLAN_TOP_K; ++i) c->ids[rank][i] = id;
}

static const int token_counts[][2] = {{0, 0}, {1, 0}, {0, 1}, {37, 100}, {MOST, 1}, {MOST, MOST}};

START_TEST(matches_plain_loops) {
  layer_case *c = sample(token_counts[_i][0], token_counts[_i][1]);
  run_ok(c, 0);
  ck_assert_double_lt(layer_case_error(c), 5e-3);
  layer_case_destroy(c);
}
END_TEST

START_TEST(same_bits_for_every_schedule) {
  layer_case *c = sample(100, 61);
  run_ok(c, 0);
  const uint64_t digest = layer_case_digest(c);
  static const int ctas[][2] = {{1, 1}, {2, 3}, {3, 7}, {PLAN_SMS_COMM, 16}};
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    c->args.comm_ctas = ctas[seed % 4][0];
    c->args.compute_ctas = ctas[seed % 4][1];
    run_ok(c, seed);
    ck_assert_msg(layer_case_digest(c) == digest, "seed %d gives other bits", (int)seed);
  }
  layer_case_destroy(c);
}
END_TEST

START_TEST(a_seed_replays) {
  layer_case *c = sample(100, 61);
  unsigned long long rounds[3], switches[3];
  for (int i = 0; i < 3; ++i) {
    layer_case_reset(c);
    run_ok(c, i < 2 ? 5 : 6);
    rounds[i] = c->report.rounds;
    switches[i] = c->report.switches;
  }
  ck_assert_uint_eq(rounds[0], rounds[1]);
  ck_assert_uint_eq(switches[0], switches[1]);
  ck_assert(rounds[0] != rounds[2] || switches[0] != switches[2]);
  layer_case_destroy(c);
}
END_TEST

START_TEST(full_grid) {
  layer_case *c = sample(64, 64);
  c->args.comm_ctas = c->about->sms_comm;
  c->args.compute_ctas = c->about->sms_compute;
  run_ok(c, 3);
  ck_assert_double_lt(layer_case_error(c), 5e-3);
  layer_case_destroy(c);
}
END_TEST

/* Epochs, flags and counter sets go on from launch to launch, with other token counts in between. */
START_TEST(launch_after_launch) {
  layer_case *c = sample(90, 40);
  const int most[] = {c->tokens[0], c->tokens[1]};
  for (int i = 0; i < 6; ++i) {
    for (int r = 0; r < 2; ++r) c->ranks[r].tokens = c->tokens[r] = i == 3 ? 0 : most[r] - 7 * i;
    run_ok(c, (uint64_t)i);
    ck_assert_double_lt(layer_case_error(c), 5e-3);
  }
  layer_case_destroy(c);
}
END_TEST

START_TEST(three_launches_give_the_same_bits) {
  layer_case *c = sample(90, 40);
  run_ok(c, 0);
  const uint64_t digest = layer_case_digest(c);
  for (int step = 0; step < 2; ++step) {
    ck_assert_int_eq(layer_case_run(c, 1, MOK_HOST_POISON, MOK_PHASE_ROUTE), MOK_HOST_OK);
    ck_assert_int_eq(layer_case_run(c, 2, 0, MOK_PHASE_EXPERTS), MOK_HOST_OK);
    ck_assert_int_eq(layer_case_run(c, 3, 0, MOK_PHASE_REDUCE), MOK_HOST_OK);
    ck_assert(layer_case_digest(c) == digest);
  }
  layer_case_destroy(c);
}
END_TEST

START_TEST(all_rows_on_one_expert) {
  layer_case *c = sample(MOST, MOST);
  fill_ids(c, 0, PLAN_EXPERTS - 1);
  fill_ids(c, 1, PLAN_EXPERTS - 1); /* both slots of every token: duplicates count twice; more row blocks than ring slots */
  run_ok(c, 2);
  ck_assert_double_lt(layer_case_error(c), 5e-3);
  layer_case_destroy(c);
}
END_TEST

/* The weights of one tensor again, with other strides, in address space that is touched where rows are only. */
static void spread(mok_weight *w, int experts, int rows, int columns, long long expert_stride, long long row_stride,
                   size_t *bytes) {
  *bytes = 2 * ((size_t)(experts - 1) * (size_t)expert_stride + (size_t)(rows - 1) * (size_t)row_stride + (size_t)columns);
  uint16_t *base = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ck_assert_msg(base != MAP_FAILED, "no %zu bytes of address space", *bytes);
  for (int e = 0; e < experts; ++e)
    for (int r = 0; r < rows; ++r)
      memcpy(base + e * expert_stride + r * row_stride, (const uint16_t *)w->base + e * w->expert_stride + r * w->row_stride,
             sizeof *base * (size_t)columns);
  *w = (mok_weight){base, expert_stride, row_stride};
}

/* Offsets in elements beyond 32 bits: from expert to expert, and from row to row of one expert. */
START_TEST(weights_far_apart) {
  const long long beyond = (1LL << 32) + 8, pitch = (1LL << 32) / (PLAN_INTERMEDIATE / 2) + 8;
  layer_case *c = sample(37, 100);
  run_ok(c, 0);
  const uint64_t digest = layer_case_digest(c);
  for (int far_rows = 0; far_rows < 2; ++far_rows) {
    mok_rank_args *a = &c->ranks[1];
    mok_weight *const tensors[] = {&a->gate, &a->up, &a->down}, kept[] = {a->gate, a->up, a->down};
    size_t bytes[3];
    const int experts = PLAN_EXPERTS - PLAN_EXPERTS / 2;
    for (int i = 0; i < 3; ++i) {
      const int rows = i < 2 ? PLAN_INTERMEDIATE : PLAN_HIDDEN, columns = i < 2 ? PLAN_HIDDEN : PLAN_INTERMEDIATE;
      spread(tensors[i], experts, rows, columns, far_rows ? rows * pitch : beyond, far_rows ? pitch : columns, &bytes[i]);
    }
    layer_case_reset(c);
    run_ok(c, 1);
    ck_assert_uint_eq(layer_case_digest(c), digest);
    for (int i = 0; i < 3; ++i) {
      munmap((void *)(uintptr_t)tensors[i]->base, bytes[i]);
      *tensors[i] = kept[i];
    }
  }
  layer_case_destroy(c);
}
END_TEST

START_TEST(no_routes_at_all) {
  layer_case *c = sample(50, 20);
  fill_ids(c, 0, -1);
  fill_ids(c, 1, -1);
  run_ok(c, 2);
  ck_assert_double_lt(layer_case_error(c), 5e-3); /* the shared expert's row alone */
  layer_case_destroy(c);
}
END_TEST

START_TEST(ids_out_of_range_count_as_none) {
  layer_case *c = sample(50, 20);
  c->ids[0][3] = -1;
  c->ids[0][10] = -1;
  c->ids[1][7] = -1;
  run_ok(c, 2);
  const uint64_t digest = layer_case_digest(c);
  ck_assert_uint_eq(layer_case_input_error(c, 0)[MOK_INPUT_BAD_IDS], 0);
  c->ids[0][3] = PLAN_EXPERTS;
  c->ids[0][10] = INT32_MIN;
  c->ids[1][7] = INT32_MAX;
  run_ok(c, 2);
  ck_assert(layer_case_digest(c) == digest);
  ck_assert_uint_eq(layer_case_input_error(c, 0)[MOK_INPUT_BAD_IDS], 2);
  ck_assert_uint_eq(layer_case_input_error(c, 0)[MOK_INPUT_ROUTE], 3);
  ck_assert_int_eq((int)layer_case_input_error(c, 0)[MOK_INPUT_ID], PLAN_EXPERTS);
  ck_assert_uint_eq(layer_case_input_error(c, 1)[MOK_INPUT_BAD_IDS], 1);
  ck_assert_int_eq((int)layer_case_input_error(c, 1)[MOK_INPUT_ID], INT32_MAX);
  layer_case_destroy(c);
}
END_TEST

/* The rank computes nothing, says so, and holds nobody up. */
START_TEST(too_many_tokens) {
  layer_case *c = sample(50, 20);
  memset(c->out[0], 0xAB, 50 * PLAN_HIDDEN * sizeof *c->out[0]);
  c->ranks[0].tokens = MOST + 1;
  run_ok(c, 2);
  ck_assert_uint_eq(layer_case_input_error(c, 0)[MOK_INPUT_BAD_TOKENS], 1);
  ck_assert_uint_eq(layer_case_input_error(c, 0)[MOK_INPUT_TOKENS], MOST + 1);
  for (int i = 0; i < 50 * PLAN_HIDDEN; ++i) ck_assert_uint_eq(c->out[0][i], 0xABAB);
  c->tokens[0] = 0;
  ck_assert_double_lt(layer_case_error(c), 5e-3);
  layer_case_destroy(c);
}
END_TEST

START_TEST(token_count_from_memory) {
  layer_case *c = sample(50, 20);
  static const int counts[] = {31, 0};
  for (int r = 0; r < 2; ++r) {
    c->ranks[r].tokens_dev = &counts[r];
    c->tokens[r] = counts[r];
  }
  run_ok(c, 2);
  ck_assert_double_lt(layer_case_error(c), 5e-3);
  c->ranks[0].tokens = 30; /* now 31 is above its bound */
  run_ok(c, 2);
  ck_assert_uint_eq(layer_case_input_error(c, 0)[MOK_INPUT_BAD_TOKENS], 1);
  layer_case_destroy(c);
}
END_TEST

START_TEST(tokens_already_in_the_heap) {
  layer_case *c = sample(50, 20);
  run_ok(c, 2);
  const uint64_t digest = layer_case_digest(c);
  for (int r = 0; r < 2; ++r) {
    char *heap_x = (char *)c->ranks[r].heap[r] + SAMPLE_HEAP_X_OFFSET;
    memcpy(heap_x, c->x[r], (size_t)c->tokens[r] * PLAN_HIDDEN * sizeof *c->x[r]);
    c->ranks[r].x = heap_x;
  }
  run_ok(c, 2);
  ck_assert(layer_case_digest(c) == digest);
  layer_case_destroy(c);
}
END_TEST

/* What nobody wrote is a NaN afterwards: here the slots of tokens that this launch did not have. */
START_TEST(unwritten_memory_is_poison) {
  layer_case *c = sample(50, 20);
  run_ok(c, 2);
  const uint16_t *slots = (const uint16_t *)((const char *)c->ranks[0].heap[0] + SAMPLE_HEAP_X_OFFSET);
  for (size_t i = 50 * PLAN_HIDDEN; i < (size_t)MOST * PLAN_HIDDEN; ++i) ck_assert_uint_eq(slots[i], MOK_HOST_POISON_WORD);
  ck_assert_uint_eq(MOK_HOST_POISON_WORD & 0x7F80, 0x7F80); /* exponent of NaN and infinity */
  ck_assert_uint_ne(MOK_HOST_POISON_WORD & 0x007F, 0);
  layer_case_destroy(c);
}
END_TEST

/* The same kernel without one of its signals. */
START_TEST(lost_signal_is_reported) {
  layer_case *c = create(LOST_SIGNAL_LIBRARY, 37, 20);
  ck_assert_int_eq(layer_case_run(c, (uint64_t)_i, MOK_HOST_POISON, MOK_PHASE_ALL), MOK_HOST_DEADLOCK);
  ck_assert_ptr_nonnull(strstr(c->text, "deadlock: none of "));
  const char *line = strstr(c->text, "compute_load at kernel.cu:");
  ck_assert_msg(line != NULL, "%s", c->text);
  ck_assert_ptr_nonnull(strstr(line, "waits for COUNTER_X_READY["));
  ck_assert_msg(strstr(line, ": expected ") && strstr(line, ", seen 0\n"), "%s", c->text);
  ck_assert_ptr_nonnull(strstr(c->text, "waits for its workers"));
  layer_case_destroy(c);
}
END_TEST

#ifdef LOST_WAIT_LIBRARY
/* The same kernel without one of its waits: poison gets into the result under some schedule. */
START_TEST(lost_wait_shows) {
  layer_case *c = create(LOST_WAIT_LIBRARY, 100, 61);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20 && wrong == 0; ++seed) {
    ck_assert_int_eq(layer_case_run(c, seed, MOK_HOST_POISON, MOK_PHASE_ALL), MOK_HOST_OK);
    wrong += !(layer_case_error(c) < 5e-3);
  }
  ck_assert_int_gt(wrong, 0);
  layer_case_destroy(c);
}
END_TEST
#endif

START_TEST(short_report_buffers) {
  layer_case *c = create(LOST_SIGNAL_LIBRARY, 37, 20);
  char small[40];
  const mok_host_launch_t launch = {.struct_size = sizeof launch, .flags = MOK_HOST_POISON, .args = &c->args, .seed = 1};
  mok_host_report_t report = {.struct_size = sizeof report, .text = small, .text_size = sizeof small};
  ck_assert_int_eq(c->run(&launch, &report), MOK_HOST_DEADLOCK);
  ck_assert_uint_eq(strlen(small), sizeof small - 1);
  layer_case_reset(c);
  report.text = NULL;
  ck_assert_int_eq(c->run(&launch, &report), MOK_HOST_DEADLOCK);
  layer_case_destroy(c);
}
END_TEST

START_TEST(launches_that_do_not_fit_are_refused) {
  layer_case *c = sample(10, 10);
  const mok_args good = c->args;
  const struct {
    mok_args args;
    const char *text;
  } bad[] = {
      {{good.ranks, 1, 7, 2, 3, 0, 0}, "num_ranks_here is 1"},
      {{good.ranks, 2, 0, 2, 3, 0, 0}, "phases is 0x0"},
      {{good.ranks, 2, 8, 2, 3, 0, 0}, "phases is 0x8"},
      {{good.ranks, 2, 7, 0, 3, 0, 0}, "comm_ctas is 0"},
      {{good.ranks, 2, 7, PLAN_SMS_COMM + 1, 3, 0, 0}, "the plan allows 1 to"},
      {{good.ranks, 2, 7, 2, PLAN_SMS_COMPUTE + 1, 0, 0}, "compute_ctas is"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    c->args = bad[i].args;
    ck_assert_int_eq(layer_case_run(c, 0, 0, bad[i].args.phases), MOK_HOST_BAD_LAUNCH);
    ck_assert_msg(strstr(c->text, bad[i].text) != NULL, "%s", c->text);
  }
  c->args = good;
  void *heap = c->ranks[1].heap[0];
  c->ranks[1].heap[0] = c->ranks[1].heap[1];
  ck_assert_int_eq(layer_case_run(c, 0, 0, 7), MOK_HOST_BAD_LAUNCH);
  ck_assert_ptr_nonnull(strstr(c->text, "ranks[1].heap[0]"));
  c->ranks[1].heap[0] = heap;
  c->ranks[0].x = NULL;
  ck_assert_int_eq(layer_case_run(c, 0, 0, 7), MOK_HOST_BAD_LAUNCH);
  c->ranks[0].x = c->x[0];
  mok_host_launch_t launch = {.struct_size = sizeof launch - 8, .args = &c->args};
  ck_assert_int_eq(c->run(&launch, &c->report), MOK_HOST_BAD_LAUNCH);
  run_ok(c, 1); /* and after all that it still runs */
  layer_case_destroy(c);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("host");
  TCase *results = tcase_create("results");
  tcase_set_timeout(results, 60);
  tcase_add_loop_test(results, matches_plain_loops, 0, (int)(sizeof token_counts / sizeof token_counts[0]));
  tcase_add_test(results, same_bits_for_every_schedule);
  tcase_add_test(results, a_seed_replays);
  tcase_add_test(results, full_grid);
  tcase_add_test(results, launch_after_launch);
  tcase_add_test(results, three_launches_give_the_same_bits);
  suite_add_tcase(suite, results);
  TCase *edges = tcase_create("edges");
  tcase_set_timeout(edges, 60);
  tcase_add_test(edges, all_rows_on_one_expert);
  tcase_add_test(edges, weights_far_apart);
  tcase_add_test(edges, no_routes_at_all);
  tcase_add_test(edges, ids_out_of_range_count_as_none);
  tcase_add_test(edges, too_many_tokens);
  tcase_add_test(edges, token_count_from_memory);
  tcase_add_test(edges, tokens_already_in_the_heap);
  tcase_add_test(edges, unwritten_memory_is_poison);
  suite_add_tcase(suite, edges);
  TCase *faults = tcase_create("faults");
  tcase_set_timeout(faults, 60);
  tcase_add_loop_test(faults, lost_signal_is_reported, 0, 4);
#ifdef LOST_WAIT_LIBRARY
  tcase_add_test(faults, lost_wait_shows);
#endif
  tcase_add_test(faults, short_report_buffers);
  tcase_add_test(faults, launches_that_do_not_fit_are_refused);
  suite_add_tcase(suite, faults);
  return mok_suite_main(suite);
}
