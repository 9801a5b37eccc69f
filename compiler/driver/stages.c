#include "stages.h"

#include <string.h>

#include "../../runtime/base/file.h"
#include "../frontend/frontend.h"
#include "driver_gpu.h"

#ifndef MOKGEN_SANITIZE
#define MOKGEN_SANITIZE ""
#endif

enum { MODULE_SIZE_LIMIT = 1 << 20 }; /* bytes of a --from=mok file; those that mokgen prints have 20 KB, whatever the sizes */

/* Replaces gpu = "auto" by the row of this machine's first GPU. */
static mok_status resolve_auto(mok_session *session, const mok_model *model, const mok_model **out) {
  mok_driver_gpu device;
  MOK_TRY_CTX(mok_driver_gpu_query(session->arena, &device),
              "finding the GPU for topology.gpu = \"auto\" (name a row to plan without one)");
  const mok_gpu *best = NULL; /* longest product name that starts the device's: "NVIDIA H20" also starts "NVIDIA H200" */
  for (size_t i = 0; i < mok_gpu_count; ++i) {
    const char *product = mok_gpus[i].product;
    if (!product || !product[0] || strncmp(device.name, product, strlen(product)) != 0) continue; /* "": no GPU */
    if (!best || strlen(product) > strlen(best->product)) best = &mok_gpus[i];
  }
  if (!best)
    return MOK_ERROR(MOK_ERR_GPU,
                     "topology.gpu = \"auto\": no row of the GPU table fits '%s'; name the nearest row (mokgen targets)",
                     device.name);
  mok_model *resolved = MOK_NEW(session->arena, mok_model);
  *resolved = *model;
  resolved->gpu.row = best->name;
  if (resolved->gpu.sms == MOK_AUTO && device.sms != best->sms) resolved->gpu.sms = device.sms;
  mok_session_remark(session, "gpu = \"auto\": %s, row %s", device.name, best->name);
  *out = resolved;
  return MOK_OK;
}

static mok_status stage_read(mok_session *session, mok_work *work) {
  const mok_option_value *define = &session->options.define;
  mok_override *overrides = MOK_NEW_ARRAY(session->arena, define->count + 1, mok_override);
  for (size_t i = 0; i < define->count; ++i) overrides[i].text = define->list[i];
  return mok_frontend_read(session->arena, session->diag, work->path, overrides, define->count, &work->model);
}

static mok_status stage_plan(mok_session *session, mok_work *work) {
  if (strcmp(work->model->gpu.row, "auto") == 0) MOK_TRY(resolve_auto(session, work->model, &work->model));
  const mok_gpu *gpu = mok_gpu_find(work->model->gpu.row);
  if (!gpu) {
    mok_diag_report(session->diag, MOK_SEVERITY_ERROR, work->model->loc[MOK_FIELD_gpu], "mokgen targets lists the rows",
                    "topology.gpu: no GPU row is called '%s'", work->model->gpu.row);
    return mok_diag_status(session->diag, MOK_ERR_DESCRIPTION);
  }
  MOK_TRY(mok_plan_make(session->arena, session->diag, work->model, gpu, &work->plan));
  return mok_plan_verify(session->arena, work->plan);
}

/* The target of the code, and whether this version can build the plan for it; asked by the first stage past the plan. */
static mok_status choose_target(mok_work *work) {
  if (work->target) return MOK_OK;
  const char *name = work->target_name ? work->target_name : work->plan->gpu.arch;
  work->target = mok_target_find(name);
  if (!work->target)
    return MOK_ERROR(MOK_ERR_NO_PLAN, "not in this version: code target '%s' of GPU row %s", name, work->plan->gpu.name);
  return mok_plan_buildable(work->plan, work->target);
}

static mok_status stage_build(mok_session *session, mok_work *work) {
  MOK_TRY(choose_target(work));
  work->ir = mok_ir_create(session->diag);
  return mok_ir_build(work->ir, work->plan, &work->module);
}

static mok_status stage_resume(mok_session *session, mok_work *work) {
  mok_blob text;
  MOK_TRY(mok_file_read(session->arena, work->path, MODULE_SIZE_LIMIT, &text));
  work->ir = mok_ir_create(session->diag);
  const char *name = strcmp(work->path, "-") == 0 ? "<stdin>" : work->path;
  mok_diag_add_source(session->diag, name, text.data, text.size);
  MOK_TRY(mok_ir_parse(work->ir, name, text.data, text.size, &work->module));
  MOK_TRY(mok_ir_plan(work->ir, work->module, session->arena, &work->plan));
  work->model = work->plan->model;
  return MOK_OK;
}

static mok_status stage_passes(mok_session *session, mok_work *work) {
  MOK_TRY(choose_target(work));
  const mok_pipeline_options options = {
      .stop_after = work->stop_after,
      .check_warns = session->options.no_check.given,
  };
  return mok_pipeline_run(work->ir, work->module, work->plan, &options);
}

static mok_status stage_emit(mok_session *session, mok_work *work) {
  return mok_emit(session->arena, work->module, work->plan, &work->sources);
}

static mok_status stage_compile(mok_session *session, mok_work *work) {
  const mok_jit_options options = {
      .target = work->target,
      .want_ptx = work->want_ptx,
      .use_cache = !session->options.no_cache.given,
      .sanitizer = work->target->native ? MOKGEN_SANITIZE : "", /* a sanitized kernel loads only into a tool built alike */
      .verbose = session->options.verbose.given,
  };
  mok_session_progress(session, "compiling the kernel");
  return mok_jit_compile(session->arena, &work->sources, &options, &work->image);
}

/* Where a stage belongs: to a description, to a module that is resumed, or to both. */
enum { FROM_LUA = 1, FROM_MODULE = 2, FROM_BOTH = 3 };

static const struct {
  const char *name;
  int source;
  mok_status (*run)(mok_session *session, mok_work *work);
} stages[MOK_NUM_STAGES] = {
    [MOK_STAGE_READ] = {"read", FROM_LUA, stage_read},           /* Lua text -> description */
    [MOK_STAGE_PLAN] = {"plan", FROM_LUA, stage_plan},           /* description x GPU row -> every number */
    [MOK_STAGE_BUILD] = {"build", FROM_LUA, stage_build},        /* plan -> module, dataflow only */
    [MOK_STAGE_RESUME] = {"resume", FROM_MODULE, stage_resume},  /* module text -> module, plan and description */
    [MOK_STAGE_PASSES] = {"passes", FROM_BOTH, stage_passes},    /* dataflow -> roles, tiles, rings, counters; checked */
    [MOK_STAGE_EMIT] = {"emit", FROM_BOTH, stage_emit},          /* module + plan -> CUDA C */
    [MOK_STAGE_COMPILE] = {"compile", FROM_BOTH, stage_compile}, /* CUDA C -> code for the target */
};

mok_status mok_work_blame(const mok_work *work, mok_status status) {
  if (!status || !work->from_module || mok_status_exit_code(status) != MOK_ERR_CODEGEN) return status;
  mok_status theirs = MOK_ERROR(MOK_ERR_DESCRIPTION, "%s: %s", work->path, mok_status_text(status));
  mok_status_free(status);
  return theirs;
}

mok_status mok_stages_run(mok_session *session, mok_work *work, mok_stage_id last) {
  /* A resumed module brings description and plan with it. */
  if (work->from_module && last < MOK_STAGE_RESUME) last = MOK_STAGE_RESUME;
  for (; work->next <= (int)last; ++work->next) {
    const int id = work->next;
    if (!(stages[id].source & (work->from_module ? FROM_MODULE : FROM_LUA))) continue;
    const int64_t start = mok_session_clock_us();
    mok_status status = stages[id].run(session, work);
    if (id == MOK_STAGE_EMIT) status = mok_work_blame(work, status);
    mok_session_progress(session, NULL);
    if (!status) status = mok_interrupt_check();
    if (status) return status;
    mok_session_remark(session, "%-8s %8.1f ms%s", stages[id].name, (double)(mok_session_clock_us() - start) / 1e3,
                       id == MOK_STAGE_COMPILE && work->image.from_cache ? "  from the cache" : "");
  }
  return MOK_OK;
}

mok_status mok_work_init(mok_work *work, const mok_session *session) {
  const mok_options *options = &session->options;
  memset(work, 0, sizeof *work);
  work->path = options->operands[0];
  if (options->from.given && strcmp(options->from.text, "mok") != 0)
    return MOK_ERROR(MOK_ERR_USAGE, "--from: '%s' is not a stage that can be resumed; only mok is", options->from.text);
  work->from_module = options->from.given;
  if (work->from_module && options->define.given)
    return MOK_ERROR(MOK_ERR_USAGE, "-D changes a description, but --from=mok resumes a module that has its plan");
  if (options->target.given && !mok_target_find(options->target.text)) {
    const char *names[16];
    size_t count = 0;
    for (; count < mok_target_count && count < 16; ++count) names[count] = mok_targets[count].name;
    const char *near = mok_nearest_word(options->target.text, names, count);
    return MOK_ERROR(MOK_ERR_USAGE, "--target: unknown code target '%s'%s%s%s (mokgen targets lists them)", options->target.text,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  work->target_name = options->target.given ? options->target.text : NULL;
  return MOK_OK;
}

void mok_work_deinit(mok_work *work) {
  mok_ir_destroy(work->ir);
  memset(work, 0, sizeof *work);
}

void mok_work_warn(mok_session *session, const mok_work *work) {
  for (size_t i = 0; i < work->plan->warning_count; ++i) mok_session_warn(session, work->plan->warnings[i]);
}

mok_status mok_emit_parse(mok_arena *arena, const char *text, mok_emit_choice *out) {
  static const struct {
    const char *name;
    mok_stage_id stage;
    int what;
  } choices[] = {
      {"model", MOK_STAGE_READ, MOK_EMIT_MODEL}, {"plan", MOK_STAGE_PLAN, MOK_EMIT_PLAN},
      {"mok", MOK_STAGE_BUILD, MOK_EMIT_MOK},    {"cuda", MOK_STAGE_EMIT, MOK_EMIT_CUDA},
      {"ptx", MOK_STAGE_COMPILE, MOK_EMIT_PTX},  {"cubin", MOK_STAGE_COMPILE, MOK_EMIT_CUBIN},
  };
  enum { NUM_CHOICES = sizeof choices / sizeof choices[0] };
  memset(out, 0, sizeof *out);
  const char *words[NUM_CHOICES + 64];
  size_t count = 0;
  for (size_t i = 0; i < NUM_CHOICES; ++i) {
    words[count++] = choices[i].name;
    if (strcmp(text, choices[i].name) != 0) continue;
    out->stage = choices[i].stage;
    out->what = choices[i].what;
    return MOK_OK;
  }
  if (strncmp(text, "mok:", 4) == 0 && mok_pass_find(text + 4)) {
    *out = (mok_emit_choice){.stage = MOK_STAGE_PASSES, .pass = text + 4, .what = MOK_EMIT_MOK};
    return MOK_OK;
  }
  for (size_t i = 0; i < mok_pipeline_length && i < 64; ++i)
    words[count++] = mok_arena_printf(arena, "mok:%s", mok_pipeline[i]->name);
  mok_buf known = mok_buf_make(arena);
  for (size_t i = 0; i < count; ++i) mok_buf_printf(&known, "%s%s", i ? ", " : "", words[i]);
  const char *near = mok_nearest_word(text, words, count);
  return MOK_ERROR(MOK_ERR_USAGE, "--emit: unknown stage '%s'%s%s%s; one of %s", text, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "", known.data);
}
