/* check: the protocol, proved statically, explored by the engine, and run as compiled code where that is small enough. */
#include <inttypes.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../runtime/base/json.h"
#include "../check/check.h"
#include "commands.h"
#include "host_kernel.h"
#include "routing.h"
#include "stages.h"
#include "verdict.h"

enum {
  DEFAULT_SEEDS = 20,
  HOST_SEEDS = 4,  /* schedules of the compiled kernel */
  HOST_TOKENS = 16 /* per rank at most */
};
/* What the compiled kernel may cost: multiplications of one launch and bytes of all ranks. */
static const double host_multiplications = 3e8, host_bytes = 1e9;

typedef struct check_result {
  int static_findings;
  bool static_stopped; /* the findings were errors: nothing else ran */
  const mok_check_finding *findings;
  size_t finding_count;
  mok_check_coverage coverage;
  const char *host;     /* "passed" | "skipped" | "failed" */
  const char *host_why; /* schedules that agreed, or the reason */
} check_result;

/* ---- engine ---- */

typedef struct routes {
  const mok_model *model;
  mok_routing routing;
  mok_problem problem; /* ids and weights only */
} routes;

static mok_status fill_rows(void *user, uint64_t seed, const int64_t *tokens, int64_t *expert_rows) {
  routes *r = user;
  memset(expert_rows, 0, (size_t)r->model->experts * sizeof *expert_rows);
  r->problem.seed = seed;
  r->problem.expert_rows = expert_rows;
  for (int64_t rank = 0; rank < r->model->gpus; ++rank) r->problem.ranks[rank].tokens = tokens[rank];
  mok_arena *scratch = mok_arena_create(); /* there may be a million seeds */
  mok_status status = mok_routing_fill(scratch, &r->problem, &r->routing);
  mok_arena_destroy(scratch);
  return status;
}

static mok_status make_routes(mok_session *session, const mok_model *model, routes *out) {
  const mok_options *options = &session->options;
  *out = (routes){.model = model};
  MOK_TRY(mok_routing_parse(model, options->routing.given ? options->routing.text : "uniform", &out->routing));
  if (out->routing.kind == MOK_ROUTING_FILE)
    return MOK_ERROR(MOK_ERR_USAGE, "--routing file:F has routes for one count of tokens, and check explores several; use run");
  if (options->mask.given) MOK_TRY(mok_parse_number(options->mask.text, 0, 1, "--mask", &out->routing.mask));
  out->problem.model = model;
  out->problem.ranks = MOK_NEW_ARRAY(session->arena, (size_t)model->gpus, mok_rank_problem);
  const size_t routes_of_rank = (size_t)(model->tokens_per_gpu * model->top_k);
  for (int64_t rank = 0; rank < model->gpus; ++rank) {
    out->problem.ranks[rank].ids = MOK_NEW_ARRAY(session->arena, routes_of_rank, int32_t);
    out->problem.ranks[rank].weights = MOK_NEW_ARRAY(session->arena, routes_of_rank, float);
  }
  return MOK_OK;
}

static mok_status explore(mok_session *session, mok_work *work, check_result *result) {
  const mok_options *options = &session->options;
  mok_check_options what = {
      .first_seed = options->seed.given ? (uint64_t)options->seed.number : 1,
      .seeds = options->seeds.given ? options->seeds.number : DEFAULT_SEEDS,
      .poll = mok_interrupt_check,
  };
  routes chosen;
  if (options->tokens.given) {
    int64_t *tokens = MOK_NEW_ARRAY(session->arena, (size_t)work->model->gpus, int64_t);
    MOK_TRY(mok_tokens_parse(session->arena, work->model, options->tokens.text, tokens));
    what.tokens = tokens;
  }
  if (options->routing.given || options->mask.given) {
    MOK_TRY(make_routes(session, work->model, &chosen));
    what.route = fill_rows;
    what.route_user = &chosen;
  }
  const mok_kernel_view *view;
  mok_checker *checker;
  MOK_TRY(mok_ir_kernel_view(session->arena, work->module, NULL, &view));
  MOK_TRY(mok_checker_make(session->arena, view, work->plan, &checker));
  mok_session_progress(session, "exploring schedules");
  const int64_t start = mok_session_clock_us();
  MOK_TRY(mok_check_explore(checker, &what, &result->coverage));
  mok_session_progress(session, NULL);
  mok_session_remark(session, "%-8s %8.1f ms", "explore", (double)(mok_session_clock_us() - start) / 1e3);
  result->findings = mok_checker_findings(checker, &result->finding_count);
  for (size_t i = 0; i < result->finding_count; ++i) {
    const mok_check_finding *f = &result->findings[i];
    const char *hint = f->when ? mok_arena_printf(session->arena, "in %s", f->when) : NULL;
    mok_diag_report(session->diag, MOK_SEVERITY_ERROR, f->loc, hint, "protocol: %s: %s", mok_check_kind_name(f->kind), f->text);
  }
  return MOK_OK;
}

/* ---- compiled kernel ---- */

static const char *too_large(mok_session *session, const mok_work *work, int64_t tokens) {
  const mok_model *m = work->model;
  const mok_layout *layout = &work->plan->layout;
  const double columns = (double)(mok_up_columns(m) + m->intermediate) * (double)m->hidden;
  const double shared = (double)m->shared_intermediate * (double)m->hidden * (mok_is_gated(m) ? 3 : 2);
  const double rows = (double)m->gpus * (double)tokens;
  const double multiplications = rows * ((double)m->top_k * columns + shared);
  const double routed = rows * (double)m->top_k < (double)m->experts ? rows * (double)m->top_k : (double)m->experts;
  const double bytes = (double)m->gpus * (double)(layout->bytes[MOK_SPACE_HEAP] + layout->bytes[MOK_SPACE_LOCAL]) +
                       2 * (routed * columns + shared);
  if (bytes > host_bytes)
    return mok_arena_printf(session->arena, "all ranks together take %.1f GB, the limit is %.0f GB", bytes / 1e9,
                            host_bytes / 1e9);
  if (multiplications > host_multiplications)
    return mok_arena_printf(session->arena, "%" PRId64 " tokens a rank take %.1e multiplications, the limit is %.0e", tokens,
                            multiplications, host_multiplications);
  return NULL;
}

/* What a launch of the compiled kernel signals if it runs the program that the engine explored: its counters, and every CTA at
 * every barrier. */
static mok_status expected_signals(mok_session *session, const mok_work *work, const mok_problem *problem, const int64_t *tokens,
                                   int64_t *out) {
  const mok_kernel_view *view;
  mok_checker *checker;
  MOK_TRY(mok_ir_kernel_view(session->arena, work->module, NULL, &view));
  MOK_TRY(mok_checker_make(session->arena, view, work->plan, &checker));
  const mok_check_launch launch = {.tokens = tokens, .expert_rows = problem->expert_rows};
  const mok_check_case which = {.launches = &launch, .launch_count = 1};
  mok_check_totals totals = {0};
  MOK_TRY(mok_checker_run(checker, &which, &totals));
  *out = totals.signals;
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i)
      if (view->phases[p].items[i].barrier) *out += work->model->gpus * work->plan->grid;
  return MOK_OK;
}

static mok_status launch_all(mok_session *session, const mok_work *work, mok_problem *problem, mok_host_kernel *kernel,
                             const int64_t *tokens, check_result *result) {
  const uint64_t seed = session->options.seed.given ? (uint64_t)session->options.seed.number : 1;
  const mok_routing uniform = {.kind = MOK_ROUTING_UNIFORM};
  const size_t beside = mok_host_kernel_bytes(work->plan);
  mok_expected expected;
  MOK_TRY(mok_problem_make(session->arena, work->model, tokens, &uniform, seed, beside, problem));
  MOK_TRY(mok_expected_make(session->arena, problem, 0, &expected));
  MOK_TRY(mok_host_kernel_load(session->arena, work->plan, &work->image, problem, kernel));
  int64_t signals = 0;
  MOK_TRY(expected_signals(session, work, problem, tokens, &signals));
  char first[17] = "";
  for (int i = 0; i < HOST_SEEDS; ++i) {
    int64_t time_us = 0;
    mok_problem_poison(problem);
    MOK_TRY(mok_host_kernel_launch(session->arena, kernel, seed + (uint64_t)i, &time_us));
    MOK_TRY(mok_interrupt_check());
    mok_verdict verdict;
    mok_verdict_make(session->arena, problem, &expected, &verdict);
    if (i == 0) memcpy(first, verdict.digest, sizeof first);
    const char *wrong = verdict.failure;
    if (verdict.pass && strcmp(first, verdict.digest) != 0)
      wrong = mok_arena_printf(session->arena, "other bits (%s) than the first schedule's (%s)", verdict.digest, first);
    if (verdict.pass && kernel->signals != signals)
      wrong = mok_arena_printf(session->arena, "%" PRId64 " signals, the program that the engine ran has %" PRId64,
                               kernel->signals, signals);
    if (!wrong) continue;
    result->host = "failed";
    result->host_why = mok_arena_printf(session->arena, "schedule seed %" PRIu64 ": %s", seed + (uint64_t)i, wrong);
    return MOK_OK;
  }
  result->host = "passed";
  result->host_why = mok_arena_printf(
      session->arena,
      "%d schedules of %" PRId64 " tokens a rank give the reference's result, the same bits and the engine's %" PRId64 " signals",
      HOST_SEEDS, tokens[0], signals);
  return MOK_OK;
}

/* A compiler that is not there is no finding. */
static mok_status run_compiled(mok_session *session, mok_work *work, check_result *result) {
  const int64_t most = work->model->tokens_per_gpu < HOST_TOKENS ? work->model->tokens_per_gpu : HOST_TOKENS;
  result->host = "skipped";
  result->host_why = too_large(session, work, most);
  if (result->host_why) return MOK_OK;
  mok_status status = mok_stages_run(session, work, MOK_STAGE_COMPILE);
  if (status && mok_status_exit_code(status) == MOK_ERR_IO) {
    result->host_why = mok_arena_strdup(session->arena, mok_status_text(status));
    mok_status_free(status);
    return MOK_OK;
  }
  if (status) return status;
  int64_t *tokens = MOK_NEW_ARRAY(session->arena, (size_t)work->model->gpus, int64_t);
  for (int64_t r = 0; r < work->model->gpus; ++r) tokens[r] = most;
  mok_problem problem = {0};
  mok_host_kernel kernel = {.file = -1};
  mok_session_progress(session, "running the compiled kernel");
  status = launch_all(session, work, &problem, &kernel, tokens, result);
  mok_session_progress(session, NULL);
  mok_host_kernel_unload(&kernel);
  mok_problem_deinit(&problem);
  if (status && mok_status_exit_code(status) == MOK_ERR_PROTOCOL) {
    result->host = "failed";
    result->host_why = mok_arena_strdup(session->arena, mok_status_text(status));
    mok_status_free(status);
    return MOK_OK;
  }
  return status;
}

/* ---- result ---- */

/* Static findings that --no-check made warnings do not fail by themselves. */
static bool passed(const check_result *r) {
  return !r->static_stopped && r->finding_count == 0 && strcmp(r->host, "failed") != 0;
}

static void result_text(const mok_work *work, const check_result *r, mok_buf *out) {
  const mok_check_coverage *c = &r->coverage;
  if (r->static_findings > 0)
    mok_buf_printf(out, "static  %d finding%s%s\n", r->static_findings, r->static_findings == 1 ? "" : "s",
                   r->static_stopped ? "" : ", warnings only (--no-check)");
  else mok_buf_puts(out, "static  order, counts, cover and edges are proved for all sizes and routings\n");
  if (r->static_stopped) mok_buf_puts(out, "engine  skipped: the static check failed (--no-check runs it nevertheless)\n");
  else if (c->seeds == 0)
    mok_buf_printf(out, "engine  %zu findings that hold for all sizes, so nothing was run\n", r->finding_count);
  else
    mok_buf_printf(out,
                   "engine  %" PRId64 " seeds, %" PRId64 " launches of %" PRId64 " ranks: %" PRId64 " to %" PRId64
                   " tokens a rank of %" PRId64 ", rings of %" PRId64 " to %" PRId64 " slots (the plan's: %" PRId64
                   "), up to %" PRId64 " row blocks a rank and %" PRId64 " laps; %" PRId64
                   " tiles, ranks of equal sizes run once\n",
                   c->seeds, c->totals.launches, work->model->gpus, c->tokens_least, c->tokens_most, work->model->tokens_per_gpu,
                   c->ring_least, c->ring_most, work->plan->ring_slots, c->blocks_most, c->totals.laps, c->totals.tasks);
  mok_buf_printf(out, "host    %s: %s\n", r->host, r->host_why);
  mok_buf_printf(out,
                 "%s ranks=%" PRId64 " static=%d seeds=%" PRId64 " findings=%zu laps=%" PRId64 " tiles=%" PRId64 " host=%s\n",
                 passed(r) ? "PASS" : "FAIL", work->model->gpus, r->static_findings, c->seeds, r->finding_count, c->totals.laps,
                 c->totals.tasks, r->host);
}

static void put_int(mok_json *json, const char *key, int64_t value) {
  mok_json_key(json, key);
  mok_json_int(json, value);
}

static void put_text(mok_json *json, const char *key, const char *text) {
  mok_json_key(json, key);
  mok_json_string(json, text);
}

static void result_json(const mok_work *work, const check_result *r, mok_buf *out) {
  const mok_check_coverage *c = &r->coverage;
  mok_json json = mok_json_make(out);
  mok_json_begin_object(&json);
  put_int(&json, "schema", 1);
  put_text(&json, "result", passed(r) ? "PASS" : "FAIL");
  put_int(&json, "ranks", work->model->gpus);
  put_int(&json, "static_findings", r->static_findings);
  mok_json_key(&json, "engine");
  mok_json_begin_object(&json);
  put_int(&json, "seeds", c->seeds);
  put_int(&json, "launches", c->totals.launches);
  put_int(&json, "tiles", c->totals.tasks);
  put_int(&json, "laps", c->totals.laps);
  put_int(&json, "tokens_least", c->tokens_least);
  put_int(&json, "tokens_most", c->tokens_most);
  put_int(&json, "ring_slots_least", c->ring_least);
  put_int(&json, "ring_slots_most", c->ring_most);
  put_int(&json, "row_blocks_most", c->blocks_most);
  mok_json_end_object(&json);
  mok_json_key(&json, "findings");
  mok_json_begin_array(&json);
  for (size_t i = 0; i < r->finding_count; ++i) {
    mok_json_begin_object(&json);
    put_text(&json, "kind", mok_check_kind_name(r->findings[i].kind));
    put_text(&json, "file", r->findings[i].loc.file);
    put_int(&json, "line", r->findings[i].loc.line);
    put_text(&json, "text", r->findings[i].text);
    put_text(&json, "when", r->findings[i].when);
    mok_json_end_object(&json);
  }
  mok_json_end_array(&json);
  mok_json_key(&json, "host");
  mok_json_begin_object(&json);
  put_text(&json, "result", r->host);
  put_text(&json, "detail", r->host_why);
  mok_json_end_object(&json);
  mok_json_end_object(&json);
  mok_json_finish(&json);
}

static mok_status check(mok_session *session, mok_work *work) {
  check_result result = {.host = "skipped", .host_why = "the protocol has findings"};
  work->target_name = "host"; /* the protocol is the same for all targets; only this one runs everywhere */
  MOK_TRY(mok_stages_run(session, work, MOK_STAGE_PLAN));
  MOK_TRY(mok_stages_run(session, work, work->from_module ? MOK_STAGE_RESUME : MOK_STAGE_BUILD));
  const int before = mok_diag_warnings(session->diag);
  mok_status status = mok_stages_run(session, work, MOK_STAGE_PASSES);
  if (status && mok_status_exit_code(status) != MOK_ERR_PROTOCOL) return status;
  result.static_stopped = status != MOK_OK;
  result.static_findings = result.static_stopped ? mok_diag_errors(session->diag) : mok_diag_warnings(session->diag) - before;
  mok_status_free(status);
  if (!result.static_stopped) MOK_TRY(mok_work_blame(work, explore(session, work, &result)));
  if (passed(&result)) MOK_TRY(run_compiled(session, work, &result));
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) result_json(work, &result, &text);
  else result_text(work, &result, &text);
  MOK_TRY(mok_session_print(&text));
  if (passed(&result)) return MOK_OK;
  if (strcmp(result.host, "failed") == 0) return MOK_ERROR(MOK_ERR_PROTOCOL, "the compiled kernel: %s", result.host_why);
  return mok_status_mark_reported(MOK_ERROR(MOK_ERR_PROTOCOL, "the protocol has findings"));
}

mok_status mok_cmd_check(mok_session *session) {
  mok_work work;
  MOK_TRY(mok_work_init(&work, session));
  mok_status status = check(session, &work);
  mok_work_deinit(&work);
  return status;
}
