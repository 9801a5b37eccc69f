/* A case of this folder is a description whose comments say what mokgen must print for it, to the letter:
 *
 *   -- option: -D table.key=value      any number of them
 *   -- exit: 1                         exit code; default 1
 *   --| bad.lua:4:3: error: ...        one a line, at the end of the file
 *
 * It must also end within the bounds below. `--update` rewrites the --| lines with what was printed. */
#include "error_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/base/buf.h"
#include "../../runtime/base/file.h"

/* Bounds on any description, CPU time so that a busy machine does not count. Sanitizers cost more of both. */
#if defined(MOK_TEST_SANITIZED)
enum { MAX_SECONDS = 20, MAX_KIB = 1 << 20 };
#else
enum { MAX_SECONDS = 2, MAX_KIB = 64 << 10 };
#endif

enum { MAX_OVERRIDES = 16 };

/* The child: reads the description and prints to `out` what the tool prints. */
static int read_description(const error_case *test, FILE *out) {
  const char *base = mok_path_base(test->path);
  mok_arena *arena = mok_arena_create();
  mok_diag *diag = mok_diag_create(arena);
  if (base != test->path && chdir(mok_arena_strndup(arena, test->path, (size_t)(base - test->path))) != 0) {
    fprintf(out, "cannot enter the folder of %s\n", test->path);
    return 99;
  }
  const mok_model *model;
  mok_status status = mok_frontend_read(arena, diag, base, test->overrides, test->override_count, &model);
  mok_diag_print(diag, out, false);
  if (status && !mok_status_is_reported(status)) fprintf(out, "mokgen: error: %s\n", mok_status_text(status));
  const int code = mok_status_exit_code(status);
  if ((code == 0) != (model != NULL)) fprintf(out, "status and model contradict each other\n");
  mok_status_free(status);
  mok_arena_destroy(arena);
  return code;
}

int error_case_run(mok_arena *arena, const error_case *test, const char **said) {
  int ends[2];
  *said = "";
  if (pipe(ends) != 0) return perror("pipe"), 1;
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) return perror("fork"), 1;
  if (child == 0) {
    close(ends[0]);
    FILE *out = fdopen(ends[1], "w");
    const int code = read_description(test, out);
    fclose(out);
    _exit(code);
  }
  close(ends[1]);
  mok_buf text = mok_buf_make(arena);
  char part[4096];
  for (ssize_t size; (size = read(ends[0], part, sizeof part)) > 0;) mok_buf_write(&text, part, (size_t)size);
  close(ends[0]);
  int state;
  struct rusage used;
  if (wait4(child, &state, 0, &used) != child) return perror("wait4"), 1;
  *said = text.data;

  int failures = 0;
  const size_t all = text.size, last = strlen(test->expected);
  if (strcmp(test->only_last && all > last ? text.data + all - last : text.data, test->expected) != 0) {
    printf("--- expected%s\n%s--- printed\n%s", test->only_last ? " at the end" : "", test->expected, text.data);
    failures++;
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != test->exit_code) {
    printf("exit code %d expected, wait status is %#x\n", test->exit_code, (unsigned)state);
    failures++;
  }
  const double seconds =
      (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  printf("%s: %.2f s of CPU time, %ld KiB\n", mok_path_base(test->path), seconds, used.ru_maxrss);
  if (seconds > MAX_SECONDS || used.ru_maxrss > MAX_KIB) {
    printf("more than %d s or %d KiB\n", MAX_SECONDS, MAX_KIB);
    failures++;
  }
  return failures != 0;
}

static bool case_of_file(mok_arena *arena, const char *path, error_case *test, mok_override overrides[MAX_OVERRIDES]) {
  mok_blob blob;
  mok_status status = mok_file_read(arena, path, MOK_LUA_SOURCE_LIMIT, &blob);
  if (status) {
    fprintf(stderr, "%s\n", mok_status_text(status));
    mok_status_free(status);
    return false;
  }
  mok_buf expected = mok_buf_make(arena);
  *test = (error_case){.path = path, .exit_code = 1, .overrides = overrides};
  char *text = mok_arena_strndup(arena, blob.data, blob.size);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (strncmp(line, "--| ", 4) == 0) {
      mok_buf_printf(&expected, "%s\n", line + 4);
    } else if (strncmp(line, "-- option: -D ", 14) == 0 && test->override_count < MAX_OVERRIDES) {
      overrides[test->override_count++].text = line + 14;
    } else if (strncmp(line, "-- exit: ", 9) == 0) {
      test->exit_code = atoi(line + 9);
    }
  }
  test->expected = expected.data;
  return true;
}

static int update(mok_arena *arena, const char *path, const char *said) {
  mok_blob blob;
  mok_status status = mok_file_read(arena, path, MOK_LUA_SOURCE_LIMIT, &blob);
  mok_buf out = mok_buf_make(arena);
  for (const char *line = status ? "" : blob.data; *line;) {
    const size_t size = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
    if (strncmp(line, "--|", 3) != 0) mok_buf_write(&out, line, size);
    line += size;
  }
  for (const char *line = said; *line;) {
    const size_t size = strcspn(line, "\n");
    mok_buf_printf(&out, "--| %.*s\n", (int)size, line);
    line += size + (line[size] == '\n');
  }
  if (!status) status = mok_file_write(path, out.data, out.size);
  if (status) fprintf(stderr, "%s\n", mok_status_text(status));
  const int failed = status != MOK_OK;
  mok_status_free(status);
  return failed;
}

int main(int argc, char **argv) {
  mok_arena *arena = mok_arena_create();
  mok_override overrides[MAX_OVERRIDES];
  error_case test;
  const char *said;
  int result = 2;
  if (argc == 2 && case_of_file(arena, argv[1], &test, overrides)) {
    if (test.expected[0] == '\0') printf("%s expects nothing: no line starts with --|\n", argv[1]);
    else result = error_case_run(arena, &test, &said);
  } else if (argc == 3 && strcmp(argv[1], "--update") == 0 && case_of_file(arena, argv[2], &test, overrides)) {
    error_case_run(arena, &test, &said);
    result = update(arena, argv[2], said);
  } else if (argc == 4 && strcmp(argv[1], "--hostile") == 0 && hostile_text_make(arena, argv[2], argv[3], &test)) {
    result = error_case_run(arena, &test, &said);
  } else {
    fprintf(stderr, "usage: error_case FILE.lua | --update FILE.lua | --hostile NAME FILE\n");
  }
  mok_arena_destroy(arena);
  return result;
}
