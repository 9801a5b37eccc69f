/* The protocol engine: right modules have no finding, every lost wait and every planted fault has one. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/check/check.h"
#include "../../compiler/passes/pass.h"
#include "../passes/tiny_plan.h"
#include "../support/support.h"

enum { SEEDS = 10 };

static mok_arena *arena;
static mok_diag *diag;
static mok_ir *ir;

static void setup(void) {
  arena = mok_arena_create();
  diag = mok_diag_create(arena);
  ir = mok_ir_create(diag);
}

static void teardown(void) {
  mok_ir_destroy(ir);
  mok_arena_destroy(arena);
}

static void expect_ok(mok_status status) {
  if (status) mok_diag_print(diag, stderr, false);
  ck_assert_msg(status == MOK_OK, "%s", mok_status_text(status));
}

/* One rank without a shared expert; two with one and several laps; four that own 1 or 2 of 6 experts; a push from the
 * epilogue; one rank that moves no rows; two and three that move only those of others; the same with products in rounds, in
 * pairs, in both. */
#define SMALL_RING "tile_m=64", "tile_n=32", "minibatch_rows=128", "ring_rows=256"
#define AHEAD "tile_m=64", "tile_n=32", "minibatch_rows=128", "ring_rows=384"
#define SMS "comm=sms", "own_rows=copy"
#define ALONE "cluster=1"
#define PAIRS "cluster=2"
#define ONE_RANK "gpus=1", "tokens_per_gpu=640", SMALL_RING, SMS, ALONE
#define TWO_RANKS_OF(...) "gpus=2", "tokens_per_gpu=640", "shared_experts=1", SMS, __VA_ARGS__
#define TWO_RANKS TWO_RANKS_OF(SMALL_RING, ALONE)
#define FOUR_RANKS "gpus=4", "experts=6", "tokens_per_gpu=200", "gpu=host", SMS
#define EPILOGUE_OF(...) "gpus=2", "tokens_per_gpu=300", "comm=epilogue", "own_rows=copy", __VA_ARGS__
#define EPILOGUE EPILOGUE_OF(SMALL_RING, ALONE)
#define IN_PLACE_OF(...) "gpus=1", "tokens_per_gpu=640", "shared_experts=1", "own_rows=direct", __VA_ARGS__
#define IN_PLACE IN_PLACE_OF(SMALL_RING, ALONE)
#define SPLIT "gpus=2", "tokens_per_gpu=640", "shared_experts=1", "comm=sms", "own_rows=direct", SMALL_RING, ALONE
#define SPLIT_EPILOGUE "gpus=3", "experts=7", "tokens_per_gpu=300", "comm=epilogue", "own_rows=direct", ALONE
#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
static const char *const *const models[] = {
    SETTINGS(ONE_RANK),
    SETTINGS(TWO_RANKS),
    SETTINGS(FOUR_RANKS),
    SETTINGS(EPILOGUE),
    SETTINGS(IN_PLACE),
    SETTINGS("gpus=2", "activation=relu2", "top_k=1"),
    SETTINGS(SPLIT),
    SETTINGS(SPLIT_EPILOGUE),
    SETTINGS(TWO_RANKS_OF(AHEAD, ALONE)),
    SETTINGS(EPILOGUE_OF(AHEAD, ALONE)),
    SETTINGS(IN_PLACE_OF(AHEAD, ALONE)),
    SETTINGS(TWO_RANKS_OF(SMALL_RING, PAIRS)),
    SETTINGS(EPILOGUE_OF(SMALL_RING, PAIRS)),
    SETTINGS(IN_PLACE_OF(SMALL_RING, PAIRS)),
    SETTINGS(TWO_RANKS_OF(AHEAD, PAIRS)),
    SETTINGS(EPILOGUE_OF(AHEAD, PAIRS)),
    SETTINGS(IN_PLACE_OF(AHEAD, PAIRS)),
};
enum { FIRST_AHEAD = 8, FIRST_PAIRS = 11, FIRST_BOTH = 14, NUM_MODELS = sizeof models / sizeof models[0] };

static const mok_plan *plan_of(const char *const *settings) {
  mok_model *model = mok_tiny_model(arena);
  for (; *settings; ++settings) ck_assert_msg(mok_tiny_set(arena, model, *settings), "%s", *settings);
  const mok_plan *plan = NULL;
  expect_ok(mok_tiny_plan(arena, diag, model, &plan));
  return plan;
}

/* The module after insert-sync, as text. */
static char *module_of(const mok_plan *plan) {
  mok_module *module = NULL;
  expect_ok(mok_ir_build(ir, plan, &module));
  expect_ok(mok_pipeline_run(ir, module, plan, &(mok_pipeline_options){.stop_after = "insert-sync"}));
  mok_buf text = mok_buf_make(arena);
  mok_ir_print(module, &text);
  return text.data;
}

static mok_module *parse(const char *text) {
  mok_module *module = NULL;
  expect_ok(mok_ir_parse(ir, "edited.mlir", text, strlen(text), &module));
  return module;
}

/* Does check-protocol refuse it? */
static bool static_finds(const char *text, const mok_plan *plan) {
  mok_status status = mok_pipeline_run(ir, parse(text), plan, &(mok_pipeline_options){.stop_after = "check-protocol"});
  const int code = mok_status_exit_code(status);
  mok_status_free(status);
  ck_assert_msg(code == 0 || code == MOK_ERR_PROTOCOL || code == MOK_ERR_DESCRIPTION, "code %d", code);
  return code != 0;
}

static mok_checker *checker_of(const mok_kernel_view *view, const mok_plan *plan) {
  mok_checker *checker = NULL;
  expect_ok(mok_checker_make(arena, view, plan, &checker));
  return checker;
}

static const mok_kernel_view *view_of(const char *text) {
  const mok_kernel_view *view = NULL;
  expect_ok(mok_ir_kernel_view(arena, parse(text), NULL, &view));
  return view;
}

static bool has(const mok_checker *checker, mok_check_kind kind) {
  size_t count;
  const mok_check_finding *list = mok_checker_findings(checker, &count);
  for (size_t i = 0; i < count; ++i)
    if (list[i].kind == kind) return true;
  return false;
}

/* Kinds of all findings, for messages. */
static const char *kinds(const mok_checker *checker) {
  size_t count;
  const mok_check_finding *list = mok_checker_findings(checker, &count);
  mok_buf out = mok_buf_make(arena);
  for (size_t i = 0; i < count; ++i) mok_buf_printf(&out, "%s: %s\n", mok_check_kind_name(list[i].kind), list[i].text);
  return count ? out.data : "nothing";
}

static size_t explore(mok_checker *checker, mok_check_coverage *coverage) {
  expect_ok(mok_check_explore(checker, &(mok_check_options){.first_seed = 1, .seeds = SEEDS}, coverage));
  size_t count;
  mok_checker_findings(checker, &count);
  return count;
}

/* ---- right modules ---- */

START_TEST(test_right) {
  const mok_plan *plan = plan_of(models[_i]);
  const mok_kernel_view *view = view_of(module_of(plan));
  const bool ahead = view->phases[1].ahead_count > 0;
  if (_i >= FIRST_AHEAD) {
    ck_assert_int_eq(ahead, _i < FIRST_PAIRS || _i >= FIRST_BOTH);
    ck_assert_int_eq(plan->cluster, _i < FIRST_PAIRS ? 1 : 2);
  }
  mok_checker *checker = checker_of(view, plan);
  mok_check_coverage coverage;
  ck_assert_msg(explore(checker, &coverage) == 0, "%s", kinds(checker));
  ck_assert_int_eq(coverage.seeds, SEEDS);
  ck_assert_int_eq(coverage.totals.launches, 3 * SEEDS);
  ck_assert_int_ge(coverage.totals.laps, 2);
  ck_assert_int_eq(coverage.ring_least, (ahead ? 2 : 1) * plan->cluster); /* a slot a minibatch for each CTA of a cluster */
  ck_assert_int_ge(coverage.ring_most, plan->ring_slots);
}
END_TEST

/* ---- one case by hand ---- */

typedef struct counted {
  int64_t ran;
  bool newest;
} counted;

static size_t pick(void *user, const int32_t *ready, size_t count, int *burst) {
  (void)ready;
  *burst = 3;
  return ((counted *)user)->newest ? count - 1 : 0;
}

static void ran(void *user, int32_t instance, const mok_ir_op *op) {
  (void)instance, (void)op;
  ++((counted *)user)->ran;
}

/* Three launches under the plan's own ring: `laps` laps and a block, nothing, one lap. */
static void run_laps(mok_checker *checker, const mok_plan *plan, int64_t laps, counted *user, mok_check_case which,
                     mok_check_totals *totals) {
  const mok_model *m = plan->model;
  int64_t *tokens = MOK_NEW_ARRAY(arena, (size_t)m->gpus, int64_t);
  mok_check_launch launches[3];
  for (int l = 0; l < 3; ++l) {
    int64_t *rows = MOK_NEW_ARRAY(arena, (size_t)m->experts, int64_t);
    const int64_t blocks = l == 0 ? laps * plan->ring_slots + 1 : l == 1 ? 0 : plan->ring_slots;
    for (int64_t r = 0; r < m->gpus; ++r) {
      tokens[r] = m->tokens_per_gpu;
      if (mok_local_experts(m, r) > 0) rows[mok_first_expert(m, r)] = blocks * plan->row_padding;
    }
    launches[l] = (mok_check_launch){tokens, rows};
  }
  const mok_check_chooser chooser = {.user = user, .pick = pick, .ran = ran};
  which.launches = launches;
  which.launch_count = 3;
  which.chooser = &chooser;
  expect_ok(mok_checker_run(checker, &which, totals));
}

START_TEST(test_schedules) { /* what runs does not depend on who goes first */
  const mok_plan *plan = plan_of(SETTINGS(TWO_RANKS));
  mok_checker *checker = checker_of(view_of(module_of(plan)), plan);
  mok_check_totals a = {0}, b = {0};
  counted first = {0, false}, second = {0, true};
  run_laps(checker, plan, 3, &first, (mok_check_case){0}, &a);
  run_laps(checker, plan, 3, &second, (mok_check_case){0}, &b);
  ck_assert_str_eq(kinds(checker), "nothing");
  ck_assert_int_eq(a.laps, 4);
  ck_assert_int_gt(a.tasks, 0);
  ck_assert_int_eq(a.tasks, b.tasks);
  ck_assert_int_gt(first.ran, a.tasks);
  ck_assert_int_eq(first.ran, second.ran);
}
END_TEST

/* Where tasks run a minibatch ahead, a ring of one minibatch waits for itself. */
START_TEST(test_short_ring) {
  const mok_plan *plan = plan_of(models[FIRST_AHEAD + _i]);
  const int64_t blocks = plan->minibatch_rows / plan->row_padding;
  for (int64_t minibatches = 2; minibatches >= 1; --minibatches) {
    mok_checker *checker = checker_of(view_of(module_of(plan)), plan);
    const mok_check_case which = {.ring_slots = minibatches * blocks, .cta_limit = plan->cluster};
    mok_check_totals totals = {0};
    run_laps(checker, plan, 2, &(counted){0}, which, &totals);
    ck_assert_msg(has(checker, MOK_CHECK_DEADLOCK) == (minibatches == 1), "%d: %s", (int)minibatches, kinds(checker));
    if (minibatches == 2) ck_assert_str_eq(kinds(checker), "nothing");
  }
}
END_TEST

START_TEST(test_stale_counters) { /* launches that do not clear the set of the next one */
  const mok_plan *plan = plan_of(SETTINGS(ONE_RANK));
  mok_checker *checker = checker_of(view_of(module_of(plan)), plan);
  mok_check_totals totals = {0};
  run_laps(checker, plan, 1, &(counted){0}, (mok_check_case){.keep_counters = true}, &totals);
  ck_assert_msg(has(checker, MOK_CHECK_STALE), "%s", kinds(checker));
}
END_TEST

START_TEST(test_too_large) { /* a message and no allocation of tens of gigabytes */
  const mok_plan *plan = plan_of(SETTINGS(ONE_RANK));
  mok_checker *checker = checker_of(view_of(module_of(plan)), plan);
  const int64_t tokens[] = {640}, rows[] = {INT64_C(1) << 36, 0, 0, 0};
  const mok_check_launch launch = {tokens, rows};
  const mok_check_chooser chooser = {.user = &(counted){0}, .pick = pick};
  const mok_check_case which = {.launches = &launch, .launch_count = 1, .chooser = &chooser};
  mok_check_totals totals = {0};
  mok_assert_error(mok_checker_run(checker, &which, &totals), MOK_ERR_USAGE, "--tokens");
}
END_TEST

/* ---- edits ---- */

static const char *line_start(const char *text, const char *at) {
  while (at > text && at[-1] != '\n') --at;
  return at;
}

static const char *line_end(const char *at) {
  const char *newline = strchr(at, '\n');
  return newline ? newline + 1 : at + strlen(at);
}

/* Line number `which` of those that hold `part`; NULL: there is none. */
static const char *find_line(const char *text, const char *part, int which) {
  const char *at = strstr(text, part);
  for (; at && which > 0; --which) at = strstr(line_end(at), part);
  return at ? line_start(text, at) : NULL;
}

static char *splice(const char *text, const char *from, const char *to, const char *with) {
  return mok_arena_printf(arena, "%.*s%s%s", (int)(from - text), text, with, to);
}

static char *without_line(const char *text, const char *part, int which) {
  const char *line = find_line(text, part, which);
  ck_assert_msg(line != NULL, "no line with %s", part);
  return splice(text, line, line_end(line), "");
}

static char *replaced(const char *text, const char *line_part, const char *from, const char *to) {
  const char *line = find_line(text, line_part, 0);
  ck_assert_msg(line != NULL, "no line with %s", line_part);
  const char *at = strstr(line, from);
  ck_assert_msg(at != NULL && at < line_end(line), "no %s in the line with %s", from, line_part);
  return splice(text, at, at + strlen(from), to);
}

/* ---- every wait ---- */

START_TEST(test_lost_waits) {
  const mok_plan *plan = plan_of(models[_i]);
  const char *text = module_of(plan);
  int waits = 0;
  for (; find_line(text, "mok.wait", waits); ++waits) {
    const char *edited = without_line(text, "mok.wait", waits);
    mok_checker *checker = checker_of(view_of(edited), plan);
    mok_check_coverage coverage;
    explore(checker, &coverage);
    const bool found =
        has(checker, MOK_CHECK_UNORDERED) || has(checker, MOK_CHECK_UNWRITTEN) || has(checker, MOK_CHECK_OVERWRITTEN);
    ck_assert_msg(found, "the engine misses lost wait %d: %s", waits, kinds(checker));
    ck_assert_msg(coverage.seeds <= 2, "lost wait %d needs %d seeds", waits, (int)coverage.seeds);
    ck_assert_msg(static_finds(edited, plan), "check-protocol misses lost wait %d", waits);
  }
  static const int expected[NUM_MODELS] = {6, 7, 6, 4, 3, 6, 7, 4, 7, 4, 3, 7, 4, 3, 7, 4, 3};
  ck_assert_int_eq(waits, expected[_i]);
}
END_TEST

/* ---- planted faults ---- */

/* Where the view is edited: nothing else has a pointer to it. */
static mok_ir_task *find_task(const mok_kernel_view *view, const char *worker, const char *task) {
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t)
          if (strcmp(role->workers[w].name, worker) == 0 && strcmp(role->workers[w].tasks[t].name, task) == 0)
            return (mok_ir_task *)(uintptr_t)&role->workers[w].tasks[t];
    }
  ck_abort_msg("no task %s in %s", task, worker);
  return NULL;
}

static mok_ir_op *find_op(const mok_kernel_view *view, const char *worker, const char *task, mok_ir_op_kind kind) {
  const mok_ir_task *t = find_task(view, worker, task);
  for (size_t i = 0; i < t->op_count; ++i)
    if (t->ops[i].kind == kind) return (mok_ir_op *)(uintptr_t)&t->ops[i];
  ck_abort_msg("no %s in %s", mok_ir_op_name(kind), task);
  return NULL;
}

static mok_ir_role *find_role(const mok_kernel_view *view, const char *name) {
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      if (role && strcmp(role->name, name) == 0) return (mok_ir_role *)(uintptr_t)role;
    }
  ck_abort_msg("no role %s", name);
  return NULL;
}

static void swap_tasks(mok_ir_task *a, mok_ir_task *b) {
  const mok_ir_task kept = *a;
  *a = *b;
  *b = kept;
}

static const char *lost_signal(const char *t) { return without_line(t, "mok.signal @h_ready", 0); }
static const char *double_signal(const char *t) {
  const char *line = find_line(t, "mok.signal @h_ready", 0);
  return splice(t, line, line, mok_arena_strndup(arena, line, (size_t)(line_end(line) - line)));
}
static const char *early_signal(const char *t) { /* ahead of the work it stands for */
  const char *line = find_line(t, "mok.signal @x_ready", 0), *pull = find_line(t, "mok.pull", 0);
  const char *signal = mok_arena_strndup(arena, line, (size_t)(line_end(line) - line));
  const char *moved = splice(t, line, line_end(line), "");
  return splice(moved, moved + (pull - t), moved + (pull - t), signal);
}
static const char *late_wait(const char *t) { /* behind the access it is for */
  const char *line = find_line(t, "mok.wait @x_ready", 0);
  const char *wait = mok_arena_strndup(arena, line, (size_t)(line_end(line) - line));
  const char *moved = splice(t, line, line_end(line), "");
  const char *load = line_end(find_line(moved, "mok.load @up", 0));
  return splice(moved, load, load, wait);
}
static const char *small_target(const char *t) { return replaced(t, "mok.wait @x_ready", ">= row_pieces", ">= up_columns"); }
static const char *no_lag(const char *t) {
  const char *line = "mok.wait @h_ready[row_block - ring_slots]";
  return replaced(replaced(t, line, " lap ", " "), line, " - ring_slots", "");
}
static const char *no_combined(const char *t) { return without_line(t, "mok.barrier rank as combined", 0); }
static const char *routed_in_grid(const char *t) { return replaced(t, "mok.barrier rank as routed", "rank as routed", "grid"); }
static const char *combined_in_grid(const char *t) {
  return replaced(t, "mok.barrier rank as combined", "rank as combined", "grid");
}
static const char *read_only_edge(const char *t) { /* the bulk store's source is read, its destination not yet written */
  return replaced(t, "mok.signal @h_ready", "bulk_to_bulk", "read_to_write");
}
static const char *generic_edge(const char *t) {
  return replaced(t, "mok.signal @x_ready", "bulk_to_bulk", "generic_to_generic");
}
static const char *reader_still_reads(const char *t) {
  return replaced(t, "mok.signal @y_done", "read_to_write", "generic_to_generic");
}
static const char *shared_counter(const char *t) { /* one counter for two producers */
  return replaced(t, "mok.signal @h_ready", "@h_ready", "@x_ready");
}
static const char *wrong_counter(const char *t) { /* waits for its own task */
  return replaced(t, "mok.wait @x_ready", "@x_ready[row_block] >= row_pieces",
                  "@h_ready[row_block] >= up_columns * mma_instances");
}

/* Removes the barrier behind the role of `worker`. The verifier refuses that in a text. */
static void drop_barrier(const mok_kernel_view *v, const char *worker) {
  for (size_t p = 0; p < v->phase_count; ++p)
    for (size_t i = 0; i + 1 < v->phases[p].item_count; ++i) {
      mok_ir_phase *phase = (mok_ir_phase *)(uintptr_t)&v->phases[p];
      const mok_ir_role *role = phase->items[i].role;
      if (!role || strcmp(role->workers[0].name, worker) != 0 || !phase->items[i + 1].barrier) continue;
      mok_ir_item *items = MOK_NEW_ARRAY(arena, phase->item_count, mok_ir_item);
      memcpy(items, phase->items, phase->item_count * sizeof *items);
      memmove(items + i + 1, items + i + 2, (--phase->item_count - (i + 1)) * sizeof *items);
      phase->items = items;
      return;
    }
  ck_abort_msg("no barrier behind %s", worker);
}
static void no_routed(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  drop_barrier(v, "publish");
}
static void no_grid(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  drop_barrier(v, "place_experts");
}
static void one_less(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  find_op(v, "load", "up", MOK_IR_WAIT)->target.value -= 1;
}
static void one_more(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  find_op(v, "load", "up", MOK_IR_WAIT)->target.value += 1;
}
static void lag_one_more(const mok_kernel_view *v, mok_plan *p) { /* some other number of the plan as the lag */
  p->warp_slots = p->ring_slots + 1;
  find_op(v, "pull", "dispatch", MOK_IR_WAIT)->index.lag = "warp_slots";
}
static void lag_one_less(const mok_kernel_view *v, mok_plan *p) {
  p->warp_slots = p->ring_slots - 1;
  find_op(v, "pull", "dispatch", MOK_IR_WAIT)->index.lag = "warp_slots";
}
static void lag_of_store(const mok_kernel_view *v, mok_plan *p) {
  p->warp_slots = p->ring_slots + 1;
  find_op(v, "mma", "down", MOK_IR_WAIT)->index.lag = "warp_slots";
}
static void lag_without_lap(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  find_op(v, "pull", "dispatch", MOK_IR_WAIT)->lap = false;
}
static void swapped_order(const mok_kernel_view *v, mok_plan *p) { /* down ahead of the up of its minibatch */
  (void)p;
  swap_tasks(find_task(v, "load", "up"), find_task(v, "load", "down"));
  swap_tasks(find_task(v, "mma", "up"), find_task(v, "mma", "down"));
}
static void swapped_loads(const mok_kernel_view *v, mok_plan *p) { /* only one side of the pipeline */
  (void)p;
  swap_tasks(find_task(v, "mma", "up"), find_task(v, "mma", "down"));
}
static void few_words(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  ((mok_ir_counter *)(uintptr_t)&v->counters[0])->words = 1;
}
static void second_pull(const mok_kernel_view *v, mok_plan *p) { /* a worker that pulls what another pulls */
  (void)p;
  mok_ir_role *role = find_role(v, "comm");
  mok_ir_worker *workers = MOK_NEW_ARRAY(arena, role->worker_count + 1, mok_ir_worker);
  memcpy(workers, role->workers, role->worker_count * sizeof *workers);
  workers[role->worker_count++] = workers[0];
  role->workers = workers;
}
static void no_push(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  --find_role(v, "comm")->worker_count;
}
static void ordinary_store(const mok_kernel_view *v, mok_plan *p) { /* read by bulk copies without a proxy fence */
  (void)p;
  find_op(v, "mma", "up", MOK_IR_STORE)->kind = MOK_IR_STORE_PUSHED;
}
static void unwritten_list(const mok_kernel_view *v, mok_plan *p) {
  (void)p;
  find_op(v, "publish", "publish", MOK_IR_SORT_ROUTES)->write_count = 1;
}
static void early_peers(const mok_kernel_view *v, mok_plan *p) { /* the first thing of a launch reads what peers write last */
  (void)p;
  mok_ir_place *flags = MOK_NEW(arena, mok_ir_place);
  for (size_t i = 0; i < v->region_count; ++i)
    if (strcmp(v->regions[i].name, "flags") == 0) *flags = (mok_ir_place){.name = "flags", .region = &v->regions[i]};
  ck_assert_ptr_nonnull(flags->region);
  mok_ir_op *reduce = find_op(v, "tokens", "reduce", MOK_IR_REDUCE);
  reduce->writes = flags;
  reduce->write_count = 1;
  mok_ir_op *publish = find_op(v, "publish", "publish", MOK_IR_PUBLISH_TOKENS);
  publish->kind = MOK_IR_PLACE_EXPERTS; /* a kind that reads its peers */
  publish->reads = flags;
  publish->read_count = 1;
}

/* FINDS: check-protocol must refuse the same text. It does not see an edited view. ONE_CTA: each role has one, since with more
 * the swapped tasks are in different hands. */
typedef enum how { NOT_ASKED, FINDS, ONE_CTA } how;
static const struct {
  const char *name;
  const char *(*edit)(const char *text);
  void (*edit_view)(const mok_kernel_view *view, mok_plan *plan);
  mok_check_kind engine; /* one of its findings */
  how how;
} faults[] = {
    {"lost signal", lost_signal, NULL, MOK_CHECK_DEADLOCK, FINDS},
    {"double signal", double_signal, NULL, MOK_CHECK_PASSED, FINDS},
    {"signal ahead of the work", early_signal, NULL, MOK_CHECK_UNORDERED, FINDS},
    {"wait behind the access", late_wait, NULL, MOK_CHECK_UNWRITTEN, FINDS},
    {"part of the target", small_target, NULL, MOK_CHECK_UNORDERED, FINDS},
    {"no lag", no_lag, NULL, MOK_CHECK_DEADLOCK, FINDS},
    {"rank barrier after publishing removed", NULL, no_routed, MOK_CHECK_RANKS, NOT_ASKED},
    {"rank barrier after combine removed", no_combined, NULL, MOK_CHECK_RANKS, FINDS},
    {"grid barrier after placing experts removed", NULL, no_grid, MOK_CHECK_UNORDERED, NOT_ASKED},
    {"grid barrier in place of the first rank barrier", routed_in_grid, NULL, MOK_CHECK_RANKS, FINDS},
    {"grid barrier in place of the second rank barrier", combined_in_grid, NULL, MOK_CHECK_RANKS, FINDS},
    {".read in place of completion", read_only_edge, NULL, MOK_CHECK_UNORDERED, FINDS},
    {"generic edge for bulk copies", generic_edge, NULL, MOK_CHECK_UNORDERED, FINDS},
    {"slot freed while its reader reads", reader_still_reads, NULL, MOK_CHECK_UNORDERED, NOT_ASKED},
    {"one counter for two producers", shared_counter, NULL, MOK_CHECK_PASSED, FINDS},
    {"wait for one's own task", wrong_counter, NULL, MOK_CHECK_DEADLOCK, FINDS},
    {"target one too low", NULL, one_less, MOK_CHECK_UNORDERED, NOT_ASKED},
    {"target one too high", NULL, one_more, MOK_CHECK_DEADLOCK, NOT_ASKED},
    {"ring one too long for its wait", NULL, lag_one_more, MOK_CHECK_UNORDERED, NOT_ASKED},
    {"ring one too short for its wait", NULL, lag_one_less, MOK_CHECK_UNORDERED, NOT_ASKED},
    {"ring of y one too long for its wait", NULL, lag_of_store, MOK_CHECK_UNORDERED, NOT_ASKED},
    {"no guard of the first lap", NULL, lag_without_lap, MOK_CHECK_INDEX, NOT_ASKED},
    {"swapped task order", NULL, swapped_order, MOK_CHECK_DEADLOCK, ONE_CTA},
    {"swapped task order of one side", NULL, swapped_loads, MOK_CHECK_PIPELINE, NOT_ASKED},
    {"too few words", NULL, few_words, MOK_CHECK_INDEX, NOT_ASKED},
    {"task done twice", NULL, second_pull, MOK_CHECK_TWICE, NOT_ASKED},
    {"task never done", NULL, no_push, MOK_CHECK_NEVER, NOT_ASKED},
    {"no proxy fence", NULL, ordinary_store, MOK_CHECK_FENCE, NOT_ASKED},
    {"region that nothing writes", NULL, unwritten_list, MOK_CHECK_UNWRITTEN, NOT_ASKED},
    {"peers read while the last launch ends", NULL, early_peers, MOK_CHECK_RANKS, NOT_ASKED},
};
enum { NUM_FAULTS = sizeof faults / sizeof faults[0] };

START_TEST(test_planted_faults) {
  mok_plan plan = *plan_of(SETTINGS(TWO_RANKS));
  const char *text = module_of(&plan);
  if (faults[_i].edit) text = faults[_i].edit(text);
  const mok_kernel_view *view = view_of(text);
  if (faults[_i].edit_view) faults[_i].edit_view(view, &plan);
  mok_checker *checker = checker_of(view, &plan);
  size_t count;
  mok_checker_findings(checker, &count);
  mok_check_totals totals = {0};
  const mok_check_case which = {.cta_limit = faults[_i].how == ONE_CTA ? 1 : 0}; /* the plan's ring, no shorter one */
  if (count == 0) run_laps(checker, &plan, 3, &(counted){0}, which, &totals);
  ck_assert_msg(has(checker, faults[_i].engine), "%s: %s", faults[_i].name, kinds(checker));
  if (faults[_i].how == FINDS) ck_assert_msg(static_finds(text, &plan), "%s", faults[_i].name);
}
END_TEST

START_TEST(test_fenced_stores) { /* ordinary stores are right with the edge kind that has the proxy fences */
  const mok_plan *plan = plan_of(SETTINGS(TWO_RANKS));
  const mok_kernel_view *view = view_of(module_of(plan));
  find_op(view, "mma", "up", MOK_IR_STORE)->kind = MOK_IR_STORE_PUSHED;
  find_op(view, "mma", "up", MOK_IR_SIGNAL)->edge = MOK_IR_GENERIC_TO_BULK;
  find_op(view, "load", "down", MOK_IR_WAIT)->edge = MOK_IR_GENERIC_TO_BULK;
  mok_checker *checker = checker_of(view, plan);
  mok_check_coverage coverage;
  ck_assert_msg(explore(checker, &coverage) == 0, "%s", kinds(checker));
  find_op(view, "mma", "up", MOK_IR_SIGNAL)->edge = MOK_IR_GENERIC_TO_GENERIC; /* fence only where it is read */
  checker = checker_of(view, plan);
  explore(checker, &coverage);
  ck_assert_msg(has(checker, MOK_CHECK_UNORDERED), "%s", kinds(checker));
}
END_TEST

/* Gathered rows are read by ordinary loads: what bulk copies wrote must have landed before. */
START_TEST(test_gathered_rows) {
  const mok_plan *plan = plan_of(SETTINGS(ONE_RANK));
  const mok_kernel_view *view = view_of(module_of(plan));
  find_op(view, "load", "up", MOK_IR_LOAD)->kind = MOK_IR_LOAD_GATHERED;
  mok_checker *checker = checker_of(view, plan);
  mok_check_coverage coverage;
  ck_assert_msg(explore(checker, &coverage) == 0, "%s", kinds(checker)); /* the signal waits for writes, the wait acquires */
  find_op(view, "pull", "dispatch", MOK_IR_SIGNAL)->edge = MOK_IR_READ_TO_WRITE;
  checker = checker_of(view, plan);
  explore(checker, &coverage);
  ck_assert_msg(has(checker, MOK_CHECK_UNORDERED), "%s", kinds(checker));
}
END_TEST

/* Own rows are stored past ring_y: two who store rows of one rank may share a region, two who store the same row may not. */
START_TEST(test_split_rows) {
  const mok_plan *plan = plan_of(SETTINGS(SPLIT));
  const mok_kernel_view *view = view_of(module_of(plan));
  find_op(view, "push", "combine", MOK_IR_PUSH)->kind = MOK_IR_PULL; /* writes, but to no routes */
  mok_checker *checker = checker_of(view, plan);
  mok_check_totals totals = {0};
  run_laps(checker, plan, 1, &(counted){0}, (mok_check_case){0}, &totals);
  ck_assert_msg(has(checker, MOK_CHECK_TWICE), "%s", kinds(checker));
}
END_TEST

START_TEST(test_unplaced_rows) { /* rows gathered while another CTA still places them */
  mok_plan plan = *plan_of(SETTINGS(IN_PLACE));
  const mok_kernel_view *view = view_of(module_of(&plan));
  drop_barrier(view, "place_rows");
  mok_checker *checker = checker_of(view, &plan);
  ck_assert_msg(has(checker, MOK_CHECK_UNORDERED), "%s", kinds(checker));
  ck_assert_msg(strstr(kinds(checker), "`load_gathered @up reads(@row_source, @args.x)` reads @row_source") != NULL, "%s",
                kinds(checker));
}
END_TEST

START_TEST(test_unknown_program) { /* what the engine has no rule for is refused, not guessed */
  const mok_plan *plan = plan_of(SETTINGS(ONE_RANK));
  const mok_kernel_view *view = view_of(module_of(plan));
  mok_checker *checker = NULL;
  find_op(view, "pull", "dispatch", MOK_IR_WAIT)->index.lag = "laps";
  mok_assert_error(mok_checker_make(arena, view, plan, &checker), MOK_ERR_CODEGEN, "'laps' is no number of the plan");
  view = view_of(module_of(plan));
  mok_ir_worker *load = (mok_ir_worker *)(uintptr_t)&find_role(view, "compute")->workers[0];
  load->instances.value = 2;
  mok_assert_error(mok_checker_make(arena, view, plan, &checker), MOK_ERR_CODEGEN, "one instance in a CTA");
  load->instances.value = 1;
  mok_ir_role *compute = find_role(view, "compute");
  compute->cluster = plan->sms_compute + 1;
  mok_assert_error(
      mok_checker_make(arena, view, plan, &checker), MOK_ERR_CODEGEN,
      mok_arena_printf(arena, "role @compute: %d CTAs in clusters of %d", (int)plan->sms_compute, (int)plan->sms_compute + 1));
  compute->cluster = 1;
  compute->worker_count = 1;
  mok_assert_error(mok_checker_make(arena, view, plan, &checker), MOK_ERR_CODEGEN, "load and mma come in pairs");
}
END_TEST

START_TEST(test_report) { /* says who, where, what was expected and seen */
  const mok_plan *plan = plan_of(SETTINGS(TWO_RANKS));
  mok_checker *checker = checker_of(view_of(lost_signal(module_of(plan))), plan);
  mok_check_coverage coverage;
  ck_assert_int_gt(explore(checker, &coverage), 0);
  size_t count;
  const mok_check_finding *f = mok_checker_findings(checker, &count);
  ck_assert_str_eq(mok_check_kind_name(f->kind), "deadlock");
  const char *const parts[] = {"rank 0, compute.load CTA ", "task down of row_block 0, tile ",
                               "`wait @h_ready[row_block] >= 4 edge(bulk_to_bulk)`", "until @h_ready[0] is 4, it is 0"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) ck_assert_msg(strstr(f->text, parts[i]) != NULL, "%s", f->text);
  ck_assert_ptr_nonnull(strstr(f->when, "seed 1, launch 1, "));
  ck_assert_str_eq(f->loc.file, "tiny.lua");
  ck_assert_int_gt(f->loc.line, 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("check");
  TCase *tc = tcase_create("check");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, test_right, 0, NUM_MODELS);
  tcase_add_test(tc, test_schedules);
  tcase_add_loop_test(tc, test_short_ring, 0, FIRST_PAIRS - FIRST_AHEAD);
  tcase_add_test(tc, test_stale_counters);
  tcase_add_test(tc, test_too_large);
  tcase_add_loop_test(tc, test_lost_waits, 0, NUM_MODELS);
  tcase_add_loop_test(tc, test_planted_faults, 0, NUM_FAULTS);
  tcase_add_test(tc, test_fenced_stores);
  tcase_add_test(tc, test_gathered_rows);
  tcase_add_test(tc, test_split_rows);
  tcase_add_test(tc, test_unplaced_rows);
  tcase_add_test(tc, test_unknown_program);
  tcase_add_test(tc, test_report);
  suite_add_tcase(suite, tc);
  return mok_suite_main(suite);
}
