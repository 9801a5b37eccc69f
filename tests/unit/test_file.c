/* runtime/base: files and folders that appear whole or not at all, and what an interrupt leaves behind (nothing). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "../../runtime/base/temp.h"
#include "../support/support.h"

#define MARKER "manifest.txt"

static const mok_blob package[] = {{MARKER, "mok-package 1\n", 14}, {"plan.txt", "tile_m 128\n", 11}};

static void assert_text(const char *path, const char *expected) {
  char *text = mok_test_read(path);
  ck_assert_str_eq(text, expected);
  free(text);
}

START_TEST(file_is_written_and_read_back) {
  mok_arena *arena = mok_arena_create();
  const char *path = mok_test_path("a.txt");
  mok_assert_ok(mok_file_write(path, "one\0two", 7));
  mok_blob blob;
  mok_assert_ok(mok_file_read(arena, path, 7, &blob));
  ck_assert_str_eq(blob.name, "a.txt");
  ck_assert_uint_eq(blob.size, 7);
  ck_assert_mem_eq(blob.data, "one\0two", 8); /* with the NUL */
  mok_assert_error(mok_file_read(arena, path, 6, &blob), MOK_ERR_IO, "larger than 6 bytes");
  mok_assert_ok(mok_file_write(path, "", 0));
  assert_text(path, "");
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(a_large_file_is_read_whole) {
  mok_arena *arena = mok_arena_create();
  enum { SIZE = 3 << 20 };
  char *data = mok_arena_alloc(arena, SIZE);
  for (int i = 0; i < SIZE; i++) data[i] = (char)(i * 7 + i / 251);
  const char *path = mok_test_path("large");
  mok_assert_ok(mok_file_write(path, data, SIZE));
  mok_blob blob;
  mok_assert_ok(mok_file_read(arena, path, SIZE, &blob));
  ck_assert_uint_eq(blob.size, SIZE);
  ck_assert(memcmp(blob.data, data, SIZE) == 0);
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(unreadable_files_say_why) {
  mok_arena *arena = mok_arena_create();
  mok_blob blob;
  mok_assert_error(mok_file_read(arena, mok_test_path("none"), 10, &blob), MOK_ERR_IO, "No such file");
  mok_assert_error(mok_file_read(arena, mok_test_folder(), 10, &blob), MOK_ERR_IO, "it is a folder");
  mok_assert_error(mok_file_read(arena, "/dev/zero", 10, &blob), MOK_ERR_IO, "larger than 10 bytes");
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(write_replaces_keeps_mode_and_follows_links) {
  const char *path = mok_test_path("a"), *link = mok_test_path("link");
  mok_test_write(path, "old");
  ck_assert_int_eq(chmod(path, 0640), 0);
  ck_assert_int_eq(symlink("a", link), 0);
  mok_assert_ok(mok_file_write(link, "new", 3));
  struct stat info;
  ck_assert_int_eq(lstat(link, &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  ck_assert_int_eq(stat(path, &info), 0);
  ck_assert_uint_eq(info.st_mode & 0777, 0640);
  assert_text(path, "new");
}
END_TEST

START_TEST(unwritable_files_say_why) {
  const char *file = mok_test_path("file");
  mok_test_write(file, "x");
  char below[600];
  snprintf(below, sizeof below, "%s/below", file);
  mok_assert_error(mok_file_write(below, "x", 1), MOK_ERR_IO, "Not a directory");
  mok_assert_error(mok_file_write(mok_test_path("none/below"), "x", 1), MOK_ERR_IO, "No such file");
  mok_assert_error(mok_file_write(mok_test_folder(), "x", 1), MOK_ERR_IO, "it is a folder");
  mok_assert_error(mok_file_write("/proc/mokgen-test", "x", 1), MOK_ERR_IO, "cannot write /proc/mokgen-test");
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
}
END_TEST

START_TEST(a_full_device_is_an_error_and_stays_a_device) {
  if (access("/dev/full", W_OK) != 0) return;
  mok_assert_error(mok_file_write("/dev/full", "x", 1), MOK_ERR_IO, "No space left");
  mok_assert_ok(mok_file_write("/dev/null", "x", 1));
  struct stat info;
  ck_assert_int_eq(stat("/dev/null", &info), 0);
  ck_assert(S_ISCHR(info.st_mode));
}
END_TEST

START_TEST(a_write_cut_short_leaves_nothing) {
  const char *path = mok_test_path("a"), *folder = mok_test_path("p.mok");
  mok_test_write(path, "old");
  static char big[65536];
  const mok_blob files[] = {package[0], {"big", big, sizeof big}};
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit saved, small = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &saved);
  small.rlim_max = saved.rlim_max;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  mok_status file_status = mok_file_write(path, big, sizeof big);
  mok_status folder_status = mok_folder_write(folder, files, 2, MARKER);
  setrlimit(RLIMIT_FSIZE, &saved);
  mok_assert_error(file_status, MOK_ERR_IO, "File too large");
  mok_assert_error(folder_status, MOK_ERR_IO, "p.mok/big: File too large");
  assert_text(path, "old");
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
}
END_TEST

START_TEST(folder_is_written) {
  const char *path = mok_test_path("p.mok");
  mok_assert_ok(mok_folder_write(path, package, 2, MARKER));
  assert_text(mok_test_path("p.mok/manifest.txt"), "mok-package 1\n");
  assert_text(mok_test_path("p.mok/plan.txt"), "tile_m 128\n");
  ck_assert_int_eq(mok_test_entries(path), 2);
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
}
END_TEST

static void replace_own_folder(void) {
  const char *path = mok_test_path("p.mok/");
  static const char listing[] = "mok-package 1\nfile plan.txt 11 0\nfile stale.txt 1 0\n";
  const mok_blob old[] = {{MARKER, listing, sizeof listing - 1}, {"stale.txt", "x", 1}};
  mok_assert_ok(mok_folder_write(path, old, 2, MARKER));
  mok_assert_ok(mok_folder_write(path, package, 2, MARKER));
  ck_assert(!mok_file_exists(mok_test_path("p.mok/stale.txt")));
  ck_assert(mok_file_exists(mok_test_path("p.mok/plan.txt")));
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
}

START_TEST(own_folder_is_replaced) { replace_own_folder(); }
END_TEST

START_TEST(a_link_to_the_own_folder_stays_a_link) {
  const char *path = mok_test_path("real.mok"), *link = mok_test_path("link.mok");
  mok_assert_ok(mok_folder_write(path, package, 1, MARKER));
  ck_assert_int_eq(symlink("real.mok", link), 0);
  mok_assert_ok(mok_folder_write(link, package, 2, MARKER));
  struct stat info;
  ck_assert_int_eq(lstat(link, &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  ck_assert_int_eq(mok_test_entries(path), 2);
}
END_TEST

START_TEST(foreign_things_are_left_untouched) {
  const char *path = mok_test_path("theirs");
  ck_assert_int_eq(mkdir(path, 0755), 0);
  mok_assert_error(mok_folder_write(path, package, 2, MARKER), MOK_ERR_IO, "holds no manifest.txt"); /* empty */
  mok_test_write(mok_test_path("theirs/thesis.tex"), "x");
  mok_assert_error(mok_folder_write(path, package, 2, MARKER), MOK_ERR_IO, "holds no manifest.txt");
  /* A folder that happens to have a file of that name. */
  static const char *const others[] = {"x", "", "mok-packages 1\nfile thesis.tex\n", "mok-packag"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    mok_test_write(mok_test_path("theirs/manifest.txt"), others[i]);
    mok_assert_error(mok_folder_write(path, package, 2, MARKER), MOK_ERR_IO, "holds no manifest.txt");
    mok_assert_error(mok_folder_write(path, package + 1, 1, MARKER), MOK_ERR_IO, "holds no manifest.txt");
    assert_text(mok_test_path("theirs/thesis.tex"), "x");
  }
  /* What somebody put into a package, a file or a folder. */
  mok_test_write(mok_test_path("theirs/manifest.txt"), "mok-package 1\nfile thesis.te\nfile thesis.text\n");
  mok_assert_error(mok_folder_write(path, package, 2, MARKER), MOK_ERR_IO, "holds thesis.tex, which mokgen did not make");
  mok_test_write(mok_test_path("theirs/manifest.txt"), "mok-package 1\nfile src 1 0\nfile thesis.tex");
  ck_assert_int_eq(mkdir(mok_test_path("theirs/src"), 0755), 0);
  mok_assert_error(mok_folder_write(path, package, 2, MARKER), MOK_ERR_IO, "holds src, which mokgen did not make");
  ck_assert_int_eq(mok_test_entries(path), 3);
  /* The marker must be a regular file. */
  const char *odd = mok_test_path("odd");
  ck_assert_int_eq(mkdir(odd, 0755), 0);
  ck_assert_int_eq(mkdir(mok_test_path("odd/manifest.txt"), 0755), 0);
  mok_assert_error(mok_folder_write(odd, package, 2, MARKER), MOK_ERR_IO, "holds no manifest.txt");
  ck_assert_int_eq(symlink("nowhere", mok_test_path("lost")), 0);
  mok_assert_error(mok_folder_write(mok_test_path("lost"), package, 2, MARKER), MOK_ERR_IO,
                   "exists and cannot be read (No such file or directory): left untouched");
  const char *file = mok_test_path("file");
  mok_test_write(file, "x");
  mok_assert_error(mok_folder_write(file, package, 2, MARKER), MOK_ERR_IO, "is not a folder");
  assert_text(file, "x");
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 4);
}
END_TEST

/* Those that find nothing there and those that find a package, at the same time. */
static void write_one_folder_at_once(void) {
  enum { PROCESSES = 6, ROUNDS = 20 };
  const char *path = mok_test_path("p.mok");
  static const char listing[] = "mok-package 1\nfile plan.txt 11 0\n";
  const mok_blob files[] = {{MARKER, listing, sizeof listing - 1}, package[1]};
  for (int round = 0; round < ROUNDS; round++) {
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
      children[i] = fork();
      ck_assert_int_ge(children[i], 0);
      if (children[i] == 0) {
        mok_status status = mok_folder_write(path, files, 2, MARKER);
        if (status) fprintf(stderr, "%s\n", mok_status_text(status));
        _exit(status ? 1 : 0);
      }
    }
    for (int i = 0; i < PROCESSES; i++) {
      int status = 0;
      ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
      ck_assert(WIFEXITED(status));
      ck_assert_int_eq(WEXITSTATUS(status), 0);
    }
    ck_assert_int_eq(mok_test_entries(path), 2);
    ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
    mok_assert_ok(mok_folder_remove_all(path));
  }
}

START_TEST(processes_that_write_one_folder_all_succeed) { write_one_folder_at_once(); }
END_TEST

/* The file system of this process cannot exchange two names, as over a network or in some containers. */
static bool no_exchange;
int renameat2(int old_folder, const char *old, int new_folder, const char *new, unsigned flags) {
  if (!no_exchange) return (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
  errno = EINVAL;
  return -1;
}

START_TEST(own_folder_is_replaced_without_exchange) {
  no_exchange = true;
  replace_own_folder();
  mok_assert_ok(mok_folder_remove_all(mok_test_path("p.mok")));
  write_one_folder_at_once();
  no_exchange = false;
}
END_TEST

START_TEST(unwritable_folders_say_why) {
  mok_test_write(mok_test_path("file"), "x");
  mok_assert_error(mok_folder_write(mok_test_path("file/p.mok"), package, 2, MARKER), MOK_ERR_IO, "Not a directory");
  mok_assert_error(mok_folder_write(mok_test_path("none/p.mok"), package, 2, MARKER), MOK_ERR_IO, "No such file");
  mok_assert_error(mok_folder_write("/proc/p.mok", package, 2, MARKER), MOK_ERR_IO, "cannot write /proc/p.mok");
  mok_assert_error(mok_folder_write("", package, 2, MARKER), MOK_ERR_IO, "empty");
  static char endless[5000];
  memset(endless, 'x', sizeof endless - 1);
  mok_assert_error(mok_folder_write(endless, package, 2, MARKER), MOK_ERR_IO, "path too long");
  const mok_blob outside[] = {{"../escape", "x", 1}};
  mok_assert_error(mok_folder_write(mok_test_path("p.mok"), outside, 1, MARKER), MOK_ERR_IO, "not a plain file name");
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
}
END_TEST

START_TEST(relative_and_nested_paths) {
  ck_assert_int_eq(chdir(mok_test_folder()), 0);
  mok_assert_ok(mok_folder_write("p.mok", package, 2, MARKER));
  mok_assert_ok(mok_file_write("p.txt", "x", 1));
  mok_assert_ok(mok_folder_create_all("a/b//c/"));
  ck_assert(mok_folder_exists("a/b/c"));
  mok_assert_ok(mok_folder_create_all("a/b/c"));
  mok_assert_error(mok_folder_create_all("p.txt/d"), MOK_ERR_IO, "cannot create folder p.txt");
  mok_test_write("a/b/c/file", "x");
  ck_assert_int_eq(symlink("../../p.mok", "a/b/link"), 0);
  mok_assert_ok(mok_folder_remove_all("a"));
  ck_assert(!mok_folder_exists("a"));
  ck_assert_int_eq(mok_test_entries("p.mok"), 2); /* the link was not followed */
  mok_assert_ok(mok_folder_remove_all("a"));
  ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(paths) {
  mok_arena *arena = mok_arena_create();
  ck_assert_str_eq(mok_path_join(arena, "a", "b"), "a/b");
  ck_assert_str_eq(mok_path_join(arena, "a/", "b"), "a/b");
  ck_assert_str_eq(mok_path_join(arena, "", "b"), "b");
  ck_assert_str_eq(mok_path_base("a/b.lua"), "b.lua");
  ck_assert_str_eq(mok_path_base("b.lua"), "b.lua");
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(temporary_folder_comes_and_goes) {
  mok_arena *arena = mok_arena_create();
  const char *path, *other;
  mok_assert_ok(mok_temp_folder_create(arena, mok_test_folder(), &path));
  mok_assert_ok(mok_temp_folder_create(arena, mok_test_folder(), &other));
  ck_assert_str_ne(path, other);
  mok_test_write(mok_path_join(arena, path, "kernel.cu"), "x");
  mok_temp_folder_remove(path);
  mok_temp_folder_remove(other);
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 0);
  mok_assert_error(mok_temp_folder_create(arena, mok_test_path("none"), &path), MOK_ERR_IO, "cannot create a folder");
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(checks_foresee_what_writing_will_say) {
  const char *here = mok_test_folder();
  mok_test_write(mok_test_path("file"), "x");
  mok_assert_ok(mok_folder_create_all(mok_test_path("foreign")));
  ck_assert_int_eq(symlink("file", mok_test_path("link")), 0);
  mok_assert_ok(mok_folder_write(mok_test_path("p.mok"), package, 1, MARKER));
  const int before = mok_test_entries(here);
  static const char *const fine[] = {"new", "p.mok", "p.mok/", "new/"};
  for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++)
    mok_assert_ok(mok_folder_check(mok_test_path(fine[i]), MARKER, "mok-package"));
  static const struct {
    const char *path, *said;
  } wrong[] = {
      {"foreign", "did not make it"},
      {"file", "not a folder"},
      {"none/p.mok", "No such file"},
      {"file/p.mok", "Not a directory"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    mok_assert_error(mok_folder_check(mok_test_path(wrong[i].path), MARKER, "mok-package"), MOK_ERR_IO, wrong[i].said);
    mok_assert_error(mok_folder_write(mok_test_path(wrong[i].path), package, 2, MARKER), MOK_ERR_IO, wrong[i].said);
  }
  mok_assert_error(mok_folder_check(mok_test_path("p.mok"), MARKER, "mokgen-run"), MOK_ERR_IO, "did not make it");
  mok_assert_error(mok_folder_check("/proc/p.mok", MARKER, "mok-package"), MOK_ERR_IO, "cannot write /proc/p.mok");
  mok_assert_error(mok_folder_check("", MARKER, "mok-package"), MOK_ERR_IO, "empty");

  mok_assert_ok(mok_file_check("-"));
  mok_assert_ok(mok_file_check("/dev/full"));
  mok_assert_ok(mok_file_check(mok_test_path("new")));
  mok_assert_ok(mok_file_check(mok_test_path("link")));
  mok_assert_error(mok_file_check(mok_test_path("new/")), MOK_ERR_IO, "no such folder");
  mok_assert_error(mok_file_check(mok_test_path("foreign")), MOK_ERR_IO, "it is a folder");
  mok_assert_error(mok_file_check(mok_test_path("none/file")), MOK_ERR_IO, "No such file");
  mok_assert_error(mok_file_check(mok_test_path("file/file")), MOK_ERR_IO, "Not a directory");
  mok_assert_error(mok_file_check("/proc/file"), MOK_ERR_IO, "cannot write /proc/file");
  mok_assert_error(mok_file_check(""), MOK_ERR_IO, "empty");
  mok_assert_error(mok_file_write("", "x", 1), MOK_ERR_IO, "empty");
  ck_assert_int_eq(mok_test_entries(here), before); /* a check leaves nothing */
}
END_TEST

/* Forks a process that makes a temporary folder with a file in it and then does what `act` says; returns how it ended. */
static int child_with_temporaries(void (*act)(void)) {
  const char *parent = mok_test_folder();
  fflush(NULL);
  pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0) {
    mok_arena *arena = mok_arena_create();
    const char *path = NULL, *inner = NULL, *later = NULL;
    char first[MOK_TEMP_PATH];
    mok_interrupt_install();
    mok_status_free(mok_temp_register(parent, first));
    mok_status_free(mok_temp_folder_create(arena, parent, &path));
    if (!path) _exit(99);
    mok_status_free(mok_temp_folder_create(arena, path, &later));
    mok_temp_forget(first);
    mok_status_free(mok_temp_folder_create(arena, path, &inner)); /* in a slot before that of the folder it is in */
    if (!inner || !later) _exit(99);
    int fd = open(mok_path_join(arena, inner, "half"), O_CREAT | O_WRONLY, 0600);
    if (fd < 0) _exit(99);
    close(fd);
    act();
    _exit(98);
  }
  int how;
  ck_assert_int_eq(waitpid(pid, &how, 0), pid);
  ck_assert(WIFEXITED(how));
  return WEXITSTATUS(how);
}

static void two_signals(void) {
  raise(SIGINT);
  if (!mok_interrupt_pending()) _exit(97);
  mok_status status = mok_interrupt_check();
  if (mok_status_exit_code(status) != 130) _exit(96);
  mok_status_free(status);
  raise(SIGTERM);
}

START_TEST(a_second_signal_ends_at_once_and_leaves_nothing) {
  ck_assert_int_eq(child_with_temporaries(two_signals), 130);
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 0);
}
END_TEST

static void out_of_memory(void) {
  mok_arena *arena = mok_arena_create();
  mok_arena_set_limit(arena, 16);
  mok_arena_alloc(arena, 32);
}

START_TEST(exit_leaves_nothing) {
  ck_assert_int_eq(child_with_temporaries(out_of_memory), 8);
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 0);
}
END_TEST

static void fork_and_exit(void) {
  pid_t pid = fork();
  if (pid == 0) exit(0); /* a helper's exit must not take the parent's temporaries along */
  waitpid(pid, NULL, 0);
  _exit(42);
}

START_TEST(a_forked_child_leaves_the_parents_temporaries) {
  ck_assert_int_eq(child_with_temporaries(fork_and_exit), 42);
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 1);
}
END_TEST

START_TEST(an_interrupt_during_a_write_leaves_nothing) {
  mok_interrupt_install();
  raise(SIGINT);
  mok_assert_error(mok_folder_write(mok_test_path("p.mok"), package, 2, MARKER), MOK_ERR_INTERRUPTED, "interrupted");
  mok_assert_error(mok_file_write(mok_test_path("a"), "x", 1), MOK_ERR_INTERRUPTED, "interrupted");
  ck_assert_int_eq(mok_test_entries(mok_test_folder()), 0);
}
END_TEST

START_TEST(ignored_signals_stay_ignored) {
  signal(SIGHUP, SIG_IGN);
  mok_interrupt_install();
  raise(SIGHUP);
  ck_assert(!mok_interrupt_pending());
}
END_TEST

int main(void) {
  Suite *suite = suite_create("file");
  TCase *files = tcase_create("files");
  tcase_add_test(files, file_is_written_and_read_back);
  tcase_add_test(files, a_large_file_is_read_whole);
  tcase_add_test(files, unreadable_files_say_why);
  tcase_add_test(files, write_replaces_keeps_mode_and_follows_links);
  tcase_add_test(files, unwritable_files_say_why);
  tcase_add_test(files, a_full_device_is_an_error_and_stays_a_device);
  tcase_add_test(files, a_write_cut_short_leaves_nothing);
  tcase_add_test(files, paths);
  suite_add_tcase(suite, files);
  TCase *folders = tcase_create("folders");
  tcase_add_test(folders, folder_is_written);
  tcase_add_test(folders, own_folder_is_replaced);
  tcase_add_test(folders, a_link_to_the_own_folder_stays_a_link);
  tcase_add_test(folders, foreign_things_are_left_untouched);
  tcase_add_test(folders, processes_that_write_one_folder_all_succeed);
  tcase_add_test(folders, own_folder_is_replaced_without_exchange);
  tcase_add_test(folders, unwritable_folders_say_why);
  tcase_add_test(folders, relative_and_nested_paths);
  tcase_add_test(folders, checks_foresee_what_writing_will_say);
  tcase_add_test(folders, temporary_folder_comes_and_goes);
  suite_add_tcase(suite, folders);
  TCase *interrupts = tcase_create("interrupts");
  tcase_add_test(interrupts, a_second_signal_ends_at_once_and_leaves_nothing);
  tcase_add_test(interrupts, exit_leaves_nothing);
  tcase_add_test(interrupts, a_forked_child_leaves_the_parents_temporaries);
  tcase_add_test(interrupts, an_interrupt_during_a_write_leaves_nothing);
  tcase_add_test(interrupts, ignored_signals_stay_ignored);
  suite_add_tcase(suite, interrupts);
  return mok_suite_main(suite);
}
