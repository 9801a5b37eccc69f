/* Work in a child process: a crash or a hang of a compiler is then an error of ours to report, and Ctrl-C ends it at once. */
#ifndef MOK_JIT_CHILD_H
#define MOK_JIT_CHILD_H

#include <stdbool.h>

#include "../../runtime/base/buf.h"
#include "../../runtime/base/status.h"

typedef struct mok_child_end {
  bool exited; /* false: ended by `number`, a signal */
  int number;  /* exit status or signal */
} mok_child_end;

/* Runs work(user, fd) in a forked child; what it writes to fd is appended to `out`. The child ends with 0 when `work` returns. */
MOK_MUST_USE mok_status mok_child_run(void (*work)(void *user, int fd), void *user, mok_buf *out, mok_child_end *end);

/* Runs the program argv[0] (a path, no search), stdin empty; stdout and stderr are appended to `out`. It works in `folder` and
 * has its temporaries there; NULL: here. Of our environment it does not see what changes a compiler's search paths, flags or
 * language (CPATH, GCC_EXEC_PREFIX, LANG, ...). */
MOK_MUST_USE mok_status mok_child_exec(const char *const *argv, const char *folder, mok_buf *out, mok_child_end *end);

/* Writes all of it to a pipe of mok_child_run; for `work`. */
void mok_child_write(int fd, const void *data, size_t size);

#endif
