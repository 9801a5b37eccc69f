/* compiler/emit: the writer's grammar, and what the emitter makes of names, numbers and modules that are not ready. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "../../compiler/emit/emit_impl.h"
#include "../../compiler/frontend/frontend.h"
#include "../../compiler/passes/pass.h"
#include "../support/support.h"

static mok_arena *arena;
static mok_writer writer, *w = &writer;

static void set_up(void) {
  arena = mok_arena_create();
  writer = mok_writer_make(arena);
}

static void tear_down(void) {
  mok_status_free(writer.status);
  mok_arena_destroy(arena);
}

static const char *finished(void) {
  mok_blob out;
  mok_assert_ok(mok_writer_finish(w, "t.cu", &out));
  ck_assert_uint_eq(strlen(out.data), out.size);
  return out.data;
}

START_TEST(blocks_and_labels) {
  mok_w_open(w, "switch (%s)", "k");
  mok_w_label(w, "case 1:");
  mok_w_line(w, "if (x)");
  mok_w_under(w, "y();");
  mok_w_close(w, ";");
  mok_w_directive(w, "#endif");
  ck_assert_str_eq(finished(), "switch (k) {\ncase 1:\n  if (x)\n    y();\n};\n#endif\n");
}
END_TEST

START_TEST(mistakes_come_out_at_the_end) {
  mok_blob out;
  mok_w_open(w, "f()");
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "a block that is never closed");
  writer = mok_writer_make(arena);
  mok_w_close(w, "");
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "a block that was not open");
  writer = mok_writer_make(arena);
  mok_w_label(w, "case 1:");
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "a label outside a block");
  writer = mok_writer_make(arena);
  mok_w_line(w, "a;\nb;");
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "a line break inside a line");
  writer = mok_writer_make(arena);
  mok_w_remark(w, 10, "of nothing");
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "a remark without a line");
  writer = mok_writer_make(arena);
  mok_w_float(w, 1e300);
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "no finite float");
}
END_TEST

static const char *const bad_names[] = {"", "1x", "a b", "a-b", "x;", "caf\xc3\xa9", "a/*"};

START_TEST(names_are_identifiers) {
  mok_blob out;
  ck_assert_str_eq(mok_w_name(w, "_a9Z"), "_a9Z");
  ck_assert_str_eq(mok_w_upper(w, "LAYOUT_", "ring_x", "_OFFSET"), "LAYOUT_RING_X_OFFSET");
  mok_w_define(w, bad_names[_i], "1", "");
  mok_assert_error(mok_writer_finish(w, "t.cu", &out), MOK_ERR_CODEGEN, "a name that is no identifier");
}
END_TEST

START_TEST(literals) {
  ck_assert_str_eq(mok_w_int(w, 0), "0");
  ck_assert_str_eq(mok_w_int(w, INT32_MAX), "2147483647");
  ck_assert_str_eq(mok_w_int(w, INT32_MIN), "-2147483648LL"); /* 2147483648 alone is no int */
  ck_assert_str_eq(mok_w_int(w, INT64_C(2147483648)), "2147483648LL");
  ck_assert_str_eq(mok_w_int(w, INT64_MIN), "(-9223372036854775807LL - 1)");
  ck_assert_str_eq(mok_w_float(w, 7), "7.0f");
  ck_assert_str_eq(mok_w_float(w, 0.1), "0.1f");
  ck_assert_str_eq(mok_w_float(w, 1.0 / 3), "0.33333334f");
  ck_assert_str_eq(mok_w_float(w, 1e30), "1e+30f");
  ck_assert_str_eq(mok_w_fixed(w, 24.0156, 3), "24.016");
  ck_assert_str_eq(mok_w_string(w, "a\"b\\c\n"), "\"a\\\"b\\\\c\\012\"");
  ck_assert_str_eq(finished(), "");
}
END_TEST

START_TEST(numbers_do_not_follow_the_locale) {
  /* A locale with a decimal comma, where the machine has one; the default one must pass, too. */
  (void)(setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"));
  ck_assert_str_eq(mok_w_float(w, 0.5), "0.5f");
  ck_assert_str_eq(mok_w_fixed(w, 1.25, 2), "1.25");
  setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(comments_cannot_be_ended) {
  mok_w_heading(w, (mok_loc){.file = "/some/where/e*/\nvil*.lua", .line = 3}, "a */ b /* c\x01\n");
  mok_w_define(w, "A", "1", "x */ #error");
  mok_w_line(w, "y;");
  mok_w_remark(w, 0, "*/*/");
  mok_w_comment_open(w, "p */ q");
  mok_w_comment_close(w);
  const char *text = finished();
  int opened = 0, closed = 0;
  for (const char *c = text; *c; ++c) {
    opened += c[0] == '/' && c[1] == '*';
    closed += c[0] == '*' && c[1] == '/';
    ck_assert(*c == '\n' || (unsigned char)*c >= ' ');
  }
  ck_assert_int_eq(opened, 4);
  ck_assert_int_eq(closed, 4);
}
END_TEST

START_TEST(places_name_the_file_only) {
  ck_assert_str_eq(mok_w_place(w, (mok_loc){.file = "/home/user/kimi.lua", .line = 12}), "kimi.lua:12");
  ck_assert_str_eq(mok_w_place(w, (mok_loc){.file = "kimi.lua"}), "");
  ck_assert_str_eq(mok_w_place(w, (mok_loc){0}), "");
}
END_TEST

START_TEST(long_remarks_move_up_and_comments_wrap) {
  char text[MOK_WRITER_WIDTH];
  memset(text, 'r', sizeof text - 1);
  text[100] = ' ';
  text[sizeof text - 1] = 0;
  mok_w_open(w, "f()");
  mok_w_line(w, "statement_of_some_length();");
  mok_w_remark(w, 40, text);
  mok_w_close(w, "");
  char words[1000] = "";
  for (int i = 0; i < 90; ++i) strcat(words, "word1234 ");
  mok_w_comment_open(w, words);
  mok_w_comment_more(w, "");
  mok_w_comment_close(w);
  const char *out = finished();
  ck_assert_ptr_nonnull(strstr(out, "{\n  /* rrrr"));
  ck_assert_ptr_nonnull(strstr(out, " */\n  statement_of_some_length();\n}\n/* word1234"));
  ck_assert_ptr_nonnull(strstr(out, "\n * word1234"));
  for (const char *line = out; *line; line += strcspn(line, "\n") + 1)
    if (*line == ' ' && line[1] == '*') ck_assert_uint_le(strcspn(line, "\n"), MOK_WRITER_WIDTH);
}
END_TEST

static void write_some(mok_arena *small, void *user) {
  (void)user;
  mok_writer out = mok_writer_make(small);
  mok_w_heading(&out, (mok_loc){.file = "a.lua", .line = 1}, "%s", "heading");
  mok_w_define(&out, "NAME", mok_w_int(&out, 12345678901), "remark");
  mok_w_comment_open(&out, "some words to wrap");
  mok_w_comment_close(&out);
  mok_blob blob;
  mok_assert_ok(mok_writer_finish(&out, "t.h", &blob));
}

START_TEST(memory_may_run_out_anywhere) { ck_assert_int_gt(mok_test_failing_allocator(write_some, NULL, NULL), 0); }
END_TEST

/* The sample's sources after the pass `stop_after` (NULL: all). The texts live in the arena. */
static mok_status sample_sources(const char *stop_after, const char *override, mok_sources *out) {
  mok_diag *diag = mok_diag_create(arena);
  const mok_override overrides[] = {{override}};
  const mok_model *model;
  const mok_plan *plan;
  mok_assert_ok(mok_frontend_read(arena, diag, SAMPLE_MODEL, overrides, override != NULL, &model));
  mok_assert_ok(mok_plan_make(arena, diag, model, mok_gpu_find(model->gpu.row), &plan));
  mok_ir *ir = mok_ir_create(diag);
  mok_module *module;
  mok_assert_ok(mok_ir_build(ir, plan, &module));
  if (!stop_after || *stop_after) {
    const mok_pipeline_options options = {.stop_after = stop_after};
    mok_assert_ok(mok_pipeline_run(ir, module, plan, &options));
  }
  const mok_status status = mok_emit(arena, module, plan, out);
  mok_ir_destroy(ir);
  return status;
}

START_TEST(modules_that_are_not_ready_are_refused) {
  mok_sources sources;
  mok_assert_error(sample_sources("", NULL, &sources), MOK_ERR_CODEGEN, "run the passes");
  mok_assert_error(sample_sources("insert-sync", NULL, &sources), MOK_ERR_CODEGEN, "run the passes up to lower-to-cuda first");
}
END_TEST

static const char *digest_line(const mok_sources *sources) { return strstr(sources->plan_h.data, "#define PLAN_DIGEST"); }

static bool equal(mok_blob a, mok_blob b) { return a.size == b.size && memcmp(a.data, b.data, a.size) == 0; }

START_TEST(equal_plans_give_equal_bytes) {
  mok_sources first, again, other;
  mok_assert_ok(sample_sources(NULL, NULL, &first));
  mok_assert_ok(sample_sources(NULL, NULL, &again));
  mok_assert_ok(sample_sources(NULL, "workload.tokens_per_gpu=192", &other));
  ck_assert(equal(first.kernel, again.kernel) && equal(first.plan_h, again.plan_h) && equal(first.layout_h, again.layout_h));
  ck_assert_ptr_nonnull(digest_line(&first));
  ck_assert_str_ne(digest_line(&first), digest_line(&other));
}
END_TEST

/* The line of `text`, from 1. */
static const char *line_of(const char *text, int number) {
  for (; number > 1; --number) text = strchr(text, '\n') + 1;
  return mok_arena_strndup(arena, text, strcspn(text, "\n"));
}

/* Every wait of kernel.cu has a line among the names, with its number, its worker and its task. */
START_TEST(waits_are_named) {
  mok_sources sources;
  mok_assert_ok(sample_sources(NULL, NULL, &sources));
  const char *kernel = sources.kernel.data, *names = sources.names.data;
  int number = 0, waits = 0;
  char worker[64] = "", task[64] = "";
  for (const char *at = kernel; *at; at = strchr(at, '\n') + 1) {
    const char *line = line_of(kernel, ++number);
    (void)sscanf(line, "MOK_WORKER void %63[a-z_]", worker);
    (void)sscanf(line, " case TASK_%63[A-Z_]", task);
    if (!strstr(line, " mok_wait(c, ")) continue;
    ++waits;
    for (char *c = task; *c; ++c)
      if (*c != '_') *c = (char)(*c | ' '); /* lower case */
    const char *expected = mok_arena_printf(arena, "wait %d %s %s\n", number, worker, task);
    ck_assert_msg(strstr(names, expected) != NULL, "no '%s' in\n%s", expected, names);
  }
  ck_assert_int_ge(waits, 7);
  ck_assert_ptr_nonnull(strstr(names, "barrier 0 BARRIER_ROUTED\nbarrier 1 BARRIER_COMBINED\ncounter 0 COUNTER_X_READY\n"));
  for (const char *at = names; (at = strstr(at, "wait ")) != NULL; ++at) --waits;
  ck_assert_int_eq(waits, 0);
}
END_TEST

/* Only what a description needs is printed. */
START_TEST(no_shared_expert_no_clamp_no_gate) {
  mok_sources sources;
  mok_assert_ok(sample_sources(NULL, "model.shared_experts=0", &sources));
  ck_assert_ptr_null(strstr(sources.kernel.data, "shared"));
  ck_assert_ptr_null(strstr(sources.layout_h.data, "SHARED_H"));
  mok_assert_ok(sample_sources(NULL, "model.clamp=nil", &sources));
  ck_assert_ptr_null(strstr(sources.kernel.data, "CLAMP"));
  ck_assert_ptr_null(strstr(sources.plan_h.data, "CLAMP"));
  mok_assert_ok(sample_sources(NULL, "model.activation=relu2", &sources));
  ck_assert_ptr_null(strstr(sources.kernel.data, "args->gate"));
  ck_assert_ptr_null(strstr(sources.kernel.data, "gated = 1"));
}
END_TEST

/* Pairs and rounds are told where they are, and only there. */
START_TEST(pairs_and_rounds_are_told) {
  static const char pairs[] = "CTAs work in pairs",
                    rounds[] = "then in rounds dispatch, up of a minibatch, down, combine of the one before";
  static const char by_turns[] = "then per minibatch dispatch, up, down, combine";
  mok_sources sources;
  mok_assert_ok(sample_sources(NULL, "schedule.cluster=1", &sources));
  ck_assert_ptr_null(strstr(sources.kernel.data, pairs));
  ck_assert_ptr_nonnull(strstr(sources.maps.data, "map down.down bf16 weight down 256 128 box 16 64 "));
  mok_assert_ok(sample_sources(NULL, "schedule.cluster=2", &sources));
  ck_assert_ptr_nonnull(strstr(sources.kernel.data, pairs));
  ck_assert_ptr_nonnull(strstr(sources.plan_h.data, "#define PLAN_CLUSTER                2 "));
  /* Each CTA loads half of the weights: of one matrix half of its rows, of two one. */
  ck_assert_ptr_nonnull(strstr(sources.maps.data, "map down.down bf16 weight down 256 128 box 8 64 "));
  ck_assert_ptr_nonnull(strstr(sources.maps.data, "map up.gate bf16 weight gate 128 256 box 8 64 "));
  ck_assert_ptr_nonnull(strstr(sources.maps.data, "map down.ring_h bf16 local ring_h 512 128 box 128 64 "));
  mok_assert_ok(sample_sources(NULL, "schedule.ring_rows=512", &sources));
  ck_assert_ptr_nonnull(strstr(sources.kernel.data, by_turns));
  ck_assert_ptr_null(strstr(sources.kernel.data, "per_round"));
  mok_assert_ok(sample_sources(NULL, "schedule.ring_rows=768", &sources));
  /* The comment may be wrapped. */
  mok_buf flat = mok_buf_make(arena);
  for (const char *c = sources.kernel.data; *c; ++c) {
    if (strncmp(c, "\n *", 3) == 0) c += 2;
    else mok_buf_printf(&flat, "%c", *c);
  }
  ck_assert_ptr_nonnull(strstr(flat.data, rounds));
  ck_assert_ptr_nonnull(strstr(sources.kernel.data, "per_round"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("emit");
  TCase *tests = tcase_create("writer");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, blocks_and_labels);
  tcase_add_test(tests, mistakes_come_out_at_the_end);
  tcase_add_loop_test(tests, names_are_identifiers, 0, (int)(sizeof bad_names / sizeof bad_names[0]));
  tcase_add_test(tests, literals);
  tcase_add_test(tests, numbers_do_not_follow_the_locale);
  tcase_add_test(tests, comments_cannot_be_ended);
  tcase_add_test(tests, places_name_the_file_only);
  tcase_add_test(tests, long_remarks_move_up_and_comments_wrap);
  tcase_add_test(tests, memory_may_run_out_anywhere);
  suite_add_tcase(suite, tests);
  TCase *texts = tcase_create("texts");
  tcase_add_checked_fixture(texts, set_up, tear_down);
  tcase_add_test(texts, modules_that_are_not_ready_are_refused);
  tcase_add_test(texts, equal_plans_give_equal_bytes);
  tcase_add_test(texts, waits_are_named);
  tcase_add_test(texts, no_shared_expert_no_clamp_no_gate);
  tcase_add_test(texts, pairs_and_rounds_are_told);
  suite_add_tcase(suite, texts);
  return mok_suite_main(suite);
}
