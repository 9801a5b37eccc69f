/* What the Check suites share. */
#ifndef MOK_TEST_SUPPORT_H
#define MOK_TEST_SUPPORT_H

#include <check.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../runtime/base/arena.h"
#include "../../runtime/base/status.h"

/* CTest shows a test that exits with this as skipped. */
enum { MOK_TEST_SKIPPED = 77 };

/* Runs the suite and frees it: exit code of main. A suite in which no check ran fails. */
int mok_suite_main(Suite *suite);

/* Status assertions; both free the status. */
void mok_assert_ok_(mok_status status, const char *file, int line);
void mok_assert_error_(mok_status status, mok_code code, const char *part, const char *file, int line);
#define mok_assert_ok(status) mok_assert_ok_((status), __FILE__, __LINE__)
/* `part` must occur in the text. */
#define mok_assert_error(status, code, part) mok_assert_error_((status), (code), (part), __FILE__, __LINE__)

/* An empty private folder, removed at the end of the process that asked for it (with CK_FORK=no: of the suite). */
const char *mok_test_folder(void);
/* "<test folder>/name"; valid until the 16th later call. */
const char *mok_test_path(const char *name);
void mok_test_write(const char *path, const char *text);
/* Text of a file; malloc'ed. Fails the test if it cannot be read. */
char *mok_test_read(const char *path);
int mok_test_entries(const char *folder); /* names in it, without . and .. */

/* Runs body(arena, user) with ever larger limits on the arena until it succeeds. Returns in how many runs memory ran out; fails
 * the test if the body cannot be satisfied. `settled` (may be NULL) is called after each run that was cut short. */
int mok_test_failing_allocator(void (*body)(mok_arena *arena, void *user), void (*settled)(void *user), void *user);

#endif
