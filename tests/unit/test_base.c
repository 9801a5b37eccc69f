/* runtime/base: status, arena, text buffer, JSON, SHA-256, UTF-8. Files: test_file.c. */
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/base/buf.h"
#include "../../runtime/base/json.h"
#include "../../runtime/base/sha256.h"
#include "../../runtime/base/utf8.h"
#include "../support/support.h"

/* ---- status ---- */

START_TEST(status_carries_code_text_and_place) {
  mok_status status = MOK_ERROR(MOK_ERR_NO_PLAN, "no plan for %d ranks", 3);
  int line = __LINE__ - 1;
  status = mok_status_context(status, "planning %s", "kimi-k2");
  ck_assert_int_eq(mok_status_exit_code(status), 3);
  ck_assert_str_eq(mok_status_text(status), "no plan for 3 ranks\n  while planning kimi-k2");
  char place[64];
  snprintf(place, sizeof place, "test_base.c:%d", line);
  ck_assert_str_eq(mok_status_place(status), place);
  ck_assert(!mok_status_is_reported(status));
  ck_assert(mok_status_is_reported(mok_status_mark_reported(status)));
  mok_status_free(status);
}
END_TEST

START_TEST(ok_stays_ok) {
  ck_assert_ptr_null(mok_status_context(MOK_OK, "doing nothing"));
  ck_assert_ptr_null(mok_status_mark_reported(MOK_OK));
  ck_assert_int_eq(mok_status_exit_code(MOK_OK), 0);
  ck_assert_str_eq(mok_status_text(MOK_OK), "");
  ck_assert(!mok_status_is_reported(MOK_OK));
  mok_status_free(MOK_OK);
}
END_TEST

START_TEST(every_code_has_a_meaning) {
  static const int codes[] = {1, 2, 3, 4, 5, 6, 7, 8, 130};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) ck_assert_ptr_nonnull(mok_code_meaning((mok_code)codes[i]));
  ck_assert_ptr_null(mok_code_meaning((mok_code)9));
}
END_TEST

static mok_status fail_at(int depth) {
  if (depth == 0) return MOK_ERROR(MOK_ERR_IO, "bottom");
  MOK_TRY_CTX(fail_at(depth - 1), "level %d", depth);
  return MOK_OK;
}

START_TEST(try_adds_context_outwards) {
  mok_status status = fail_at(2);
  ck_assert_str_eq(mok_status_text(status), "bottom\n  while level 1\n  while level 2");
  mok_status_free(status);
}
END_TEST

/* ---- arena ---- */

START_TEST(blocks_are_zeroed_aligned_and_apart) {
  mok_arena *arena = mok_arena_create();
  enum { COUNT = 300 };
  unsigned char *blocks[COUNT];
  size_t total = 0, wrong = 0;
  for (size_t i = 0; i < COUNT; i++) {
    size_t bytes = i * i; /* past the chunk size as well */
    blocks[i] = mok_arena_alloc(arena, bytes);
    ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
    for (size_t j = 0; j < bytes; j++) wrong += blocks[i][j] != 0;
    memset(blocks[i], (int)(i % 255 + 1), bytes);
    total += bytes;
  }
  for (size_t i = 0; i < COUNT; i++) {
    for (size_t j = 0; j < i * i; j++) wrong += blocks[i][j] != i % 255 + 1;
  }
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_ge(mok_arena_bytes(arena), total);
  mok_arena_destroy(arena);
  mok_arena_destroy(NULL);
}
END_TEST

START_TEST(arena_text) {
  mok_arena *arena = mok_arena_create();
  ck_assert_str_eq(mok_arena_strdup(arena, "tile_m"), "tile_m");
  ck_assert_str_eq(mok_arena_strndup(arena, "tile_m", 4), "tile");
  ck_assert_str_eq(mok_arena_printf(arena, "%s=%d", "k", 8), "k=8");
  char *longer = mok_arena_printf(arena, "%070000d", 7);
  ck_assert_uint_eq(strlen(longer), 70000);
  mok_arena_destroy(arena);
}
END_TEST

static void note_and_jump(void *user, size_t bytes) {
  (void)bytes;
  longjmp(*(jmp_buf *)user, 1);
}

START_TEST(overflow_is_out_of_memory) {
  mok_arena *arena = mok_arena_create();
  jmp_buf out;
  volatile int hits = 0;
  mok_arena_set_oom_hook(arena, note_and_jump, &out);
  if (setjmp(out) == 0) mok_arena_array(arena, SIZE_MAX / 4, 8);
  else hits = hits + 1;
  if (setjmp(out) == 0) mok_arena_alloc(arena, SIZE_MAX);
  else hits = hits + 1;
  mok_arena_set_limit(arena, 1000);
  if (setjmp(out) == 0) mok_arena_alloc(arena, 1008);
  else hits = hits + 1;
  ck_assert_int_eq(hits, 3);
  ck_assert_ptr_nonnull(mok_arena_alloc(arena, 900)); /* still usable */
  mok_arena_destroy(arena);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void must_not_be_called(void *user, size_t bytes) {
  (void)user;
  (void)bytes;
  _exit(9);
}

/* In a process of its own that has used up its memory; a sanitizer's allocator would end it. */
START_TEST(no_memory_for_an_arena) {
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit none = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(1);
    void *volatile last;
    for (size_t size = 1 << 20; size > 0; size -= size > 512 ? size / 2 : 16) do
        last = malloc(size);
      while (last);
    _exit(mok_arena_try_create(must_not_be_called, NULL) ? 2 : 0);
  }
  int end = 0;
  ck_assert_int_eq(waitpid(child, &end, 0), child);
  ck_assert(WIFEXITED(end));
  ck_assert_int_eq(WEXITSTATUS(end), 0);
  mok_arena *arena = mok_arena_try_create(must_not_be_called, NULL);
  ck_assert_ptr_nonnull(mok_arena_alloc(arena, 1));
  mok_arena_destroy(arena);
}
END_TEST
#endif

START_TEST(default_hook_exits_with_8) {
  mok_arena *arena = mok_arena_create();
  mok_arena_set_limit(arena, 16);
  mok_arena_alloc(arena, 17);
}
END_TEST

/* ---- buffer ---- */

START_TEST(buffer_grows_and_stays_terminated) {
  mok_arena *arena = mok_arena_create();
  mok_buf buf = mok_buf_make(arena);
  ck_assert_str_eq(buf.data, "");
  for (int i = 0; i < 5000; i++) {
    mok_buf_printf(&buf, "%d,", i % 10);
    ck_assert_uint_eq(buf.size, 2 * (size_t)(i + 1));
    ck_assert_int_eq(buf.data[buf.size], 0);
  }
  mok_buf_write(&buf, "a\0b", 3);
  ck_assert_uint_eq(buf.size, 10003);
  ck_assert_mem_eq(buf.data + 10000, "a\0b", 4);
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(printf_at_every_fill_level) {
  mok_arena *arena = mok_arena_create();
  for (int fill = 0; fill < 140; fill++) {
    mok_buf buf = mok_buf_make(arena);
    for (int i = 0; i < fill; i++) mok_buf_putc(&buf, '.');
    mok_buf_printf(&buf, "%s|", "0123456789");
    ck_assert_uint_eq(buf.size, (size_t)fill + 11);
    ck_assert_str_eq(buf.data + fill, "0123456789|");
  }
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(pad_counts_characters_of_the_line) {
  mok_arena *arena = mok_arena_create();
  mok_buf buf = mok_buf_make(arena);
  mok_buf_puts(&buf, "long first line\n\xc3\xa9"); /* e acute: one character, two bytes */
  mok_buf_pad_to(&buf, 4);
  mok_buf_puts(&buf, "x");
  mok_buf_pad_to(&buf, 2); /* already past it */
  ck_assert_str_eq(buf.data, "long first line\n\xc3\xa9   x");
  mok_arena_destroy(arena);
}
END_TEST

static void fill_buffer(mok_arena *arena, void *user) {
  mok_buf buf = mok_buf_make(arena);
  mok_json json = mok_json_make(&buf);
  mok_json_begin_array(&json);
  for (int i = 0; i < 100; i++) mok_json_string(&json, mok_arena_printf(arena, "value %d", i));
  mok_json_end_array(&json);
  *(size_t *)user = buf.size;
}

START_TEST(text_survives_failing_allocators) {
  size_t size = 0;
  ck_assert_int_gt(mok_test_failing_allocator(fill_buffer, NULL, &size), 10);
  ck_assert_uint_gt(size, 1000);
}
END_TEST

/* ---- JSON ---- */

START_TEST(json_layout) {
  mok_arena *arena = mok_arena_create();
  mok_buf buf = mok_buf_make(arena);
  mok_json json = mok_json_make(&buf);
  mok_json_begin_object(&json);
  mok_json_key(&json, "schema");
  mok_json_int(&json, 1);
  mok_json_key(&json, "passes");
  mok_json_begin_array(&json);
  mok_json_string(&json, "forward");
  mok_json_begin_object(&json);
  mok_json_end_object(&json);
  mok_json_begin_array(&json);
  mok_json_end_array(&json);
  mok_json_end_array(&json);
  mok_json_key(&json, "auto");
  mok_json_bool(&json, true);
  mok_json_key(&json, "clamp");
  mok_json_null(&json);
  mok_json_key(&json, "least");
  mok_json_int(&json, INT64_MIN);
  mok_json_end_object(&json);
  mok_json_finish(&json);
  ck_assert_str_eq(buf.data,
                   "{\n  \"schema\": 1,\n  \"passes\": [\n    \"forward\",\n    {},\n    []\n  ],\n  \"auto\": true,\n"
                   "  \"clamp\": null,\n  \"least\": -9223372036854775808\n}\n");
  mok_arena_destroy(arena);
}
END_TEST

static const char *json_text(mok_arena *arena, const char *text) {
  mok_buf buf = mok_buf_make(arena);
  mok_json json = mok_json_make(&buf);
  mok_json_string(&json, text);
  return buf.data;
}

START_TEST(json_strings_are_escaped) {
  mok_arena *arena = mok_arena_create();
  ck_assert_str_eq(json_text(arena, "a\"b\\c\n\t\x01\x7f"), "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"");
  ck_assert_str_eq(json_text(arena, "\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
  ck_assert_str_eq(json_text(arena, "\xff|\xc3"), "\"\\ufffd|\\ufffd\"");
  ck_assert_str_eq(json_text(arena, NULL), "null");
  mok_arena_destroy(arena);
}
END_TEST

static const char *json_number(mok_arena *arena, double value, int digits) {
  mok_buf buf = mok_buf_make(arena);
  mok_json json = mok_json_make(&buf);
  mok_json_fixed(&json, value, digits);
  return buf.data;
}

START_TEST(json_numbers_are_fixed_and_without_locale) {
  mok_arena *arena = mok_arena_create();
  /* Any locale with a decimal comma; where none is installed the C locale stays. */
  static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8"};
  for (size_t i = 0; i < 2 && !setlocale(LC_NUMERIC, locales[i]); i++) continue;
  ck_assert_str_eq(json_number(arena, 1234.5678, 3), "1234.568");
  ck_assert_str_eq(json_number(arena, 2.0, 3), "2.000");
  ck_assert_str_eq(json_number(arena, -0.25, 1), "-0.2");
  ck_assert_str_eq(json_number(arena, -0.0001, 3), "0.000");
  ck_assert_str_eq(json_number(arena, 7.5, 0), "8");
  ck_assert_str_eq(json_number(arena, NAN, 3), "null");
  ck_assert_str_eq(json_number(arena, -INFINITY, 3), "null");
  ck_assert_uint_eq(strlen(json_number(arena, 1e308, 17)), 327);
  setlocale(LC_NUMERIC, "C");
  mok_arena_destroy(arena);
}
END_TEST

/* ---- SHA-256 ---- */

static const struct {
  const char *text;
  const char *hex;
} vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};

START_TEST(sha256_vectors) {
  char hex[65];
  mok_sha256_of(vectors[_i].text, strlen(vectors[_i].text), hex);
  ck_assert_str_eq(hex, vectors[_i].hex);
}
END_TEST

START_TEST(sha256_of_a_million_letters) {
  mok_sha256 sha;
  mok_sha256_init(&sha);
  char block[997];
  memset(block, 'a', sizeof block);
  for (size_t left = 1000000; left;) {
    size_t take = left < sizeof block ? left : sizeof block;
    mok_sha256_update(&sha, block, take);
    left -= take;
  }
  uint8_t digest[32];
  char hex[65];
  mok_sha256_final(&sha, digest);
  mok_sha256_hex(digest, hex);
  ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(sha256_fields_keep_their_borders) {
  char hex[2][65];
  for (int i = 0; i < 2; i++) {
    mok_sha256 sha;
    uint8_t digest[32];
    mok_sha256_init(&sha);
    mok_sha256_field(&sha, "abc", i ? 1 : 2);
    mok_sha256_field(&sha, i ? "bc" : "c", i ? 2 : 1);
    mok_sha256_final(&sha, digest);
    mok_sha256_hex(digest, hex[i]);
  }
  ck_assert_str_ne(hex[0], hex[1]);
}
END_TEST

/* ---- UTF-8 ---- */

START_TEST(utf8_sequences) {
  ck_assert_uint_eq(mok_utf8_sequence("a", 1), 1);
  ck_assert_uint_eq(mok_utf8_sequence("\xc3\xa9", 2), 2);
  ck_assert_uint_eq(mok_utf8_sequence("\xe2\x82\xac", 3), 3);
  ck_assert_uint_eq(mok_utf8_sequence("\xf4\x8f\xbf\xbf", 4), 4);
  static const char *const bad[] = {"\x80",         "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                    "\xf5\x80\x80", "\xe2\x82", "\xc3",     "\xc3x"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) ck_assert_uint_eq(mok_utf8_sequence(bad[i], strlen(bad[i])), 0);
  ck_assert_uint_eq(mok_utf8_sequence("", 0), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("base");
  TCase *status = tcase_create("status");
  tcase_add_test(status, status_carries_code_text_and_place);
  tcase_add_test(status, ok_stays_ok);
  tcase_add_test(status, every_code_has_a_meaning);
  tcase_add_test(status, try_adds_context_outwards);
  suite_add_tcase(suite, status);
  TCase *arena = tcase_create("arena");
  tcase_add_test(arena, blocks_are_zeroed_aligned_and_apart);
  tcase_add_test(arena, arena_text);
  tcase_add_test(arena, overflow_is_out_of_memory);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  tcase_add_test(arena, no_memory_for_an_arena);
#endif
  const char *fork_mode = getenv("CK_FORK");
  if (!fork_mode || strcmp(fork_mode, "no") != 0) tcase_add_exit_test(arena, default_hook_exits_with_8, 8);
  suite_add_tcase(suite, arena);
  TCase *text = tcase_create("text");
  tcase_add_test(text, buffer_grows_and_stays_terminated);
  tcase_add_test(text, printf_at_every_fill_level);
  tcase_add_test(text, pad_counts_characters_of_the_line);
  tcase_add_test(text, text_survives_failing_allocators);
  tcase_add_test(text, json_layout);
  tcase_add_test(text, json_strings_are_escaped);
  tcase_add_test(text, json_numbers_are_fixed_and_without_locale);
  tcase_add_test(text, utf8_sequences);
  suite_add_tcase(suite, text);
  TCase *sha = tcase_create("sha256");
  tcase_add_loop_test(sha, sha256_vectors, 0, sizeof vectors / sizeof vectors[0]);
  tcase_add_test(sha, sha256_of_a_million_letters);
  tcase_add_test(sha, sha256_fields_keep_their_borders);
  suite_add_tcase(suite, sha);
  return mok_suite_main(suite);
}
