/* Services of one invocation of the tool: memory, diagnostics, the two streams. stdout is data, stderr is talk. */
#ifndef MOK_DRIVER_SESSION_H
#define MOK_DRIVER_SESSION_H

#include "../../runtime/base/arena.h"
#include "../../runtime/base/buf.h"
#include "../../runtime/base/status.h"
#include "../diag/diag.h"
#include "options.h"

typedef struct mok_session {
  mok_arena *arena; /* owned */
  mok_diag *diag;   /* in the arena */
  mok_options options;
  bool color;    /* of stderr */
  bool terminal; /* stderr is one: progress may be shown */
  bool progress_shown;
} mok_session;

void mok_session_init(mok_session *session);
void mok_session_deinit(mok_session *session); /* accepts a zeroed session */

/* Applies the flags that every command has; call once after parsing. */
MOK_MUST_USE mok_status mok_session_configure(mok_session *session);

/* One line on stderr: a note unless -q, a remark only with -v. */
void mok_session_note(mok_session *session, const char *fmt, ...) MOK_PRINTF(2, 3);
void mok_session_remark(mok_session *session, const char *fmt, ...) MOK_PRINTF(2, 3);
void mok_session_warn(mok_session *session, const char *text);

/* Shows what is being done until the next line, on a terminal only; NULL clears it. */
void mok_session_progress(mok_session *session, const char *what);

/* Prints pending diagnostics, then the status unless it was reported, and frees it. Returns the exit code. */
int mok_session_finish(mok_session *session, mok_status status);

/* Data to `path` ("-": stdout). A failed write is MOK_ERR_IO; one because the reader went away is marked as reported. */
MOK_MUST_USE mok_status mok_session_write(const char *path, const void *data, size_t size);
MOK_MUST_USE mok_status mok_session_print(const mok_buf *text); /* stdout */

/* Microseconds of a clock that only goes forward. For -v, time limits and time_us; never in an artefact. */
int64_t mok_session_clock_us(void);

#endif
