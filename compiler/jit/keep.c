/* Sources of a compilation that failed: kept, because the failure is our bug and its report needs them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "compile.h"

enum { SHOWN_LINES = 20 };

const char *mok_log_excerpt(mok_arena *arena, const char *log) {
  mok_buf out = mok_buf_make(arena);
  int lines = 0;
  while (*log && lines < SHOWN_LINES) {
    const size_t size = strcspn(log, "\n");
    if (size > 0) {
      mok_buf_printf(&out, "\n  | %.*s", (int)size, log);
      lines++;
    }
    log += size + (log[size] == '\n');
  }
  if (*log) mok_buf_puts(&out, "\n  | ...");
  return out.data;
}

mok_status mok_keep_failed(mok_arena *arena, const mok_compilation *c, const char *command, const char *log, const char *what) {
  const char *shown = mok_log_excerpt(arena, log);
  const char *temporary = getenv("TMPDIR");
  char *folder = mok_arena_printf(arena, "%s/mokgen-failed-XXXXXX", temporary && temporary[0] ? temporary : "/tmp");
  if (!mkdtemp(folder))
    return MOK_ERROR(MOK_ERR_CODEGEN, "compiling %s for %s: %s%s\n  the source could not be kept in %s: %s", c->kernel.name,
                     c->target->name, what, shown, folder, strerror(errno));

  const char *text = mok_arena_printf(arena, "cd %s && %s", folder, command);
  const char *subfolder = NULL;
  mok_status trouble = MOK_OK;
  if (c->target->native) {
    subfolder = mok_path_join(arena, folder, c->templates);
    trouble = mok_folder_create_all(subfolder);
  }
  if (!trouble) trouble = mok_compilation_write(arena, c, folder, subfolder);
  if (!trouble) trouble = mok_file_write(mok_path_join(arena, folder, "log.txt"), log, strlen(log));
  if (!trouble) trouble = mok_file_write(mok_path_join(arena, folder, "command.txt"), text, strlen(text));
  if (trouble) mok_status_free(mok_folder_remove_all(folder));
  mok_status status = trouble
                          ? MOK_ERROR(MOK_ERR_CODEGEN, "compiling %s for %s: %s%s\n  the source could not be kept: %s",
                                      c->kernel.name, c->target->name, what, shown, mok_status_text(trouble))
                          : MOK_ERROR(MOK_ERR_CODEGEN, "compiling %s for %s: %s%s\n  the source is kept in %s\n  to repeat: %s",
                                      c->kernel.name, c->target->name, what, shown, folder, text);
  mok_status_free(trouble);
  return status;
}
