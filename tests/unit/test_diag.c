/* compiler/diag: text form, order, bounds, escaping, nearest words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/diag/diag.h"
#include "../support/support.h"

static mok_arena *arena;
static mok_diag *diag;

static void set_up(void) {
  arena = mok_arena_create();
  diag = mok_diag_create(arena);
}

static void tear_down(void) { mok_arena_destroy(arena); }

static const char *printed(bool color) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  ck_assert_ptr_nonnull(out);
  mok_diag_print(diag, out, color);
  fclose(out);
  const char *copy = mok_arena_strndup(arena, text, size);
  free(text);
  return copy;
}

static void add_source(const char *file, const char *text) { mok_diag_add_source(diag, file, text, strlen(text)); }

static mok_loc at(int line, int column, int length) {
  return (mok_loc){.file = "m.lua", .line = line, .column = column, .length = length};
}

START_TEST(caret_and_hint) {
  add_source("kimi.lua", "model {\n  name = 'x',\n  hiden = 7168,\n}\n");
  mok_loc loc = {.file = "kimi.lua", .line = 3, .column = 3, .length = 5};
  mok_diag_report(diag, MOK_SEVERITY_ERROR, loc, "did you mean 'hidden'?", "unknown key '%s' in model", "hiden");
  ck_assert_str_eq(printed(false),
                   "kimi.lua:3:3: error: unknown key 'hiden' in model\n"
                   "    hiden = 7168,\n"
                   "    ^~~~~\n"
                   "hint: did you mean 'hidden'?\n");
  ck_assert_str_eq(printed(false), ""); /* forgotten */
}
END_TEST

START_TEST(parts_of_a_place_may_be_unknown) {
  add_source("m.lua", "one\ntwo\n");
  mok_diag_report(diag, MOK_WARNING, (mok_loc){0}, NULL, "nowhere");
  mok_diag_report(diag, MOK_WARNING, at(0, 0, 0), NULL, "file only");
  mok_diag_report(diag, MOK_WARNING, at(2, 0, 0), NULL, "line only");
  mok_diag_report(diag, MOK_WARNING, at(9, 1, 1), NULL, "past the end");
  mok_diag_report(diag, MOK_WARNING, (mok_loc){.file = "other.lua", .line = 1, .column = 1}, NULL, "no text");
  ck_assert_int_eq(mok_diag_warnings(diag), 5);
  ck_assert_str_eq(printed(false),
                   "warning: nowhere\n"
                   "m.lua: warning: file only\n"
                   "m.lua:2: warning: line only\n  two\n"
                   "m.lua:9:1: warning: past the end\n"
                   "other.lua:1:1: warning: no text\n");
  ck_assert_int_eq(mok_diag_warnings(diag), 0);                   /* printed and forgotten */
  ck_assert_ptr_null(mok_diag_status(diag, MOK_ERR_DESCRIPTION)); /* warnings are no errors */
}
END_TEST

START_TEST(caret_at_the_ends) {
  add_source("m.lua", "ab\r\n\nlast");
  mok_diag_report(diag, MOK_WARNING, at(1, 3, 1), NULL, "end of line");
  mok_diag_report(diag, MOK_WARNING, at(1, 99, 9), NULL, "far right");
  mok_diag_report(diag, MOK_WARNING, at(2, 1, 1), NULL, "empty line");
  mok_diag_report(diag, MOK_WARNING, at(3, 1, 99), NULL, "long mark");
  ck_assert_str_eq(printed(false),
                   "m.lua:1:3: warning: end of line\n  ab\n    ^\n"
                   "m.lua:1:99: warning: far right\n  ab\n    ^\n"
                   "m.lua:2:1: warning: empty line\n  \n  ^\n"
                   "m.lua:3:1: warning: long mark\n  last\n  ^~~~\n");
}
END_TEST

START_TEST(sorted_by_place_stably_with_notes) {
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(9, 1, 1), NULL, "late");
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(2, 5, 1), NULL, "b1");
  mok_diag_report(diag, MOK_NOTE, at(20, 1, 1), NULL, "note of b1");
  mok_diag_report(diag, MOK_NOTE, at(1, 1, 1), NULL, "second note of b1");
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(2, 5, 1), NULL, "b2");
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(2, 1, 1), NULL, "a");
  mok_diag_report(diag, MOK_SEVERITY_ERROR, (mok_loc){.file = "a.lua", .line = 50}, NULL, "other file");
  ck_assert_int_eq(mok_diag_errors(diag), 5);
  ck_assert_str_eq(printed(false),
                   "a.lua:50: error: other file\n"
                   "m.lua:2:1: error: a\n"
                   "m.lua:2:5: error: b1\n"
                   "m.lua:20:1: note: note of b1\n"
                   "m.lua:1:1: note: second note of b1\n"
                   "m.lua:2:5: error: b2\n"
                   "m.lua:9:1: error: late\n");
}
END_TEST

START_TEST(the_same_is_said_once) {
  for (int i = 0; i < 3; i++) {
    mok_diag_report(diag, MOK_SEVERITY_ERROR, at(1, 1, 1), NULL, "same");
    mok_diag_report(diag, MOK_SEVERITY_ERROR, at(1, 2, 1), NULL, "same");
  }
  ck_assert_int_eq(mok_diag_errors(diag), 2);
  ck_assert_str_eq(printed(false), "m.lua:1:1: error: same\nm.lua:1:2: error: same\n");
}
END_TEST

START_TEST(errors_are_bounded) {
  for (int i = 0; i < 1000; i++) mok_diag_report(diag, MOK_SEVERITY_ERROR, at(i + 1, 1, 1), NULL, "bad");
  ck_assert_int_eq(mok_diag_errors(diag), 1000);
  const char *text = printed(false);
  int lines = 0;
  for (const char *s = text; *s; s++) lines += *s == '\n';
  ck_assert_int_eq(lines, 65);
  ck_assert_ptr_nonnull(strstr(text, "m.lua:64:1: error: bad\n936 more errors are not shown\n"));
}
END_TEST

START_TEST(status_counts_and_is_reported) {
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(1, 1, 1), NULL, "one");
  mok_status status = mok_diag_status(diag, MOK_ERR_DESCRIPTION);
  ck_assert(mok_status_is_reported(status));
  ck_assert_str_eq(mok_status_text(status), "1 error");
  mok_status_free(status);
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(2, 1, 1), NULL, "two");
  status = mok_diag_status(diag, MOK_ERR_DESCRIPTION);
  ck_assert_str_eq(mok_status_text(status), "2 errors");
  ck_assert_int_eq(mok_status_exit_code(status), 1);
  mok_status_free(status);
}
END_TEST

START_TEST(long_lines_are_cut_around_the_caret) {
  char line[5001];
  for (int i = 0; i < 5000; i++) line[i] = (char)('a' + i % 26);
  line[5000] = 0;
  add_source("m.lua", line);
  mok_diag_report(diag, MOK_WARNING, at(1, 1, 2), NULL, "start");
  mok_diag_report(diag, MOK_WARNING, at(1, 2601, 3), NULL, "middle");
  mok_diag_report(diag, MOK_WARNING, at(1, 5000, 1), NULL, "end");
  const char *text = printed(false);
  int rows = 0;
  for (const char *s = text; *s; s++) {
    const char *newline = strchr(s, '\n');
    ck_assert_ptr_nonnull(newline);
    ck_assert_int_lt(newline - s, 120);
    rows++;
    s = newline;
  }
  ck_assert_int_eq(rows, 9);
  /* The caret stands under the character it means: 2600 % 26 is 'a'. */
  const char *shown = strchr(strstr(text, "middle"), '\n') + 1, *mark = strchr(shown, '\n') + 1;
  ck_assert_int_eq(strncmp(shown, "  ...", 5), 0);
  size_t column = strspn(mark, " ");
  ck_assert_int_eq(strncmp(mark + column, "^~~\n", 4), 0);
  ck_assert_int_eq(strncmp(shown + column, "abc", 3), 0);
}
END_TEST

START_TEST(control_characters_and_bad_utf8_are_escaped) {
  add_source("m.lua", "a\033[31m\xff\tb\xc3\xa9 c\n");
  mok_diag_report(diag, MOK_WARNING, at(1, 9, 1), NULL, "bad \033]0;title\007 \x80 \xc2\x9b \xe2\x80\xae line\nsecond");
  /* Byte 9 is 'b': after a, ESC (4 columns), [31m (4), ff (4), the tab (1). */
  ck_assert_str_eq(printed(false),
                   "m.lua:1:9: warning: bad \\x1b]0;title\\x07 \\x80 \\xc2\\x9b \\xe2\\x80\\xae line\n  second\n"
                   "  a\\x1b[31m\\xff b\xc3\xa9 c\n"
                   "                ^\n");
}
END_TEST

START_TEST(colors_only_when_asked) {
  add_source("m.lua", "x\n");
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(1, 1, 1), NULL, "bad");
  const char *text = printed(true);
  ck_assert_ptr_nonnull(strstr(text, "\033[1;31merror:\033[0m bad"));
  mok_diag_report(diag, MOK_SEVERITY_ERROR, at(1, 1, 1), NULL, "bad");
  ck_assert_ptr_null(strchr(printed(false), '\033'));
}
END_TEST

START_TEST(text_without_a_newline_or_with_nul) {
  mok_diag_add_source(diag, "m.lua", "a\0b", 3);
  mok_diag_report(diag, MOK_WARNING, at(1, 3, 1), NULL, "after NUL");
  ck_assert_str_eq(printed(false), "m.lua:1:3: warning: after NUL\n  a\\x00b\n       ^\n");
}
END_TEST

static void report_many(mok_arena *own, void *user) {
  mok_diag *many = mok_diag_create(own);
  for (int i = 0; i < 40; i++) mok_diag_report(many, MOK_SEVERITY_ERROR, at(i, 1, 1), "hint", "message %d", i);
  *(int *)user = mok_diag_errors(many);
}

START_TEST(survives_failing_allocators) {
  int errors = 0;
  ck_assert_int_gt(mok_test_failing_allocator(report_many, NULL, &errors), 5);
  ck_assert_int_eq(errors, 40);
}
END_TEST

START_TEST(nearest_words) {
  static const char *const keys[] = {"hidden", "intermediate", "experts", "top_k", "shared_experts", "gpu", "gpus"};
  static const struct {
    const char *word, *nearest;
  } cases[] = {{"hiden", "hidden"},   {"hdiden", "hidden"},
               {"expert", "experts"}, {"topk", "top_k"},
               {"gpu", "gpu"},        {"intermedaite", "intermediate"},
               {"gpuss", "gpus"},     {"shared_expert", "shared_experts"},
               {"banana", NULL},      {"", NULL},
               {"x", NULL},           {"hid", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *found = mok_nearest_word(cases[i].word, keys, sizeof keys / sizeof keys[0]);
    if (cases[i].nearest) ck_assert_pstr_eq(found, cases[i].nearest);
    else ck_assert_ptr_null(found);
  }
  char endless[1000];
  memset(endless, 'h', sizeof endless - 1);
  endless[sizeof endless - 1] = 0;
  ck_assert_ptr_null(mok_nearest_word(endless, keys, 7));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("diag");
  TCase *tests = tcase_create("diag");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, caret_and_hint);
  tcase_add_test(tests, parts_of_a_place_may_be_unknown);
  tcase_add_test(tests, caret_at_the_ends);
  tcase_add_test(tests, sorted_by_place_stably_with_notes);
  tcase_add_test(tests, the_same_is_said_once);
  tcase_add_test(tests, errors_are_bounded);
  tcase_add_test(tests, status_counts_and_is_reported);
  tcase_add_test(tests, long_lines_are_cut_around_the_caret);
  tcase_add_test(tests, control_characters_and_bad_utf8_are_escaped);
  tcase_add_test(tests, colors_only_when_asked);
  tcase_add_test(tests, text_without_a_newline_or_with_nul);
  tcase_add_test(tests, survives_failing_allocators);
  tcase_add_test(tests, nearest_words);
  suite_add_tcase(suite, tests);
  return mok_suite_main(suite);
}
