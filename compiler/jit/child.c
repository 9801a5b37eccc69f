#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/base/file.h"

extern char **environ;

enum { POLL_MS = 50 }; /* how late an interrupt that arrives just before poll() is noticed */

static void reap(pid_t pid, mok_child_end *end) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      *end = (mok_child_end){.exited = true, .number = 127};
      return;
    }
  }
  end->exited = WIFEXITED(status);
  end->number = end->exited ? WEXITSTATUS(status) : WTERMSIG(status);
}

/* Reads fd to its end and reaps pid. Closes fd. On trouble kills `victim`: the child, or minus its process group. */
static mok_status collect(pid_t pid, pid_t victim, int fd, mok_buf *out, mok_child_end *end) {
  mok_status status = MOK_OK;
  mok_interrupt_ends(victim);
  for (;;) {
    status = mok_interrupt_check();
    if (status) break;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    const int ready = poll(&wait, 1, POLL_MS);
    if (ready < 0 && errno != EINTR) {
      status = MOK_ERROR(MOK_ERR_IO, "cannot wait for a child process: %s", strerror(errno));
      break;
    }
    if (ready <= 0) continue;
    char bytes[16384];
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got == 0) break;
    if (got > 0) mok_buf_write(out, bytes, (size_t)got);
    if (got < 0 && errno != EINTR) {
      status = MOK_ERROR(MOK_ERR_IO, "cannot read from a child process: %s", strerror(errno));
      break;
    }
  }
  close(fd);
  if (status) kill(victim, SIGKILL);
  mok_interrupt_ends(0); /* the number may become another process's */
  reap(pid, end);
  if (!status) status = mok_interrupt_check(); /* the terminal's Ctrl-C reaches the child too */
  return status;
}

mok_status mok_child_run(void (*work)(void *user, int fd), void *user, mok_buf *out, mok_child_end *end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return MOK_ERROR(MOK_ERR_IO, "cannot make a pipe: %s", strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    return MOK_ERROR(MOK_ERR_IO, "cannot start a child process: %s", strerror(reason));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    close(ends[0]);
    work(user, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return collect(pid, pid, ends[0], out, end);
}

void mok_child_write(int fd, const void *data, size_t size) {
  const char *at = data;
  while (size > 0) {
    const ssize_t put = write(fd, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) _exit(126); /* the parent is gone */
    at += put;
    size -= (size_t)put;
  }
}

/* Variables by which a C++ compiler finds other headers, libraries or parts of itself, or changes its own flags or what it says.
 * None of them is in the cache's key, so none may reach it. */
static const char *const hidden_variables[] = {
    "TMPDIR",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "LIBRARY_PATH",
    "LD_RUN_PATH",
    "LDEMULATION",
    "GNUTARGET",
    "GCC_COMPARE_DEBUG",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    "CCC_OVERRIDE_OPTIONS",
    "CCC_ADD_ARGS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
};

static bool is_hidden(const char *entry) {
  const size_t size = strcspn(entry, "=");
  for (size_t i = 0; i < sizeof hidden_variables / sizeof hidden_variables[0]; i++)
    if (strncmp(entry, hidden_variables[i], size) == 0 && hidden_variables[i][size] == '\0') return true;
  return false;
}

/* Our environment without those, and with the folder as TMPDIR: a compiler that is killed leaves its temporaries behind. */
static char **environment_in(mok_arena *arena, const char *folder) {
  size_t count = 0;
  while (environ[count]) count++;
  char **copy = MOK_NEW_ARRAY(arena, count + 3, char *);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (!is_hidden(environ[i])) copy[kept++] = environ[i];
  copy[kept++] = mok_arena_strdup(arena, "LC_ALL=C");
  if (folder) copy[kept++] = mok_arena_printf(arena, "TMPDIR=%s", folder[0] == '/' ? folder : "."); /* the child is there */
  copy[kept] = NULL;
  return copy;
}

mok_status mok_child_exec(const char *const *argv, const char *folder, mok_buf *out, mok_child_end *end) {
  char **environment = environment_in(out->arena, folder);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return MOK_ERROR(MOK_ERR_IO, "cannot make a pipe: %s", strerror(errno));

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  /* Its own process group: a killed compiler driver takes the passes it started with it. */
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t ours; /* ignored by the tool; programs of a pipe count on it */
  sigemptyset(&ours);
  sigaddset(&ours, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &ours);

  pid_t pid = 0;
  const int failure = posix_spawn(&pid, argv[0], &actions, &attributes, (char *const *)argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (failure) {
    close(ends[0]);
    return MOK_ERROR(MOK_ERR_IO, "cannot run %s: %s", argv[0], strerror(failure));
  }
  return collect(pid, -pid, ends[0], out, end);
}
