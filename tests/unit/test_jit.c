/* The kernel cache, the search for compilers, and what happens when a compiler fails. The compiler is a script that counts its
 * calls, so that the tests need none. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../compiler/jit/child.h"
#include "../../compiler/jit/compile.h"
#include "../../compiler/jit/nvrtc_library.h"
#include "../../runtime/base/file.h"
#include "../support/support.h"

static mok_arena *arena;
static char *counter, *cache, *temporary;

/* Replaces the compiler. `body` runs for a compilation; "$out" is the file to make. */
static void set_compiler(const char *version, const char *body) {
  const char *path = mok_test_path("fake-c++");
  mok_test_write(path, mok_arena_printf(arena,
                                        "#!/bin/sh\n"
                                        "if [ \"$1\" = --version ]; then echo '%s'; exit 0; fi\n"
                                        "echo call >> '%s'\n"
                                        "for a; do [ \"$last\" = -o ] && out=$a; last=$a; done\n"
                                        "%s\n",
                                        version, counter, body));
  chmod(path, 0755);
  setenv("MOKGEN_CXX", path, 1);
}

static int calls(void) {
  if (!mok_file_exists(counter)) return 0;
  char *text = mok_test_read(counter);
  const int count = (int)(strlen(text) / strlen("call\n"));
  free(text);
  return count;
}

static void setup(void) {
  arena = mok_arena_create();
  counter = mok_arena_strdup(arena, mok_test_path("calls"));
  cache = mok_arena_strdup(arena, mok_test_path("cache"));
  temporary = mok_arena_strdup(arena, mok_test_path("tmp"));
  mok_test_folder();
  mkdir(temporary, 0700);
  setenv("TMPDIR", temporary, 1);
  setenv("MOKGEN_CACHE_DIR", cache, 1);
  unsetenv("MOKGEN_CACHE_BYTES");
  set_compiler("fake (Test) 1.2.3", "printf 'code of ' > $out; cat kernel.cu >> $out");
}

static void teardown(void) {
  /* With CK_FORK=no all tests share the folder. */
  mok_assert_ok(mok_folder_remove_all(counter));
  mok_assert_ok(mok_folder_remove_all(cache));
  mok_assert_ok(mok_folder_remove_all(temporary));
  mok_arena_destroy(arena);
}

static mok_blob blob(const char *name, const char *text) { return (mok_blob){.name = name, .data = text, .size = strlen(text)}; }

static mok_status compile(const char *kernel, bool use_cache, mok_image *out) {
  const mok_sources sources = {blob("kernel.cu", kernel), blob("mok_plan.h", "plan\n"), blob("mok_layout.h", "layout\n")};
  const mok_jit_options options = {.target = mok_target_find("host"), .use_cache = use_cache, .sanitizer = ""};
  return mok_jit_compile(arena, &sources, &options, out);
}

static void check_code(const mok_image *image, const char *kernel) {
  const char *want = mok_arena_printf(arena, "code of %s", kernel);
  ck_assert_uint_eq(image->code.size, strlen(want));
  ck_assert_int_eq(memcmp(image->code.data, want, image->code.size), 0);
  ck_assert_str_eq(image->code.name, "kernel.host.so");
  ck_assert_str_eq(image->compiler, "fake-c++ 1.2.3");
}

static mok_cache_entry *list(size_t *count) {
  mok_cache_entry *entries = NULL;
  mok_assert_ok(mok_cache_list(arena, &entries, count));
  return entries;
}

/* ------------------------------------------------------------------------------------------------ cache */

START_TEST(second_build_hits) {
  mok_image image;
  mok_assert_ok(compile("/* Forward megakernel of k on 2 x H200.      generated */\n", true, &image));
  ck_assert(!image.from_cache);
  mok_assert_ok(compile("/* Forward megakernel of k on 2 x H200.      generated */\n", true, &image));
  ck_assert(image.from_cache);
  check_code(&image, "/* Forward megakernel of k on 2 x H200.      generated */\n");
  ck_assert_int_eq(calls(), 1);
  ck_assert_int_eq(mok_test_entries(temporary), 0);
  size_t count = 0;
  const mok_cache_entry *entries = list(&count);
  ck_assert_uint_eq(count, 1);
  ck_assert_str_eq(entries[0].what, "host Forward megakernel of k on 2 x H200");
  ck_assert(!entries[0].damaged && entries[0].bytes > 0 && entries[0].age_s < 60);

  mok_assert_ok(compile("/* Forward megakernel of k on 2 x H200.      generated */\n", false, &image));
  ck_assert(!image.from_cache);
  ck_assert_int_eq(calls(), 2);
}
END_TEST

START_TEST(other_input_misses) {
  mok_image image;
  mok_assert_ok(compile("a", true, &image));
  mok_assert_ok(compile("b", true, &image));
  check_code(&image, "b");
  set_compiler("fake (Test) 1.2.4", "echo other > $out");
  mok_assert_ok(compile("a", true, &image));
  ck_assert(!image.from_cache);
  ck_assert_int_eq(calls(), 3);
}
END_TEST

/* Every field counts, and none can pass for another. */
START_TEST(key_depends_on_each_field) {
  const mok_blob header[] = {blob("h", "text")}, other_name[] = {blob("g", "text")}, other_text[] = {blob("h", "texT")};
  mok_compilation c[10];
  for (size_t i = 0; i < 10; i++)
    c[i] = (mok_compilation){.target = mok_target_find("sm_90a"), .templates = "sm90", .kernel = blob("kernel.cu", "kernel"),
                             .headers = header, .header_count = 1, .arguments = {"-a", "-b"}, .argument_count = 2,
                             .identity = "NVRTC 13.0", .path = "/one"};
  c[1].target = mok_target_find("host");
  c[2].kernel = blob("kernel.cu", "kernel ");
  c[3].headers = other_name;
  c[4].headers = other_text;
  c[5].arguments[1] = "-c";
  c[6].arguments[0] = "-a-b", c[6].argument_count = 1;
  c[7].identity = "NVRTC 13.1";
  c[8].want_ptx = true;
  c[9].path = "/two"; /* only the path: the same key */
  char keys[10][65];
  for (size_t i = 0; i < 10; i++) mok_cache_key(&c[i], keys[i]);
  for (size_t i = 0; i < 9; i++)
    for (size_t j = i + 1; j < 9; j++) ck_assert_str_ne(keys[i], keys[j]);
  ck_assert_str_eq(keys[9], keys[0]);
}
END_TEST

/* Each byte of an entry, one at a time in strides, and each length. */
START_TEST(damaged_entry_is_rebuilt) {
  mok_image image;
  mok_assert_ok(compile("kernel", true, &image));
  size_t count = 0;
  const char *path = mok_path_join(arena, cache, list(&count)[0].key);
  mok_blob good;
  mok_assert_ok(mok_file_read(arena, path, 1 << 20, &good));
  int expected = 1;
  for (size_t at = 0; at < good.size; at += at < 40 ? 13 : 29) {
    char *bad = mok_arena_strndup(arena, good.data, good.size);
    bad[at] ^= 1;
    mok_assert_ok(mok_file_write(path, bad, good.size));
    ck_assert(list(&count)[0].damaged);
    mok_assert_ok(compile("kernel", true, &image));
    ck_assert_msg(!image.from_cache, "byte %zu", at);
    ck_assert_int_eq(calls(), ++expected);
    mok_assert_ok(mok_file_write(path, bad, at));
    mok_assert_ok(compile("kernel", true, &image));
    ck_assert_msg(!image.from_cache, "length %zu", at);
    ck_assert_int_eq(calls(), ++expected);
    check_code(&image, "kernel");
  }
  mok_assert_ok(compile("kernel", true, &image));
  ck_assert(image.from_cache);
}
END_TEST

START_TEST(two_processes_race) {
  enum { PROCESSES = 4 };
  set_compiler("fake (Test) 1.2.3", "sleep 0.3; printf 'code of ' > $out; cat kernel.cu >> $out");
  for (int i = 0; i < PROCESSES; i++) {
    if (fork() != 0) continue;
    mok_image image;
    mok_status status = compile("kernel", true, &image);
    _exit(!status && image.code.size == strlen("code of kernel") && memcmp(image.code.data, "code of kernel", image.code.size) == 0
              ? 0
              : 1);
  }
  for (int i = 0; i < PROCESSES; i++) {
    int end = 0;
    ck_assert_int_gt(wait(&end), 0);
    ck_assert(WIFEXITED(end) && WEXITSTATUS(end) == 0);
  }
  ck_assert_int_eq(mok_test_entries(cache), 1); /* no temporary is left */
  mok_image image;
  mok_assert_ok(compile("kernel", true, &image));
  ck_assert(image.from_cache);
}
END_TEST

START_TEST(unusable_folder_only_costs_time) {
  mok_image image;
  mok_test_write(mok_test_path("file"), "");
  setenv("MOKGEN_CACHE_DIR", mok_test_path("file/below"), 1); /* not a folder, for root too */
  mok_assert_ok(compile("kernel", true, &image));
  check_code(&image, "kernel");
  setenv("MOKGEN_CACHE_DIR", "/proc/mokgen", 1); /* nothing can be made there */
  mok_assert_ok(compile("kernel", true, &image));
  check_code(&image, "kernel");
  ck_assert_int_eq(calls(), 2);
}
END_TEST

START_TEST(folder_by_environment) {
  ck_assert_str_eq(mok_cache_folder(arena), cache);
  setenv("MOKGEN_CACHE_DIR", "", 1);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/home/someone", 1);
  ck_assert_str_eq(mok_cache_folder(arena), "/xdg/mokgen");
  setenv("XDG_CACHE_HOME", "relative", 1);
  ck_assert_str_eq(mok_cache_folder(arena), "/home/someone/.cache/mokgen");
  unsetenv("HOME");
  ck_assert_ptr_null(mok_cache_folder(arena));
  mok_image image;
  mok_assert_ok(compile("kernel", true, &image));
}
END_TEST

/* Sets the time of last use of an entry. */
static void set_age(const char *key, time_t seconds_ago) {
  struct timespec times[2] = {{.tv_sec = time(NULL) - seconds_ago}, {.tv_sec = time(NULL) - seconds_ago}};
  ck_assert_int_eq(utimensat(AT_FDCWD, mok_path_join(arena, cache, key), times, 0), 0);
}

static bool has(const char *key) { return mok_file_exists(mok_path_join(arena, cache, key)); }

START_TEST(least_recently_used_goes_first) {
  set_compiler("fake (Test) 1.2.3", "head -c 100000 /dev/zero > $out");
  mok_image image;
  size_t count = 0;
  mok_assert_ok(compile("a", true, &image));
  const char *a = list(&count)[0].key;
  mok_assert_ok(compile("b", true, &image));
  const mok_cache_entry *two = list(&count);
  const char *b = strcmp(two[0].key, a) == 0 ? two[1].key : two[0].key;
  set_age(a, 500);
  set_age(b, 100);
  mok_assert_ok(compile("a", true, &image)); /* a hit: now b is the older one */
  ck_assert(image.from_cache);
  setenv("MOKGEN_CACHE_BYTES", "250K", 1);
  mok_assert_ok(compile("c", true, &image));
  ck_assert(has(a) && !has(b));
  list(&count);
  ck_assert_uint_eq(count, 2);
  setenv("MOKGEN_CACHE_BYTES", "1", 1); /* the newest stays, whatever its size */
  mok_assert_ok(compile("d", true, &image));
  list(&count);
  ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(clear_removes_entries_only) {
  mok_image image;
  mok_assert_ok(compile("a", true, &image));
  mok_assert_ok(compile("b", true, &image));
  mok_test_write(mok_path_join(arena, cache, "notes.txt"), "mine");
  size_t removed = 0, count = 0;
  int64_t bytes = 0;
  mok_assert_ok(mok_cache_clear(arena, &removed, &bytes));
  ck_assert_uint_eq(removed, 2);
  ck_assert_int_gt(bytes, 0);
  list(&count);
  ck_assert_uint_eq(count, 0);
  ck_assert_int_eq(mok_test_entries(cache), 1);
  setenv("MOKGEN_CACHE_DIR", mok_test_path("never made"), 1);
  mok_assert_ok(mok_cache_clear(arena, &removed, &bytes));
  ck_assert_uint_eq(removed, 0);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ failures */

START_TEST(failure_keeps_the_source_and_is_not_cached) {
  set_compiler("fake (Test) 1.2.3", "echo \"kernel.cu:1:1: error: odd\" >&2; exit 1");
  mok_image image;
  for (int i = 0; i < 2; i++) {
    mok_status status = compile("bad kernel", true, &image);
    ck_assert_int_eq(mok_status_exit_code(status), MOK_ERR_CODEGEN);
    const char *text = mok_status_text(status);
    ck_assert_ptr_nonnull(strstr(text, "error: odd"));
    const char *folder = strstr(text, "is kept in ");
    ck_assert_ptr_nonnull(folder);
    folder = mok_arena_strndup(arena, folder + strlen("is kept in "), strcspn(folder + strlen("is kept in "), "\n"));
    ck_assert_int_eq(strncmp(folder, temporary, strlen(temporary)), 0);
    static const char *const kept[] = {"kernel.cu", "mok_plan.h", "mok_layout.h", "mok_args.h", "host/mok_target.h", "log.txt"};
    for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) ck_assert(mok_file_exists(mok_path_join(arena, folder, kept[k])));
    char *command = mok_test_read(mok_path_join(arena, folder, "command.txt"));
    ck_assert_ptr_nonnull(strstr(command, "host/mok_host.cpp"));
    ck_assert_ptr_nonnull(strstr(text, command));
    free(command);
    mok_status_free(status);
  }
  ck_assert_int_eq(calls(), 2);
  ck_assert_int_eq(mok_test_entries(temporary), 2); /* the two kept ones, and nothing else */
}
END_TEST

START_TEST(crash_of_the_compiler) {
  set_compiler("fake (Test) 1.2.3", "kill -SEGV $$");
  mok_image image;
  mok_assert_error(compile("kernel", true, &image), MOK_ERR_CODEGEN, "Segmentation fault");
}
END_TEST

static void crash(void *user, int fd) {
  (void)user;
  mok_child_write(fd, "so far", 6);
  abort();
}

START_TEST(crash_in_a_child) {
  mok_buf out = mok_buf_make(arena);
  mok_child_end end = {0};
  mok_assert_ok(mok_child_run(crash, NULL, &out, &end));
  ck_assert(!end.exited);
  ck_assert_int_eq(end.number, SIGABRT);
  ck_assert_str_eq(out.data, "so far");
}
END_TEST

/* In a process of its own: an interrupt stays pending. */
START_TEST(interrupt_ends_a_compilation) {
  set_compiler("fake (Test) 1.2.3", "sleep 60");
  const time_t start = time(NULL);
  const pid_t builder = fork();
  if (builder == 0) {
    mok_interrupt_install();
    mok_image image;
    _exit(mok_status_exit_code(compile("kernel", true, &image)));
  }
  while (calls() == 0 && time(NULL) - start < 20) usleep(10000); /* the compiler runs */
  ck_assert_int_eq(kill(builder, SIGINT), 0);
  int end = 0;
  ck_assert_int_eq(waitpid(builder, &end, 0), builder);
  ck_assert(WIFEXITED(end));
  ck_assert_int_eq(WEXITSTATUS(end), MOK_ERR_INTERRUPTED);
  ck_assert_int_lt(time(NULL) - start, 30);
  ck_assert_int_eq(mok_test_entries(temporary), 0);
  ck_assert(!mok_folder_exists(cache));
}
END_TEST

/* ------------------------------------------------------------------------------------------------ search */

START_TEST(no_cxx_compiler) {
  mok_image image;
  unsetenv("MOKGEN_CXX");
  setenv("PATH", mok_arena_printf(arena, "%s:relative", temporary), 1);
  mok_status status = compile("kernel", true, &image);
  ck_assert_int_eq(mok_status_exit_code(status), MOK_ERR_IO);
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), temporary));
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), "c++, g++, clang++"));
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), "MOKGEN_CXX"));
  mok_status_free(status);
  setenv("MOKGEN_CXX", "/nowhere/c++", 1);
  mok_assert_error(compile("kernel", true, &image), MOK_ERR_IO, "/nowhere/c++");
  setenv("MOKGEN_CXX", "no-such-compiler", 1);
  mok_assert_error(compile("kernel", true, &image), MOK_ERR_IO, temporary);
}
END_TEST

static mok_status compile_gpu(mok_image *image) {
  const mok_sources sources = {blob("kernel.cu", "kernel"), blob("mok_plan.h", ""), blob("mok_layout.h", "")};
  const mok_jit_options options = {.target = mok_target_find("sm_90a"), .use_cache = true};
  return mok_jit_compile(arena, &sources, &options, image);
}

START_TEST(no_nvrtc) {
  mok_image image;
  setenv("MOKGEN_NVRTC", temporary, 1); /* an empty folder, and then nothing else is searched */
  mok_status status = compile_gpu(&image);
  ck_assert_int_eq(mok_status_exit_code(status), MOK_ERR_IO);
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), mok_arena_printf(arena, "%s: no libnvrtc.so.13", temporary)));
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), mok_arena_printf(arena, "%s/lib64: no such folder", temporary)));
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), "MOKGEN_NVRTC"));
  ck_assert_ptr_null(strstr(mok_status_text(status), "/usr/local"));
  mok_status_free(status);
  const char *file = mok_arena_strdup(arena, mok_test_path("libnvrtc.so.13"));
  mok_test_write(file, "this is no library");
  setenv("MOKGEN_NVRTC", file, 1);
  mok_assert_error(compile_gpu(&image), MOK_ERR_IO, "libnvrtc.so.13: file too short");
  setenv("MOKGEN_NVRTC", "/nowhere/libnvrtc.so.13", 1);
  mok_assert_error(compile_gpu(&image), MOK_ERR_IO, "/nowhere");
}
END_TEST

START_TEST(nvrtc_places) {
  unsetenv("MOKGEN_NVRTC");
  setenv("CUDA_PATH", "/toolkit", 1);
  size_t count = 0;
  const mok_nvrtc_place *places = mok_nvrtc_places(arena, &count);
  ck_assert_ptr_null(places[0].folder); /* the loader's path */
  ck_assert_str_eq(places[1].folder, "/toolkit/lib64");
  static const char *const later[] = {"/usr/local/cuda/lib64", "/opt/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "nvrtc/nvidia/cu13/lib"};
  size_t at = 2;
  for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
    while (at < count && !strstr(places[at].folder, later[i])) at++;
    ck_assert_msg(at < count, "%s is not searched after the places before it", later[i]);
  }
}
END_TEST

START_TEST(target_without_templates) {
  mok_image image;
  const mok_sources sources = {blob("kernel.cu", "kernel"), blob("mok_plan.h", ""), blob("mok_layout.h", "")};
  const mok_target planned = {.name = "sm_999a", .templates = NULL, .status = "planned"};
  const mok_jit_options options = {.target = &planned};
  mok_assert_error(mok_jit_compile(arena, &sources, &options, &image), MOK_ERR_NO_PLAN, "not in this version");
  const mok_jit_options ptx_of_host = {.target = mok_target_find("host"), .want_ptx = true};
  mok_assert_error(mok_jit_compile(arena, &sources, &ptx_of_host, &image), MOK_ERR_USAGE, "no PTX");
}
END_TEST

/* ------------------------------------------------------------------------------------------------ ptxas */

START_TEST(ptxas_report) {
  mok_image image = {0};
  static const char good[] =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'mok_forward' for 'sm_90a'\n"
      "ptxas info    : Function properties for mok_forward\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers, 48 bytes smem\n";
  ck_assert(mok_ptxas_resources(good, &image));
  ck_assert_int_eq(image.registers, 168);
  ck_assert_int_eq(image.shared_bytes, 48);
  ck_assert_int_eq(image.spill_bytes, 0);
  ck_assert_ptr_null(mok_ptxas_refusal(arena, good, &image));

  static const char spilled[] =
      "    112 bytes stack frame, 176 bytes spill stores, 988 bytes spill loads\n"
      "ptxas info    : Used 168 registers\n";
  ck_assert(mok_ptxas_resources(spilled, &image));
  ck_assert_int_eq(image.spill_bytes, 988);
  ck_assert_int_eq(image.stack_bytes, 112);
  ck_assert_ptr_nonnull(strstr(mok_ptxas_refusal(arena, spilled, &image), "988"));

  static const char framed[] =
      "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 20 registers\n";
  ck_assert(mok_ptxas_resources(framed, &image));
  ck_assert_ptr_nonnull(strstr(mok_ptxas_refusal(arena, framed, &image), "16 bytes"));

  ck_assert(mok_ptxas_resources(good, &image));
  ck_assert_ptr_nonnull(mok_ptxas_refusal(arena, "ptxas warning : (C7510) Potential Performance Loss\n", &image));
  ck_assert_ptr_nonnull(mok_ptxas_refusal(arena, "ptxas info : (C7508) setmaxnreg ignored\n", &image));
  ck_assert(!mok_ptxas_resources("", &image)); /* silence proves nothing */
}
END_TEST

int main(void) {
  Suite *suite = suite_create("jit");
  TCase *test = tcase_create("jit");
  tcase_add_checked_fixture(test, setup, teardown);
  tcase_set_timeout(test, 60);
  tcase_add_test(test, second_build_hits);
  tcase_add_test(test, other_input_misses);
  tcase_add_test(test, key_depends_on_each_field);
  tcase_add_test(test, damaged_entry_is_rebuilt);
  tcase_add_test(test, two_processes_race);
  tcase_add_test(test, unusable_folder_only_costs_time);
  tcase_add_test(test, folder_by_environment);
  tcase_add_test(test, least_recently_used_goes_first);
  tcase_add_test(test, clear_removes_entries_only);
  tcase_add_test(test, failure_keeps_the_source_and_is_not_cached);
  tcase_add_test(test, crash_of_the_compiler);
  tcase_add_test(test, crash_in_a_child);
  tcase_add_test(test, interrupt_ends_a_compilation);
  tcase_add_test(test, no_cxx_compiler);
  tcase_add_test(test, no_nvrtc);
  tcase_add_test(test, nvrtc_places);
  tcase_add_test(test, target_without_templates);
  tcase_add_test(test, ptxas_report);
  suite_add_tcase(suite, test);
  return mok_suite_main(suite);
}
