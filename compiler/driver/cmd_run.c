/* run: random input through the compiled kernel, checked against the reference. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../runtime/base/json.h"
#include "commands.h"
#include "gpu_run.h"
#include "host_kernel.h"
#include "launches.h"
#include "npy.h"
#include "package_model.h"
#include "run_target.h"
#include "stages.h"
#include "verdict.h"

enum { DEFAULT_HOST_TOKENS = 64, DEFAULT_GPU_SAMPLE = 256 };

typedef struct run_request {
  mok_run_place place;
  mok_launches launches;
  mok_routing routing;
  int64_t sample; /* tokens of each rank to check, 0: all */
  uint64_t seed;
  int64_t seeds, iters;
} run_request;

typedef struct run_result {
  mok_verdict verdict;
  int64_t time_us; /* host: fastest launch; GPUs: median, without the first if there are more; -1: launches of several sizes */
  int64_t laps;    /* of a ring in one launch, most; -1: of a package, which does not say */
} run_result;

/* --tokens; without it the capacity, at most `most`. */
static mok_status parse_tokens(mok_session *session, const mok_model *model, int64_t most, uint64_t seed, mok_launches *out) {
  const mok_option_value *given = &session->options.tokens;
  const int64_t count = model->tokens_per_gpu < most ? model->tokens_per_gpu : most;
  if (!given->given && count < model->tokens_per_gpu)
    mok_session_note(session, "%" PRId64 " tokens per rank of a capacity of %" PRId64 " (--tokens)", count,
                     model->tokens_per_gpu);
  return mok_launches_parse(session->arena, model, given->given ? given->text : NULL, count, seed, out);
}

static mok_status parse_request(mok_session *session, const mok_model *model, run_request *out) {
  const mok_options *options = &session->options;
  const bool on_host = out->place == MOK_RUN_HOST;
  out->seed = options->seed.given ? (uint64_t)options->seed.number : 1;
  out->seeds = options->seeds.given ? options->seeds.number : 1;
  out->iters = options->iters.given ? options->iters.number : 1;
  MOK_TRY(mok_routing_parse(model, options->routing.given ? options->routing.text : "uniform", &out->routing));
  if (options->mask.given) MOK_TRY(mok_parse_number(options->mask.text, 0, 1, "--mask", &out->routing.mask));
  out->sample = DEFAULT_GPU_SAMPLE;
  if (options->check.given || on_host)
    MOK_TRY(mok_sample_parse(model, options->check.given ? options->check.text : "full", &out->sample));
  if (!on_host && options->seeds.given)
    return MOK_ERROR(MOK_ERR_USAGE, "--seeds: only the host target has seeded schedules; --iters repeats");
  MOK_TRY(parse_tokens(session, model, on_host ? DEFAULT_HOST_TOKENS : INT64_MAX, out->seed, &out->launches));
  return MOK_OK;
}

/* The worst of all launches; the digest stays that of the first. */
static void add_verdict(mok_verdict *sum, const mok_verdict *verdict) {
  if (verdict->rel_l2 > sum->rel_l2) sum->rel_l2 = verdict->rel_l2;
  if (verdict->max_abs > sum->max_abs) sum->max_abs = verdict->max_abs;
  sum->checked += verdict->checked;
}

/* What launch i of all came to; `place` names it in a failure. */
static void note_launch(mok_session *session, const mok_problem *problem, run_request *request, int64_t i, const char *place,
                        const mok_verdict *verdict, run_result *out) {
  if (i == 0) out->verdict = *verdict;
  else if (request->launches.vary) add_verdict(&out->verdict, verdict);
  const char *failure = verdict->failure;
  if (!failure) {
    failure = mok_launches_compare(session->arena, &request->launches, problem);
    if (failure) failure = mok_arena_printf(session->arena, "other bits than in an earlier launch: %s", failure);
  }
  if (!failure) return;
  out->verdict.pass = false;
  out->verdict.failure =
      i == 0 ? mok_arena_strdup(session->arena, failure) : mok_arena_printf(session->arena, "%s: %s", place, failure);
}

/* After launches of several sizes that were all right: no time, and the output of all tokens. */
static void join_launches(const run_request *request, mok_problem *problem, run_result *out) {
  out->time_us = -1;
  mok_launches_join(&request->launches, problem);
  mok_output_digest(problem, out->verdict.digest);
}

/* Launch i of all: sizes, poison, kernel, verdict. */
static mok_status launch(mok_session *session, mok_arena *scratch, mok_host_kernel *kernel, mok_problem *problem,
                         const mok_expected *expected, run_request *request, int64_t i, run_result *out) {
  const uint64_t schedule = request->seed + (uint64_t)(i / request->iters);
  int64_t time_us = 0;
  mok_verdict verdict;
  mok_launches_set(&request->launches, i % request->iters, problem);
  for (int64_t r = 0; r < problem->model->gpus; ++r) kernel->ranks[r].tokens = (int)problem->ranks[r].tokens;
  mok_problem_poison(problem);
  MOK_TRY(mok_host_kernel_launch(scratch, kernel, schedule, &time_us));
  MOK_TRY(mok_interrupt_check());
  mok_verdict_make(scratch, problem, expected, &verdict);
  const int64_t laps = mok_launch_laps(scratch, kernel->plan, problem);
  if (laps > out->laps) out->laps = laps;
  if (i == 0 || time_us < out->time_us) out->time_us = time_us;
  const char *place = mok_arena_printf(scratch, "launch %" PRId64 " under schedule seed %" PRIu64, i + 1, schedule);
  note_launch(session, problem, request, i, place, &verdict, out);
  return MOK_OK;
}

/* Until one fails; its output stays for --dump. */
static mok_status launch_all(mok_session *session, mok_host_kernel *kernel, mok_problem *problem, const mok_expected *expected,
                             run_request *request, run_result *out) {
  out->laps = 0;
  for (int64_t i = 0; i < request->seeds * request->iters; ++i) {
    mok_arena *scratch = mok_arena_create(); /* there may be a million launches */
    mok_status status = launch(session, scratch, kernel, problem, expected, request, i, out);
    mok_arena_destroy(scratch);
    MOK_TRY(status);
    if (!out->verdict.pass) return MOK_OK;
  }
  if (request->launches.vary) join_launches(request, problem, out);
  return MOK_OK;
}

static void result_line(const mok_work *work, const run_result *result, mok_buf *out) {
  const mok_verdict *verdict = &result->verdict;
  mok_buf_printf(out, "%s target=%s ranks=%" PRId64 " rel_l2=%.3e max_abs=%.3e checked=%" PRId64 " digest=%s time_us=",
                 verdict->pass ? "PASS" : "FAIL", work->target->name, work->model->gpus, verdict->rel_l2, verdict->max_abs,
                 verdict->checked, verdict->digest);
  if (verdict->pass && result->time_us >= 0) mok_buf_printf(out, "%" PRId64 "\n", result->time_us);
  else mok_buf_puts(out, "-\n"); /* a time of a wrong result means nothing */
}

static void result_json(const mok_work *work, const run_request *request, const run_result *result, mok_buf *out) {
  const mok_verdict *verdict = &result->verdict;
  mok_json json = mok_json_make(out);
  mok_json_begin_object(&json);
  mok_json_key(&json, "schema");
  mok_json_int(&json, 1);
  mok_json_key(&json, "result");
  mok_json_string(&json, verdict->pass ? "PASS" : "FAIL");
  mok_json_key(&json, "failure");
  mok_json_string(&json, verdict->failure);
  mok_json_key(&json, "target");
  mok_json_string(&json, work->target->name);
  mok_json_key(&json, "ranks");
  mok_json_int(&json, work->model->gpus);
  mok_json_key(&json, "tokens");
  mok_json_begin_array(&json);
  for (int64_t r = 0; r < work->model->gpus; ++r) mok_json_int(&json, request->launches.most[r]);
  mok_json_end_array(&json);
  mok_json_key(&json, "tokens_least");
  mok_json_begin_array(&json);
  for (int64_t r = 0; r < work->model->gpus; ++r) mok_json_int(&json, request->launches.least[r]);
  mok_json_end_array(&json);
  mok_json_key(&json, "seed");
  mok_json_int(&json, (int64_t)request->seed);
  mok_json_key(&json, "launches");
  mok_json_int(&json, request->seeds * request->iters);
  mok_json_key(&json, "laps");
  if (result->laps >= 0) mok_json_int(&json, result->laps);
  else mok_json_null(&json);
  mok_json_key(&json, "rel_l2");
  mok_json_fixed(&json, verdict->rel_l2, 9);
  mok_json_key(&json, "limit");
  mok_json_fixed(&json, verdict->limit, 9);
  mok_json_key(&json, "max_abs");
  mok_json_fixed(&json, verdict->max_abs, 9);
  mok_json_key(&json, "checked");
  mok_json_int(&json, verdict->checked);
  mok_json_key(&json, "digest");
  mok_json_string(&json, verdict->digest);
  mok_json_key(&json, "time_us");
  if (verdict->pass && result->time_us >= 0) mok_json_int(&json, result->time_us);
  else mok_json_null(&json);
  mok_json_end_object(&json);
  mok_json_finish(&json);
}

static const char dump_marker[] = "mokgen-run.txt", dump_word[] = "mokgen-run";

/* Whether --dump will be able to write; asked before anything is compiled. */
static mok_status check_dump(mok_session *session, const mok_model *m, const run_request *request) {
  enum { SIZE_LIMIT_GB = 4 };
  if (!session->options.dump.given) return MOK_OK;
  if (strcmp(session->options.dump.text, "-") == 0)
    return MOK_ERROR(MOK_ERR_USAGE, "--dump -: a dump is a folder of several files, not a stream");
  const double columns = (double)(mok_up_columns(m) + m->intermediate) * (double)m->experts +
                         (double)(mok_is_gated(m) ? 3 : 2) * (double)m->shared_intermediate;
  double bytes = columns * (double)m->hidden * sizeof(uint16_t);
  for (int64_t r = 0; r < m->gpus; ++r)
    bytes += (double)request->launches.most[r] *
             ((double)m->hidden * (2 * sizeof(uint16_t) + sizeof(float)) + (double)m->top_k * (sizeof(int32_t) + sizeof(float)));
  if (bytes > SIZE_LIMIT_GB * 1e9)
    return MOK_ERROR(MOK_ERR_IO, "--dump would write %.1f GB, the limit is %d GB; use a smaller layer (-D model.experts=N)",
                     bytes / 1e9, SIZE_LIMIT_GB);
  return mok_folder_check(session->options.dump.text, dump_marker, dump_word);
}

/* --dump: arrays of each rank and the weights as .npy, mokgen-run.txt with what they are. */
static mok_status dump(mok_session *session, const mok_problem *problem, const mok_expected *expected, const run_result *result) {
  const char *folder = session->options.dump.text;
  const mok_model *m = problem->model;
  const int64_t E = m->experts, H = m->hidden, I = m->intermediate, S = m->shared_intermediate;
  const struct {
    const char *name;
    const mok_matrix *matrix;
    int64_t shape[3];
  } weights[] = {
      {"gate.npy", &problem->gate, {E, I, H}},           {"up.npy", &problem->up, {E, I, H}},
      {"down.npy", &problem->down, {E, H, I}},           {"shared_gate.npy", &problem->shared_gate, {1, S, H}},
      {"shared_up.npy", &problem->shared_up, {1, S, H}}, {"shared_down.npy", &problem->shared_down, {1, H, S}},
  };
  enum { NUM_WEIGHTS = sizeof weights / sizeof weights[0], PER_RANK = 5 };
  mok_arena *arena = session->arena;
  mok_blob *files = MOK_NEW_ARRAY(arena, (size_t)m->gpus * PER_RANK + NUM_WEIGHTS + 1, mok_blob);
  size_t count = 1; /* files[0] lists the others */
  mok_buf about = mok_buf_make(arena);
  mok_buf_printf(&about, "%s 1\nname %s\nranks %" PRId64 "\nseed %" PRIu64 "\nresult %s\ndigest %s\n", dump_word, m->name,
                 m->gpus, problem->seed, result->verdict.pass ? "PASS" : "FAIL", result->verdict.digest);
  for (size_t i = 0; i < NUM_WEIGHTS; ++i)
    if (weights[i].matrix->data)
      files[count++] = mok_npy(arena, weights[i].name, "<u2", weights[i].shape, 3, weights[i].matrix->data);
  for (int64_t r = 0; r < m->gpus; ++r) {
    const mok_rank_problem *rank = &problem->ranks[r];
    const int64_t wide[] = {rank->tokens, H}, narrow[] = {rank->tokens, m->top_k};
    const char *suffix = mok_arena_printf(arena, "_%" PRId64 ".npy", r);
    files[count++] = mok_npy(arena, mok_arena_printf(arena, "x%s", suffix), "<u2", wide, 2, rank->x);
    files[count++] = mok_npy(arena, mok_arena_printf(arena, "topk_ids%s", suffix), "<i4", narrow, 2, rank->ids);
    files[count++] = mok_npy(arena, mok_arena_printf(arena, "topk_weights%s", suffix), "<f4", narrow, 2, rank->weights);
    files[count++] = mok_npy(arena, mok_arena_printf(arena, "out%s", suffix), "<u2", wide, 2, rank->out);
    files[count++] = mok_npy(arena, mok_arena_printf(arena, "expected%s", suffix), "<f4", wide, 2, expected->rows[r]);
  }
  for (size_t i = 1; i < count; ++i) mok_buf_printf(&about, "file %s\n", files[i].name);
  files[0] = (mok_blob){dump_marker, about.data, about.size};
  MOK_TRY(mok_folder_write(folder, files, count, files[0].name));
  mok_session_note(session, "wrote %s (%zu files)", folder, count);
  return MOK_OK;
}

static mok_status report(mok_session *session, const mok_work *work, const run_request *request, const run_result *result) {
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) result_json(work, request, result, &text);
  else result_line(work, result, &text);
  MOK_TRY(mok_session_print(&text));
  if (result->verdict.pass) return MOK_OK;
  return MOK_ERROR(MOK_ERR_MISMATCH, "the result is wrong: %s", result->verdict.failure);
}

static mok_status run_on_host(mok_session *session, mok_work *work, run_request *request, mok_problem *problem,
                              mok_expected *expected, run_result *result) {
  const size_t beside = mok_host_kernel_bytes(work->plan);
  mok_session_progress(session, "making weights and inputs");
  MOK_TRY(
      mok_problem_make(session->arena, work->model, request->launches.most, &request->routing, request->seed, beside, problem));
  mok_session_progress(session, "computing the reference");
  MOK_TRY(mok_expected_make(session->arena, problem, request->sample, expected));
  mok_session_progress(session, "running");
  mok_host_kernel kernel = {.file = -1};
  mok_status status = mok_host_kernel_load(session->arena, work->plan, &work->image, problem, &kernel);
  if (!status) status = launch_all(session, &kernel, problem, expected, request, result);
  mok_host_kernel_unload(&kernel);
  return status;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static mok_status launch_on_gpu(mok_session *session, const mok_work *work, run_request *request, mok_gpu_run *gpu,
                                mok_problem *problem, mok_expected *expected, run_result *result) {
  double *times = MOK_NEW_ARRAY(session->arena, (size_t)request->iters, double);
  mok_gpu_expected right;
  result->laps = work->plan ? mok_launch_laps(session->arena, work->plan, problem) : -1;
  for (int64_t i = 0; i < request->iters; ++i) {
    int64_t differences = 0;
    mok_session_progress(session, "running");
    MOK_TRY(mok_gpu_run_launch(gpu, &times[i]));
    MOK_TRY(mok_gpu_run_differences(gpu, &differences));
    MOK_TRY(mok_interrupt_check());
    if (i == 0 || differences) MOK_TRY(mok_gpu_run_fetch(gpu));
    if (i == 0) {
      MOK_TRY(mok_gpu_run_expect(gpu, request->sample, session->options.dump.given, &right));
      mok_gpu_run_judge(gpu, session->arena, &right, &result->verdict);
      *expected = right.reference;
    }
    if (differences) {
      result->verdict.pass = false;
      result->verdict.failure = mok_arena_printf(
          session->arena, "launch %" PRId64 " gave other bits than the first in %" PRId64 " values", i + 1, differences);
    }
    if (!result->verdict.pass) return MOK_OK; /* the output of the failed launch stays for --dump */
  }
  const size_t first = request->iters > 1, count = (size_t)request->iters - first; /* the first one loads code and page tables */
  qsort(times + first, count, sizeof times[0], by_value);
  result->time_us = (int64_t)(times[first + count / 2] + 0.5);
  return MOK_OK;
}

static mok_status resized_launch(mok_session *session, mok_arena *scratch, const mok_work *work, run_request *request,
                                 mok_gpu_run *gpu, const mok_gpu_expected *right, int64_t i, run_result *result) {
  double time_us = 0;
  mok_verdict verdict;
  mok_launches_set(&request->launches, i, gpu->problem);
  MOK_TRY(mok_gpu_run_launch(gpu, &time_us));
  MOK_TRY(mok_gpu_run_fetch(gpu));
  MOK_TRY(mok_interrupt_check());
  mok_gpu_run_judge(gpu, scratch, right, &verdict);
  const int64_t laps = work->plan ? mok_launch_laps(scratch, work->plan, gpu->problem) : -1;
  if (laps > result->laps) result->laps = laps;
  note_launch(session, gpu->problem, request, i, mok_arena_printf(scratch, "launch %" PRId64, i + 1), &verdict, result);
  return MOK_OK;
}

/* Launches of several sizes: each against what all tokens should have, and its bits against those of the launches before. */
static mok_status resized_on_gpu(mok_session *session, const mok_work *work, run_request *request, mok_gpu_run *gpu,
                                 mok_problem *problem, mok_expected *expected, run_result *result) {
  mok_gpu_expected right;
  MOK_TRY(mok_gpu_run_expect(gpu, request->sample, session->options.dump.given, &right));
  *expected = right.reference;
  result->laps = -1;
  mok_session_progress(session, "running");
  for (int64_t i = 0; i < request->iters; ++i) {
    mok_arena *scratch = mok_arena_create();
    mok_status status = resized_launch(session, scratch, work, request, gpu, &right, i, result);
    mok_arena_destroy(scratch);
    MOK_TRY(status);
    if (!result->verdict.pass) return MOK_OK;
  }
  join_launches(request, problem, result);
  return MOK_OK;
}

static mok_status run_on_gpus(mok_session *session, mok_work *work, run_request *request, mok_problem *problem,
                              mok_expected *expected, run_result *result) {
  mok_load_args package;
  mok_gpu_run gpu = {0};
  MOK_TRY(mok_work_package(session->arena, work, &package));
  mok_session_progress(session, "making inputs");
  MOK_TRY(
      mok_problem_make_tokens(session->arena, work->model, request->launches.most, &request->routing, request->seed, problem));
  mok_session_progress(session, "making weights");
  mok_status status =
      mok_gpu_run_open(session, work->model, &package, work->target, request->place == MOK_RUN_COLOCATED, problem, &gpu);
  if (!status)
    status = (request->launches.vary ? resized_on_gpu : launch_on_gpu)(session, work, request, &gpu, problem, expected, result);
  mok_gpu_run_close(&gpu);
  return status;
}

static mok_status run(mok_session *session, mok_work *work, mok_problem *problem) {
  run_request request = {.place = MOK_RUN_HOST};
  run_result result;
  mok_expected expected;
  MOK_TRY(mok_package_take(session, work));
  /* A wrong flag should not wait for a compiler: plan first, then the request, then the rest. */
  if (!work->package) MOK_TRY(mok_stages_run(session, work, MOK_STAGE_PLAN));
  if (work->package) MOK_TRY(mok_run_on_gpus(session, work, &request.place));
  else MOK_TRY(mok_run_target(session, work, &request.place));
  MOK_TRY(parse_request(session, work->model, &request));
  MOK_TRY(check_dump(session, work->model, &request));
  if (!work->package) MOK_TRY(mok_stages_run(session, work, MOK_STAGE_COMPILE));
  if (request.place == MOK_RUN_HOST) MOK_TRY(run_on_host(session, work, &request, problem, &expected, &result));
  else MOK_TRY(run_on_gpus(session, work, &request, problem, &expected, &result));
  mok_session_progress(session, NULL);
  if (session->options.dump.given) MOK_TRY(dump(session, problem, &expected, &result));
  return report(session, work, &request, &result);
}

mok_status mok_cmd_run(mok_session *session) {
  mok_work work;
  mok_problem problem = {0};
  MOK_TRY(mok_work_init(&work, session));
  mok_status status = run(session, &work, &problem);
  mok_problem_deinit(&problem);
  mok_work_deinit(&work);
  return status;
}
