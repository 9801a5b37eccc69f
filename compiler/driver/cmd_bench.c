/* bench: how long the layer takes on GPUs, beside a check of the same run and beside what bounds it. */
#include <inttypes.h>
#include <string.h>

#include "../../runtime/base/json.h"
#include "commands.h"
#include "gpu_bench.h"
#include "package_model.h"
#include "run_target.h"

enum { DEFAULT_SAMPLE = 64, WARM_US = 1000000, MEASURE_US = 2000000 };

typedef struct bench_request {
  mok_run_place place;
  int64_t *tokens; /* [gpus] */
  mok_routing routing;
  int64_t sample; /* tokens of each rank to check in double, 0: all */
  uint64_t seed;
  mok_bench_length length;
} bench_request;

/* What the step has to do at least, on the device that has most of it, and on all. */
typedef struct labour {
  double flops, flops_most;
  double bytes, bytes_most; /* weights of the experts that are visited, tokens in and out; each once */
} labour;

typedef struct bench_result {
  mok_verdict verdict;
  char device[256];
  labour work;
  mok_times times;
  mok_roofline roofline;
} bench_result;

static mok_status parse_request(mok_session *session, const mok_model *model, bench_request *out) {
  const mok_options *options = &session->options;
  out->seed = options->seed.given ? (uint64_t)options->seed.number : 1;
  out->sample = DEFAULT_SAMPLE;
  out->length =
      (mok_bench_length){.warm_us = WARM_US, .measure_us = MEASURE_US, .calls = options->iters.given ? options->iters.number : 0};
  out->tokens = MOK_NEW_ARRAY(session->arena, (size_t)model->gpus, int64_t);
  for (int64_t r = 0; r < model->gpus; ++r) out->tokens[r] = model->tokens_per_gpu;
  if (options->tokens.given) MOK_TRY(mok_tokens_parse(session->arena, model, options->tokens.text, out->tokens));
  if (options->check.given) MOK_TRY(mok_sample_parse(model, options->check.text, &out->sample));
  MOK_TRY(mok_routing_parse(model, options->routing.given ? options->routing.text : "uniform", &out->routing));
  if (options->mask.given) MOK_TRY(mok_parse_number(options->mask.text, 0, 1, "--mask", &out->routing.mask));
  return MOK_OK;
}

static labour count_labour(const mok_problem *problem, int devices) {
  const mok_model *m = problem->model;
  const double matrices = (double)(mok_up_columns(m) + m->intermediate) * (double)m->hidden; /* weights of an expert */
  const double shared = m->shared_intermediate > 0 ? matrices * (double)m->shared_intermediate / (double)m->intermediate : 0;
  labour sum = {0};
  for (int64_t r = 0; r < m->gpus; ++r) {
    const double tokens = (double)problem->ranks[r].tokens;
    double flops = 2 * shared * tokens, bytes = tokens > 0 ? 2 * shared : 0;
    bytes += tokens * (2 * 2 * (double)m->hidden + (double)m->top_k * (sizeof(int32_t) + sizeof(float)));
    for (int64_t e = mok_first_expert(m, r); e < mok_first_expert(m, r + 1); ++e) {
      flops += 2 * matrices * (double)problem->expert_rows[e];
      if (problem->expert_rows[e] > 0) bytes += 2 * matrices;
    }
    sum.flops += flops;
    sum.bytes += bytes;
    if (flops > sum.flops_most) sum.flops_most = flops;
    if (bytes > sum.bytes_most) sum.bytes_most = bytes;
  }
  if (devices == 1) {
    sum.flops_most = sum.flops;
    sum.bytes_most = sum.bytes;
  }
  return sum;
}

/* The least time of the work on the ceilings of the same run, 0 if the product could not be measured. */
static double roofline_us(const bench_result *r) {
  if (!r->roofline.product_by) return 0;
  const double products = r->work.flops_most / r->roofline.product_flops, memory = r->work.bytes_most / r->roofline.copy_bytes;
  return (products > memory ? products : memory) * 1e6;
}

/* ------------------------------------------------------------------------------------------------ the run */

static mok_status device_name(const mok_gpu_run *gpu, bench_result *out) {
  const mok_kernel *kernel = gpu->kernels[0];
  MOK_CU_TRY(&kernel->cuda, cuDeviceGetName(out->device, (int)sizeof out->device, kernel->device));
  return MOK_OK;
}

/* One step on poisoned outputs, compared with the first one. */
static mok_status launch_once(mok_gpu_run *gpu, bench_result *out) {
  double time_us = 0;
  int64_t differences = 0;
  MOK_TRY(mok_gpu_run_launch(gpu, &time_us));
  MOK_TRY(mok_gpu_run_differences(gpu, &differences));
  if (differences == 0) return MOK_OK;
  out->verdict.pass = false;
  out->verdict.failure = mok_arena_printf(
      gpu->session->arena, "a launch after the measured ones gave other bits than the first in %" PRId64 " values", differences);
  return MOK_OK;
}

static mok_status measure(mok_session *session, const bench_request *request, mok_gpu_run *gpu, bench_result *out) {
  mok_gpu_expected expected;
  MOK_TRY(device_name(gpu, out));
  mok_session_progress(session, "running");
  MOK_TRY(launch_once(gpu, out));
  MOK_TRY(mok_gpu_run_fetch(gpu));
  MOK_TRY(mok_gpu_run_expect(gpu, request->sample, false, &expected));
  mok_gpu_run_judge(gpu, session->arena, &expected, &out->verdict);
  if (!out->verdict.pass) return MOK_OK;
  mok_session_progress(session, "measuring the layer");
  MOK_TRY(mok_bench_layer(gpu, &request->length, &out->times));
  mok_session_progress(session, "measuring what bounds it");
  MOK_TRY(mok_bench_roofline(gpu, &out->roofline));
  if (!out->roofline.product_by)
    mok_session_note(session, "no cuBLAS here, so there is no share of the roofline; MOKGEN_CUBLAS can name its library");
  return launch_once(gpu, out);
}

static mok_status bench_problem(mok_session *session, mok_work *work, const bench_request *request, mok_problem *problem,
                                bench_result *out) {
  mok_load_args package;
  mok_gpu_run gpu = {0};
  MOK_TRY(mok_work_package(session->arena, work, &package));
  mok_session_progress(session, "making inputs");
  MOK_TRY(mok_problem_make_tokens(session->arena, work->model, request->tokens, &request->routing, request->seed, problem));
  mok_session_progress(session, "making weights");
  mok_status status =
      mok_gpu_run_open(session, work->model, &package, work->target, request->place == MOK_RUN_COLOCATED, problem, &gpu);
  if (!status) {
    out->work = count_labour(problem, gpu.devices);
    status = measure(session, request, &gpu, out);
  }
  mok_gpu_run_close(&gpu);
  return status;
}

/* ------------------------------------------------------------------------------------------------ report */

static int devices_of(const mok_work *work, const bench_request *request) {
  return request->place == MOK_RUN_COLOCATED ? 1 : (int)work->model->gpus;
}

static void report_text(const mok_work *work, const bench_request *request, const bench_result *r, mok_buf *out) {
  const int devices = devices_of(work, request);
  const mok_verdict *v = &r->verdict;
  const double us = r->times.median, floor_us = roofline_us(r);
  if (v->pass) {
    mok_buf_printf(out, "%s on %d x %s%s, tokens ", work->model->name, devices, r->device,
                   devices < work->model->gpus ? " (all ranks on it)" : "");
    for (int64_t i = 0; i < work->model->gpus; ++i) mok_buf_printf(out, "%s%" PRId64, i ? "," : "", request->tokens[i]);
    mok_buf_printf(out, "\n  time      %10.1f us          quartiles %.1f and %.1f, least %.1f; %zu launches\n", us,
                   r->times.lower_quartile, r->times.upper_quartile, r->times.least, r->times.count);
    mok_buf_printf(out, "  products  %10.1f TFLOP/s     of a GPU; %.3f TFLOP in a step\n", r->work.flops / devices / us / 1e6,
                   r->work.flops / 1e12);
    mok_buf_printf(out, "  memory    %10.1f GB/s        of a GPU; weights and tokens once: %.3f GB in a step\n",
                   r->work.bytes / devices / us / 1e3, r->work.bytes / 1e9);
    if (floor_us > 0)
      mok_buf_printf(out, "  roofline  %10.1f us %6.1f %%  at %.1f TFLOP/s (8192-cubed product of %s) and %.1f GB/s (copy)\n",
                     floor_us, 100 * floor_us / us, r->roofline.product_flops / 1e12, r->roofline.product_by,
                     r->roofline.copy_bytes / 1e9);
    else mok_buf_printf(out, "  roofline           -              no cuBLAS; copy %.1f GB/s\n", r->roofline.copy_bytes / 1e9);
  }
  mok_buf_printf(out, "%s target=%s ranks=%" PRId64 " rel_l2=%.3e max_abs=%.3e checked=%" PRId64 " digest=%s time_us=",
                 v->pass ? "PASS" : "FAIL", work->target->name, work->model->gpus, v->rel_l2, v->max_abs, v->checked, v->digest);
  if (v->pass) mok_buf_printf(out, "%.0f\n", us);
  else mok_buf_puts(out, "-\n");
}

static void number(mok_json *json, const char *key, double value, int digits) {
  mok_json_key(json, key);
  mok_json_fixed(json, value, digits);
}
static void integer(mok_json *json, const char *key, int64_t value) {
  mok_json_key(json, key);
  mok_json_int(json, value);
}
static void string(mok_json *json, const char *key, const char *value) {
  mok_json_key(json, key);
  mok_json_string(json, value);
}

static void json_speed(mok_json *json, const bench_result *r, int devices) {
  const double us = r->times.median, floor_us = roofline_us(r);
  mok_json_key(json, "time_us");
  mok_json_begin_object(json);
  number(json, "median", us, 3);
  number(json, "lower_quartile", r->times.lower_quartile, 3);
  number(json, "upper_quartile", r->times.upper_quartile, 3);
  number(json, "least", r->times.least, 3);
  mok_json_end_object(json);
  number(json, "tflops_per_gpu", r->work.flops / devices / us / 1e6, 3);
  number(json, "gbytes_per_s_per_gpu", r->work.bytes / devices / us / 1e3, 3);
  mok_json_key(json, "roofline");
  mok_json_begin_object(json);
  string(json, "product_by", r->roofline.product_by);
  mok_json_key(json, "product_tflops");
  if (r->roofline.product_by) mok_json_fixed(json, r->roofline.product_flops / 1e12, 3);
  else mok_json_null(json);
  number(json, "copy_gbytes_per_s", r->roofline.copy_bytes / 1e9, 3);
  mok_json_key(json, "time_us");
  if (floor_us > 0) mok_json_fixed(json, floor_us, 3);
  else mok_json_null(json);
  mok_json_key(json, "share");
  if (floor_us > 0) mok_json_fixed(json, floor_us / us, 6);
  else mok_json_null(json);
  mok_json_end_object(json);
}

static void report_json(const mok_work *work, const bench_request *request, const bench_result *r, mok_buf *out) {
  const int devices = devices_of(work, request);
  mok_json json = mok_json_make(out);
  mok_json_begin_object(&json);
  integer(&json, "schema", 1);
  string(&json, "result", r->verdict.pass ? "PASS" : "FAIL");
  string(&json, "failure", r->verdict.failure);
  string(&json, "name", work->model->name);
  string(&json, "target", work->target->name);
  string(&json, "device", r->device);
  integer(&json, "devices", devices);
  integer(&json, "ranks", work->model->gpus);
  mok_json_key(&json, "tokens");
  mok_json_begin_array(&json);
  for (int64_t i = 0; i < work->model->gpus; ++i) mok_json_int(&json, request->tokens[i]);
  mok_json_end_array(&json);
  integer(&json, "seed", (int64_t)request->seed);
  number(&json, "rel_l2", r->verdict.rel_l2, 9);
  number(&json, "limit", r->verdict.limit, 9);
  number(&json, "max_abs", r->verdict.max_abs, 9);
  integer(&json, "checked", r->verdict.checked);
  string(&json, "digest", r->verdict.digest);
  number(&json, "flops", r->work.flops, 0);
  number(&json, "bytes", r->work.bytes, 0);
  integer(&json, "launches", (int64_t)r->times.count);
  if (r->verdict.pass) json_speed(&json, r, devices); /* a time of a wrong result means nothing */
  mok_json_end_object(&json);
  mok_json_finish(&json);
}

static mok_status bench(mok_session *session, mok_work *work, mok_problem *problem) {
  bench_request request = {.place = MOK_RUN_GPUS};
  bench_result result = {.verdict = {.pass = true}};
  MOK_TRY(mok_package_take(session, work));
  if (!work->package) MOK_TRY(mok_stages_run(session, work, MOK_STAGE_PLAN));
  MOK_TRY(mok_run_on_gpus(session, work, &request.place));
  MOK_TRY(parse_request(session, work->model, &request));
  if (!work->package) MOK_TRY(mok_stages_run(session, work, MOK_STAGE_COMPILE));
  MOK_TRY(bench_problem(session, work, &request, problem, &result));
  mok_session_progress(session, NULL);
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) report_json(work, &request, &result, &text);
  else report_text(work, &request, &result, &text);
  MOK_TRY(mok_session_print(&text));
  if (result.verdict.pass) return MOK_OK;
  return MOK_ERROR(MOK_ERR_MISMATCH, "the result is wrong: %s", result.verdict.failure);
}

mok_status mok_cmd_bench(mok_session *session) {
  mok_work work;
  mok_problem problem = {0};
  MOK_TRY(mok_work_init(&work, session));
  mok_status status = bench(session, &work, &problem);
  mok_problem_deinit(&problem);
  mok_work_deinit(&work);
  return status;
}
