#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../runtime/base/file.h"

void mok_session_init(mok_session *session) {
  memset(session, 0, sizeof *session);
  session->arena = mok_arena_create();
  session->diag = mok_diag_create(session->arena);
  session->terminal = isatty(STDERR_FILENO) == 1;
}

void mok_session_deinit(mok_session *session) {
  mok_arena_destroy(session->arena);
  memset(session, 0, sizeof *session);
}

mok_status mok_session_configure(mok_session *session) {
  const mok_options *options = &session->options;
  const char *when = options->color.given ? options->color.text : "auto";
  const char *no_color = getenv("NO_COLOR");
  const char *term = getenv("TERM");
  if (strcmp(when, "always") == 0) session->color = true;
  else if (strcmp(when, "never") == 0) session->color = false;
  else if (strcmp(when, "auto") == 0)
    session->color = session->terminal && !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0);
  else return MOK_ERROR(MOK_ERR_USAGE, "--color: '%s' is none of auto, always, never", when);
  if (options->quiet.given && options->verbose.given) return MOK_ERROR(MOK_ERR_USAGE, "--quiet and --verbose exclude each other");
  return MOK_OK;
}

static void talk(mok_session *session, const char *kind, const char *escape, const char *fmt, va_list args) {
  mok_session_progress(session, NULL);
  fprintf(stderr, "mokgen: %s%s%s", session->color ? escape : "", kind, session->color ? "\033[0m" : "");
  vfprintf(stderr, fmt, args);
  fputc('\n', stderr);
}

void mok_session_note(mok_session *session, const char *fmt, ...) {
  if (session->options.quiet.given) return;
  va_list args;
  va_start(args, fmt);
  talk(session, "note: ", "\033[1;36m", fmt, args);
  va_end(args);
}

void mok_session_remark(mok_session *session, const char *fmt, ...) {
  if (!session->options.verbose.given) return;
  va_list args;
  va_start(args, fmt);
  talk(session, "", "", fmt, args);
  va_end(args);
}

static void talk_line(mok_session *session, const char *kind, const char *escape, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  talk(session, kind, escape, fmt, args);
  va_end(args);
}

void mok_session_warn(mok_session *session, const char *text) {
  if (!session->options.quiet.given) talk_line(session, "warning: ", "\033[1;35m", "%s", text);
}

void mok_session_progress(mok_session *session, const char *what) {
  if (!session->terminal || session->options.quiet.given) return;
  if (session->progress_shown) fputs("\r\033[K", stderr);
  session->progress_shown = what != NULL;
  if (what) fprintf(stderr, "%s ...", what);
  fflush(stderr);
}

int mok_session_finish(mok_session *session, mok_status status) {
  mok_session_progress(session, NULL);
  if (!session->options.quiet.given || mok_diag_errors(session->diag) > 0) mok_diag_print(session->diag, stderr, session->color);
  if (status && !mok_status_is_reported(status)) {
    talk_line(session, "error: ", "\033[1;31m", "%s", mok_status_text(status));
    mok_session_remark(session, "raised at %s", mok_status_place(status));
  }
  const int code = mok_status_exit_code(status);
  mok_status_free(status);
  return code;
}

static mok_status write_stdout(const char *data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, data, size);
    if (written < 0 && errno == EINTR) {
      MOK_TRY(mok_interrupt_check());
      continue;
    }
    if (written < 0) {
      const int reason = errno;
      mok_status status = MOK_ERROR(MOK_ERR_IO, "cannot write to stdout: %s", strerror(reason));
      return reason == EPIPE ? mok_status_mark_reported(status) : status;
    }
    data += written;
    size -= (size_t)written;
  }
  return MOK_OK;
}

mok_status mok_session_write(const char *path, const void *data, size_t size) {
  if (strcmp(path, "-") == 0) return write_stdout(data, size);
  return mok_file_write(path, data, size);
}

mok_status mok_session_print(const mok_buf *text) { return write_stdout(text->data, text->size); }

int64_t mok_session_clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
