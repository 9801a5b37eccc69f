#include "support.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/base/file.h"

int mok_suite_main(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  if (run == 0) fprintf(stderr, "no check ran\n");
  return run > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void mok_assert_ok_(mok_status status, const char *file, int line) {
  if (status) ck_abort_msg("%s:%d: unexpected error %d: %s", file, line, mok_status_exit_code(status), mok_status_text(status));
  mark_point();
}

void mok_assert_error_(mok_status status, mok_code code, const char *part, const char *file, int line) {
  if (mok_status_exit_code(status) != (int)code || !strstr(mok_status_text(status), part)) {
    ck_abort_msg("%s:%d: expected error %d with '%s', got %d: %s", file, line, (int)code, part, mok_status_exit_code(status),
                 mok_status_text(status));
  }
  mok_status_free(status);
  mark_point();
}

static char folder[256];
static pid_t folder_owner;

static void remove_folder(void) {
  if (folder_owner == getpid()) mok_status_free(mok_folder_remove_all(folder));
}

const char *mok_test_folder(void) {
  if (folder_owner != getpid()) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/mok-test-XXXXXX", parent && parent[0] ? parent : "/tmp");
    if (!mkdtemp(folder)) {
      perror(folder);
      abort();
    }
    folder_owner = getpid();
    atexit(remove_folder);
  }
  return folder;
}

const char *mok_test_path(const char *name) {
  static char paths[16][512];
  static int next;
  char *path = paths[next++ % 16];
  snprintf(path, sizeof paths[0], "%s/%s", mok_test_folder(), name);
  return path;
}

void mok_test_write(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  ck_assert_msg(file != NULL, "cannot write %s", path);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
}

char *mok_test_read(const char *path) {
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "cannot read %s", path);
  enum { LIMIT = 1 << 20 };
  char *text = malloc(LIMIT);
  ck_assert_ptr_nonnull(text);
  size_t size = fread(text, 1, LIMIT - 1, file);
  text[size] = 0;
  fclose(file);
  return text;
}

int mok_test_entries(const char *path) {
  DIR *dir = opendir(path);
  ck_assert_msg(dir != NULL, "cannot list %s", path);
  int count = 0;
  const struct dirent *entry;
  while ((entry = readdir(dir))) count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(dir);
  return count;
}

static void jump(void *user, size_t bytes) {
  (void)bytes;
  longjmp(*(jmp_buf *)user, 1);
}

int mok_test_failing_allocator(void (*body)(mok_arena *arena, void *user), void (*settled)(void *user), void *user) {
  volatile int failures = 0;
  for (volatile size_t limit = 16; limit < SIZE_MAX / 2; limit += limit / 4 / 16 * 16 + 16) {
    mok_arena *volatile arena = mok_arena_create();
    jmp_buf out;
    mok_arena_set_oom_hook(arena, jump, &out);
    mok_arena_set_limit(arena, limit);
    volatile bool done = false;
    if (setjmp(out) == 0) {
      body(arena, user);
      done = true;
    } else {
      failures = failures + 1;
    }
    mok_arena_destroy(arena);
    if (done) return failures;
    if (settled) settled(user);
  }
  ck_abort_msg("memory never sufficed");
  return failures;
}
