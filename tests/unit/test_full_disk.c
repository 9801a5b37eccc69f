/* A real full file system: a small tmpfs in a private mount namespace. Skipped, with the reason, where mounting is not permitted.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "../support/support.h"

#define MARKER "manifest.txt"

static const char *disk; /* 64 KiB */

static const mok_blob small[] = {{MARKER, "mok-package 1\n", 14}};

START_TEST(file_on_a_full_disk) {
  static char big[1 << 20];
  mok_arena *arena = mok_arena_create();
  mok_assert_error(mok_file_write(mok_path_join(arena, disk, "big"), big, sizeof big), MOK_ERR_IO, "No space left");
  ck_assert_int_eq(mok_test_entries(disk), 0);
  mok_arena_destroy(arena);
}
END_TEST

START_TEST(folder_on_a_full_disk_keeps_the_old_one) {
  static char big[1 << 20];
  const mok_blob files[] = {small[0], {"forward.cubin", big, sizeof big}};
  mok_arena *arena = mok_arena_create();
  const char *path = mok_path_join(arena, disk, "p.mok");
  mok_assert_error(mok_folder_write(path, files, 2, MARKER), MOK_ERR_IO, "p.mok/forward.cubin: No space left");
  ck_assert_int_eq(mok_test_entries(disk), 0);
  mok_assert_ok(mok_folder_write(path, small, 1, MARKER));
  mok_assert_error(mok_folder_write(path, files, 2, MARKER), MOK_ERR_IO, "No space left");
  ck_assert_int_eq(mok_test_entries(disk), 1);
  ck_assert_int_eq(mok_test_entries(path), 1);
  mok_assert_ok(mok_folder_remove_all(path));
  mok_arena_destroy(arena);
}
END_TEST

static int make_disk(void) {
  /* Root needs no user namespace; others do, and lose only their own id in it. */
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return -1;
  return mount("tmpfs", disk, "tmpfs", 0, "size=64k");
}

int main(void) {
  disk = mok_test_folder();
  if (make_disk() != 0) {
    printf("skipped: a tmpfs cannot be mounted here: %s\n", strerror(errno));
    return MOK_TEST_SKIPPED;
  }
  Suite *suite = suite_create("full_disk");
  TCase *tests = tcase_create("full_disk");
  tcase_add_test(tests, file_on_a_full_disk);
  tcase_add_test(tests, folder_on_a_full_disk_keeps_the_old_one);
  suite_add_tcase(suite, tests);
  int result = mok_suite_main(suite);
  umount(disk);
  return result;
}
