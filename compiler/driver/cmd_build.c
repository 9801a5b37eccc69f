#include <string.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "../package/package.h"
#include "commands.h"
#include "stages.h"

/* A wrong -o should not wait for a compiler. The folder of --emit=cuda may hold a kernel.cu that somebody edited, so it is never
 * replaced. */
static mok_status check_output(const mok_emit_choice *choice, const char *output) {
  if (choice->what != MOK_EMIT_CUDA || strcmp(output, "-") == 0) return mok_file_check(output);
  if (mok_file_exists(output) || mok_folder_exists(output))
    return MOK_ERROR(MOK_ERR_IO, "%s exists: --emit=cuda writes a new folder; remove it or name another", output);
  return mok_folder_check(output, MOK_MANIFEST_NAME, "");
}

/* kernel.cu needs its two headers: a new folder with the three files, or one stream with a line before each. */
static mok_status write_sources(mok_session *session, const mok_sources *sources, const mok_emit_choice *choice,
                                const char *output) {
  const mok_blob files[] = {sources->kernel, sources->plan_h, sources->layout_h};
  enum { NUM_FILES = sizeof files / sizeof files[0] };
  if (strcmp(output, "-") != 0) {
    MOK_TRY(check_output(choice, output)); /* again: the first time was some seconds ago */
    return mok_folder_write(output, files, NUM_FILES, MOK_MANIFEST_NAME);
  }
  mok_buf text = mok_buf_make(session->arena);
  for (size_t i = 0; i < NUM_FILES; ++i) {
    mok_buf_printf(&text, "%s/* ===== %s ===== */\n", i ? "\n" : "", files[i].name);
    mok_buf_write(&text, files[i].data, files[i].size);
  }
  return mok_session_print(&text);
}

/* --emit=mok after a resume: the module as read, which must then be the one right after build. */
static mok_status check_altitude(const mok_work *work) {
  if (!work->from_module || work->stop_after) return MOK_OK;
  const char *after = mok_ir_after(work->module);
  if (strcmp(after, "build") == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_USAGE, "--emit=mok: the module is already after pass '%s'; ask for mok:PASS of a later one", after);
}

static mok_status emit(mok_session *session, mok_work *work, const mok_emit_choice *choice) {
  const char *output = session->options.output.given ? session->options.output.text : "-";
  work->stop_after = choice->pass;
  work->want_ptx = choice->what == MOK_EMIT_PTX;
  if (choice->what == MOK_EMIT_CUBIN && strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
    return MOK_ERROR(MOK_ERR_USAGE, "--emit=cubin is binary: give -o FILE or redirect stdout");
  MOK_TRY(check_output(choice, output));
  /* Whether there is PTX is known once the target is; better before a compiler runs than after. */
  if (choice->stage == MOK_STAGE_COMPILE) {
    MOK_TRY(mok_stages_run(session, work, MOK_STAGE_EMIT));
    if (work->target->native)
      return MOK_ERROR(MOK_ERR_USAGE, "--emit=%s: target %s has neither PTX nor cubin; its package holds kernel.host.so",
                       session->options.emit.text, work->target->name);
  }
  MOK_TRY(mok_stages_run(session, work, choice->stage));
  mok_buf text = mok_buf_make(session->arena);
  switch (choice->what) {
    case MOK_EMIT_MODEL:
      mok_model_print(work->model, &text);
      break;
    case MOK_EMIT_PLAN:
      mok_plan_explain(work->plan, &text);
      break;
    case MOK_EMIT_MOK:
      MOK_TRY(check_altitude(work));
      mok_ir_print(work->module, &text);
      break;
    case MOK_EMIT_CUDA:
      return write_sources(session, &work->sources, choice, output);
    case MOK_EMIT_PTX:
      return mok_session_write(output, work->image.ptx.data, work->image.ptx.size);
    case MOK_EMIT_CUBIN:
      return mok_session_write(output, work->image.code.data, work->image.code.size);
  }
  return mok_session_write(output, text.data, text.size);
}

static mok_status package(mok_session *session, mok_work *work) {
  const mok_option_value *output = &session->options.output;
  if (output->given && strcmp(output->text, "-") == 0)
    return MOK_ERROR(MOK_ERR_USAGE, "-o -: a package is a folder; --emit=STAGE goes to stdout");
  if (output->given) MOK_TRY(mok_package_check(output->text));
  MOK_TRY(mok_stages_run(session, work, MOK_STAGE_READ)); /* for the name */
  const char *folder = output->given ? output->text : mok_arena_printf(session->arena, "%s.mok", work->model->name);
  if (!output->given) MOK_TRY(mok_package_check(folder));
  MOK_TRY(mok_stages_run(session, work, MOK_STAGE_COMPILE));
  mok_work_warn(session, work);
  MOK_TRY(mok_package_write(session->arena, folder, work->plan, work->target, &work->sources, &work->image));
  mok_session_note(session, "wrote %s (%s for %s, %lld ranks, by %s%s)", folder, work->target->name, work->plan->gpu.name,
                   (long long)work->model->gpus, work->image.compiler, work->image.from_cache ? ", from the cache" : "");
  return MOK_OK;
}

mok_status mok_cmd_build(mok_session *session) {
  mok_work work;
  mok_emit_choice choice;
  MOK_TRY(mok_work_init(&work, session));
  const bool emits = session->options.emit.given;
  if (emits) MOK_TRY(mok_emit_parse(session->arena, session->options.emit.text, &choice));
  mok_status status = emits ? emit(session, &work, &choice) : package(session, &work);
  mok_work_deinit(&work);
  return status;
}
