/* The check of `mokgen run` must fail on what is wrong: each kind of damage to a right output is found. And the routings. */
#include "../../compiler/driver/verdict.h"

#include <math.h>
#include <string.h>

#include "../../compiler/driver/launches.h"
#include "../../compiler/driver/npy.h"
#include "../support/support.h"

enum { TOKENS = 12 };

static mok_arena *arena;
static mok_problem problem;
static mok_expected expected;
static mok_model model;

/* Writes the expected values as output: what a perfect kernel would. */
static void answer(void) {
  mok_problem_poison(&problem);
  for (int64_t r = 0; r < model.gpus; ++r)
    for (int64_t i = 0; i < problem.ranks[r].tokens * model.hidden; ++i) {
      uint32_t bits;
      memcpy(&bits, &expected.rows[r][i], sizeof bits);
      problem.ranks[r].out[i] = (uint16_t)(bits >> 16);
    }
}

static void make(const char *routing_text, double mask, int64_t sample) {
  mok_routing routing;
  const int64_t tokens[] = {TOKENS, TOKENS - 5};
  mok_assert_ok(mok_routing_parse(&model, routing_text, &routing));
  routing.mask = mask;
  mok_problem_deinit(&problem);
  mok_assert_ok(mok_problem_make(arena, &model, tokens, &routing, 3, 0, &problem));
  mok_assert_ok(mok_expected_make(arena, &problem, sample, &expected));
  answer();
}

static void set_up(void) {
  arena = mok_arena_create();
  model = (mok_model){.name = "m",
                      .hidden = 32,
                      .intermediate = 24,
                      .experts = 6,
                      .top_k = 3,
                      .shared_experts = 1,
                      .shared_intermediate = 40,
                      .gpus = 2,
                      .tokens_per_gpu = 64};
  make("uniform", 0, 0);
}

static void tear_down(void) {
  mok_problem_deinit(&problem);
  mok_arena_destroy(arena);
}

static mok_verdict judge(void) {
  mok_verdict verdict;
  mok_verdict_make(arena, &problem, &expected, &verdict);
  ck_assert_int_eq(verdict.pass, verdict.failure == NULL);
  return verdict;
}

static void assert_found(const char *part) {
  const mok_verdict verdict = judge();
  ck_assert_msg(verdict.failure && strstr(verdict.failure, part), "expected '%s', got %s", part, verdict.failure);
}

START_TEST(right_output_passes) {
  const mok_verdict verdict = judge();
  ck_assert(verdict.pass);
  ck_assert_double_eq(verdict.rel_l2, 0);
  ck_assert_int_eq(verdict.checked, (2 * TOKENS - 5) * model.hidden);
}
END_TEST

START_TEST(one_value_never_written) {
  problem.ranks[1].out[5 * model.hidden + 7] = 0xffff;
  assert_found("rank 1 token 5 column 7: never written (poison)");
}
END_TEST

START_TEST(infinity) {
  problem.ranks[0].out[3] = 0x7f80;
  assert_found("rank 0 token 0 column 3: not a finite number");
}
END_TEST

START_TEST(writes_outside) {
  problem.ranks[0].out[-1] = 0;
  assert_found("token -1 column");
  answer();
  problem.ranks[1].out[problem.ranks[1].tokens * model.hidden] = 0;
  assert_found("rank 1 token 7 column 0: a write outside the output");
}
END_TEST

/* A launch with fewer tokens than there is room for. */
START_TEST(writes_past_the_tokens_of_a_launch) {
  problem.ranks[0].tokens = 5;
  answer();
  ck_assert(judge().pass);
  problem.ranks[0].out[8 * model.hidden - 1] = 0;
  assert_found("rank 0 token 7 column 31: a write outside the output");
}
END_TEST

static mok_launches parse_launches(const char *text) {
  mok_launches launches;
  mok_assert_ok(mok_launches_parse(arena, &model, text, 9, 3, &launches));
  return launches;
}

START_TEST(sizes_of_launches) {
  mok_launches launches = parse_launches("2..6,4");
  ck_assert(launches.vary);
  int seen[7] = {0};
  for (int64_t n = 0; n < 200; ++n) {
    mok_launches_set(&launches, n, &problem);
    ck_assert_int_eq(problem.ranks[1].tokens, 4);
    ck_assert_int_ge(problem.ranks[0].tokens, 2);
    ck_assert_int_le(problem.ranks[0].tokens, 6);
    seen[problem.ranks[0].tokens] += 1;
  }
  for (int count = 2; count <= 6; ++count) ck_assert_int_gt(seen[count], 10);
  mok_launches_set(&launches, 17, &problem);
  const int64_t again = problem.ranks[0].tokens;
  mok_launches_set(&launches, 18, &problem);
  mok_launches_set(&launches, 17, &problem);
  ck_assert_int_eq(problem.ranks[0].tokens, again);
  launches = parse_launches(NULL);
  ck_assert(!launches.vary);
  ck_assert_int_eq(launches.most[1], 9);
}
END_TEST

/* A token's output may not depend on what else is in the launch. */
START_TEST(bits_of_launches) {
  mok_launches launches = parse_launches("0..12,0..7");
  const int64_t counts[][2] = {{4, 7}, {12, 0}, {0, 0}, {9, 3}};
  char whole[17], joined[17];
  mok_output_digest(&problem, whole);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    for (int64_t r = 0; r < 2; ++r) problem.ranks[r].tokens = counts[i][r];
    answer();
    ck_assert_ptr_null(mok_launches_compare(arena, &launches, &problem));
  }
  mok_launches_join(&launches, &problem);
  mok_output_digest(&problem, joined);
  ck_assert_str_eq(whole, joined);
  problem.ranks[0].out[11 * model.hidden + 2] ^= 1;
  const char *text = mok_launches_compare(arena, &launches, &problem);
  ck_assert(text && strstr(text, "rank 0 token 11 column 2:"));
}
END_TEST

/* Two experts a rank, blocks of 4 rows, a ring of 2: a rank with 6 routes to one expert and 1 to another has 3 blocks. */
START_TEST(laps_of_a_launch) {
  const mok_plan plan = {.row_padding = 4, .ring_slots = 2};
  for (int64_t r = 0; r < 2; ++r) {
    problem.ranks[r].tokens = 3;
    for (int64_t i = 0; i < 3 * model.top_k; ++i) problem.ranks[r].ids[i] = -1;
  }
  ck_assert_int_eq(mok_launch_laps(arena, &plan, &problem), 0);
  for (int64_t i = 0; i < 6; ++i) problem.ranks[i % 2].ids[i / 2] = 4;
  ck_assert_int_eq(mok_launch_laps(arena, &plan, &problem), 1);
  problem.ranks[1].ids[5] = 3;
  ck_assert_int_eq(mok_launch_laps(arena, &plan, &problem), 2);
}
END_TEST

START_TEST(one_token_of_many) {
  uint16_t *row = problem.ranks[0].out + 4 * model.hidden;
  for (int64_t c = 0; c < model.hidden; ++c) row[c] ^= 0x8000;
  assert_found("rank 0 token 4 column");
}
END_TEST

START_TEST(two_tokens_exchanged) {
  uint16_t row[64];
  uint16_t *a = problem.ranks[0].out, *b = a + model.hidden;
  memcpy(row, a, (size_t)model.hidden * 2);
  memcpy(a, b, (size_t)model.hidden * 2);
  memcpy(b, row, (size_t)model.hidden * 2);
  assert_found("rank 0 token 0");
}
END_TEST

START_TEST(a_little_everywhere) {
  for (int64_t i = 0; i < problem.ranks[0].tokens * model.hidden; ++i)
    problem.ranks[0].out[i] += 2; /* two bf16 steps, about 1 % */
  assert_found("relative L2 error");
}
END_TEST

START_TEST(a_zero_must_be_zero) {
  model.shared_intermediate = 0;
  make("uniform", 1, 0); /* no route at all */
  ck_assert(judge().pass);
  problem.ranks[0].out[0] = 0x0080; /* the smallest normal number */
  assert_found("rank 0 token 0 column 0");
}
END_TEST

START_TEST(sample_checks_what_it_says_and_poison_everywhere) {
  make("hot:2", 0, 4);
  ck_assert_int_eq(judge().checked, 2 * 4 * model.hidden);
  ck_assert(expected.checked[0][0] && expected.checked[0][TOKENS - 1]);
  int64_t unchecked = 0;
  while (expected.checked[0][unchecked]) ++unchecked;
  ck_assert(isnan(expected.rows[0][unchecked * model.hidden]));
  problem.ranks[0].out[unchecked * model.hidden] = 0xffff;
  assert_found("never written");
}
END_TEST

START_TEST(digest_covers_every_byte) {
  char before[17], after[17];
  mok_output_digest(&problem, before);
  problem.ranks[1].out[problem.ranks[1].tokens * model.hidden - 1] ^= 1;
  mok_output_digest(&problem, after);
  ck_assert_str_ne(before, after);
}
END_TEST

static int64_t distinct(const int32_t *ids) {
  int64_t count = 0;
  for (int64_t j = 0; j < model.top_k; ++j) {
    bool seen = false;
    for (int64_t i = 0; i < j; ++i) seen |= ids[i] == ids[j];
    count += !seen;
  }
  return count;
}

START_TEST(routings) {
  static const char *const distinct_kinds[] = {"uniform", "zipf:1.5", "zipf:16", "hot:4"};
  for (size_t i = 0; i < sizeof distinct_kinds / sizeof distinct_kinds[0]; ++i) {
    make(distinct_kinds[i], 0, 1);
    for (int64_t t = 0; t < TOKENS; ++t) ck_assert_int_eq(distinct(problem.ranks[0].ids + t * model.top_k), model.top_k);
  }
  ck_assert_int_eq(problem.expert_rows[4], 2 * TOKENS - 5); /* hot:4, the last one */
  make("dup", 0, 1);
  for (int64_t t = 0; t < TOKENS; ++t) ck_assert_int_eq(distinct(problem.ranks[0].ids + t * model.top_k), 1);
  make("zipf:2", 0, 1);
  ck_assert_int_gt(problem.expert_rows[0], problem.expert_rows[5]);
  make("uniform", 1, 1);
  for (int64_t e = 0; e < model.experts; ++e) ck_assert_int_eq(problem.expert_rows[e], 0);
  make("uniform", 0.5, 1);
  int64_t rows = 0;
  for (int64_t e = 0; e < model.experts; ++e) rows += problem.expert_rows[e];
  ck_assert_int_gt(rows, 10);
  ck_assert_int_lt(rows, (2 * TOKENS - 5) * model.top_k - 10);
}
END_TEST

START_TEST(routing_text) {
  mok_routing routing;
  static const char *const wrong[] = {"",      "unifrom", "zipf", "zipf:", "zipf:x", "zipf:-1",
                                      "hot:6", "hot:-1",  "hot:", "file:", "dup:1"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
    mok_assert_error(mok_routing_parse(&model, wrong[i], &routing), MOK_ERR_USAGE, "--routing");
}
END_TEST

static void from_file(const char *text, mok_code code, const char *part) {
  mok_routing routing;
  const int64_t tokens[] = {2, 1};
  const char *path = mok_test_path("routes");
  mok_test_write(path, text);
  mok_assert_ok(mok_routing_parse(&model, mok_arena_printf(arena, "file:%s", path), &routing));
  mok_problem_deinit(&problem);
  mok_status status = mok_problem_make(arena, &model, tokens, &routing, 1, 0, &problem);
  if (part) mok_assert_error(status, code, part);
  else mok_assert_ok(status);
}

START_TEST(routing_file) {
  from_file("0 1 2\n3,4,5\n-1 0 99\n", 0, NULL);
  ck_assert_int_eq(problem.ranks[0].ids[4], 4);
  ck_assert_int_eq(problem.ranks[1].ids[2], 99);
  ck_assert_int_eq(problem.expert_rows[0], 2);
  from_file("0 1 2\n3 4 5\n-1 0 99", 0, NULL);
  from_file("0 1 2\n3 4 5\n", MOK_ERR_IO, "ends after 2 tokens, the run has 3");
  from_file("0 1 2\n3 4 5\n0 1 2\n0 1 2\n", MOK_ERR_IO, ":4: more lines");
  from_file("0 1 2\n3 4\n0 1 2\n", MOK_ERR_IO, ":2: 2 ids, top_k is 3");
  from_file("0 1 2\n3 4 5 0\n0 1 2\n", MOK_ERR_IO, ":2: 4 ids");
  from_file("0 1 2\n3 x 5\n0 1 2\n", MOK_ERR_IO, ":2: 'x' is not an expert id");
  from_file("0 1 4294967296\n", MOK_ERR_IO, ":1: '4294967296' is not an expert id");
}
END_TEST

START_TEST(npy_header) {
  const int64_t shape[] = {2, 3};
  const uint16_t data[6] = {1, 2, 3, 4, 5, 6};
  const mok_blob blob = mok_npy(arena, "x.npy", "<u2", shape, 2, data);
  const unsigned char *bytes = blob.data;
  ck_assert_int_eq(memcmp(bytes, "\x93NUMPY\x01\x00", 8), 0);
  const size_t header = bytes[8] + 256u * bytes[9];
  ck_assert_int_eq((10 + header) % 64, 0);
  ck_assert_int_eq(bytes[10 + header - 1], '\n');
  ck_assert_ptr_nonnull(strstr((const char *)bytes + 10, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }"));
  ck_assert_uint_eq(blob.size, 10 + header + sizeof data);
  ck_assert_int_eq(memcmp(bytes + 10 + header, data, sizeof data), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verdict");
  TCase *tests = tcase_create("verdict");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, right_output_passes);
  tcase_add_test(tests, one_value_never_written);
  tcase_add_test(tests, infinity);
  tcase_add_test(tests, writes_outside);
  tcase_add_test(tests, writes_past_the_tokens_of_a_launch);
  tcase_add_test(tests, sizes_of_launches);
  tcase_add_test(tests, bits_of_launches);
  tcase_add_test(tests, laps_of_a_launch);
  tcase_add_test(tests, one_token_of_many);
  tcase_add_test(tests, two_tokens_exchanged);
  tcase_add_test(tests, a_little_everywhere);
  tcase_add_test(tests, a_zero_must_be_zero);
  tcase_add_test(tests, sample_checks_what_it_says_and_poison_everywhere);
  tcase_add_test(tests, digest_covers_every_byte);
  tcase_add_test(tests, routings);
  tcase_add_test(tests, routing_text);
  tcase_add_test(tests, routing_file);
  tcase_add_test(tests, npy_header);
  suite_add_tcase(suite, tests);
  return mok_suite_main(suite);
}
