/* mokgen: the tool. Parses the command line, runs one command, returns its exit code. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "commands.h"

static mok_status (*const commands[MOK_NUM_COMMANDS])(mok_session *session) = {
    [MOK_COMMAND_BUILD] = mok_cmd_build,     [MOK_COMMAND_EXPLAIN] = mok_cmd_explain, [MOK_COMMAND_RUN] = mok_cmd_run,
    [MOK_COMMAND_BENCH] = mok_cmd_bench,     [MOK_COMMAND_CHECK] = mok_cmd_check,     [MOK_COMMAND_CACHE] = mok_cmd_cache,
    [MOK_COMMAND_TARGETS] = mok_cmd_targets, [MOK_COMMAND_PRESETS] = mok_cmd_presets, [MOK_COMMAND_REFERENCE] = mok_cmd_reference,
};

/* A closed stream must not be handed out by the next open(): a package file would then take our messages. The stand-ins refuse
 * the operation the stream is for, so that a closed stdout is still an error. */
static int reserve_standard_streams(void) {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return -1;
  }
  return 0;
}

static mok_status run(mok_session *session, int argc, char **argv) {
  MOK_TRY(mok_options_parse(session->arena, argc, argv, &session->options));
  MOK_TRY(mok_session_configure(session));
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.help.given) {
    mok_options_help(&session->options, &text);
    return mok_session_print(&text);
  }
  if (session->options.version.given) {
    mok_buf_puts(&text, "mokgen " MOKGEN_VERSION "\n");
    return mok_session_print(&text);
  }
  return commands[session->options.command](session);
}

int main(int argc, char **argv) {
  if (reserve_standard_streams() != 0) return MOK_ERR_IO;
  signal(SIGPIPE, SIG_IGN); /* a reader that goes away is a failed write, handled where it happens */
  signal(SIGXFSZ, SIG_IGN); /* so is a file above the limit */
  mok_interrupt_install();
  mok_session session;
  mok_session_init(&session);
  const int code = mok_session_finish(&session, run(&session, argc, argv));
  mok_session_deinit(&session);
  return code;
}
