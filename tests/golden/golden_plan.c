/* golden_plan CASE: the plan of CASE/model.lua must be CASE/plan.json to the byte. With --update CASE it is written there. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../compiler/frontend/frontend.h"
#include "../../compiler/plan/plan.h"
#include "../../runtime/base/file.h"

enum { GOLDEN_LIMIT = 1 << 20 };

static mok_status plan_text(mok_arena *arena, mok_diag *diag, const char *folder, mok_buf *out) {
  const mok_model *model = NULL;
  MOK_TRY(mok_frontend_read(arena, diag, mok_path_join(arena, folder, "model.lua"), NULL, 0, &model));
  const mok_gpu *gpu = mok_gpu_find(model->gpu.row);
  if (!gpu) return MOK_ERROR(MOK_ERR_DESCRIPTION, "a golden plan must name its GPU row, not \"%s\"", model->gpu.row);
  const mok_plan *plan = NULL;
  MOK_TRY(mok_plan_make(arena, diag, model, gpu, &plan));
  mok_plan_json(plan, out);
  return MOK_OK;
}

/* Shows what differs, as diff -u does, the new text on standard input. */
static void show_difference(const char *path, const mok_buf *text) {
  int ends[2];
  if (pipe(ends) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0);
    close(ends[0]);
    close(ends[1]);
    execlp("diff", "diff", "-u", "--label", path, "--label", "as planned now", "--", path, "-", (char *)NULL);
    _exit(127);
  }
  close(ends[0]);
  size_t done = 0;
  while (child > 0 && done < text->size) {
    const ssize_t wrote = write(ends[1], text->data + done, text->size - done);
    if (wrote <= 0) break;
    done += (size_t)wrote;
  }
  close(ends[1]);
  if (child > 0) waitpid(child, NULL, 0);
}

static mok_status compare(mok_arena *arena, const char *path, const mok_buf *text) {
  mok_blob golden;
  MOK_TRY(mok_file_read(arena, path, GOLDEN_LIMIT, &golden));
  if (golden.size == text->size && memcmp(golden.data, text->data, text->size) == 0) return MOK_OK;
  show_difference(path, text);
  return MOK_ERROR(MOK_ERR_MISMATCH, "%s is not the plan made now; if that is meant: cmake --build BUILD -t update-golden", path);
}

static mok_status run(mok_arena *arena, mok_diag *diag, const char *folder, bool update) {
  mok_buf text = mok_buf_make(arena), again = mok_buf_make(arena);
  MOK_TRY(plan_text(arena, diag, folder, &text));
  MOK_TRY(plan_text(arena, diag, folder, &again));
  if (text.size != again.size || memcmp(text.data, again.data, text.size) != 0)
    return MOK_ERROR(MOK_ERR_MISMATCH, "%s: two plans of one description differ", folder);
  const char *path = mok_path_join(arena, folder, "plan.json");
  return update ? mok_file_write(path, text.data, text.size) : compare(arena, path, &text);
}

int main(int argc, char **argv) {
  const bool update = argc == 3 && strcmp(argv[1], "--update") == 0;
  if (argc != 2 && !update) {
    fprintf(stderr, "usage: golden_plan [--update] CASE\n");
    return MOK_ERR_USAGE;
  }
  mok_arena *arena = mok_arena_create();
  mok_diag *diag = mok_diag_create(arena);
  const mok_status status = run(arena, diag, argv[argc - 1], update);
  mok_diag_print(diag, stderr, false);
  if (status) fprintf(stderr, "golden_plan: %s\n", mok_status_text(status));
  const int code = mok_status_exit_code(status);
  mok_status_free(status);
  mok_arena_destroy(arena);
  return code;
}
