/* The module: build, print, parse, plan, view; and that no wait of the finished module can be lost unseen. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/ir/ir_query.h"
#include "../../compiler/passes/pass.h"
#include "../passes/tiny_plan.h"

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

/* Exit code of a status that must be an error; frees it. */
static int code_of(mok_status status) {
  const int code = mok_status_exit_code(status);
  mok_status_free(status);
  return code;
}

/* Plan of the tiny model with settings, NULL-terminated. */
static const mok_plan *plan_of(const char *const *settings) {
  mok_model *model = mok_tiny_model(arena);
  for (; *settings; ++settings) ck_assert_msg(mok_tiny_set(arena, model, *settings), "%s", *settings);
  const mok_plan *plan = NULL;
  expect_ok(mok_tiny_plan(arena, diag, model, &plan));
  return plan;
}
#define PLAN(...) plan_of((const char *const[]){__VA_ARGS__, NULL})

static mok_module *lower(const mok_plan *plan, const char *stop_after) {
  mok_module *module = NULL;
  expect_ok(mok_ir_build(ir, plan, &module));
  const mok_pipeline_options options = {.stop_after = stop_after};
  expect_ok(mok_pipeline_run(ir, module, plan, &options));
  return module;
}

static const char *print(const mok_module *module) {
  mok_buf text = mok_buf_make(arena);
  mok_ir_print(module, &text);
  return text.data;
}

static mok_module *parse(const char *text) {
  mok_module *module = NULL;
  expect_ok(mok_ir_parse(ir, "test.mlir", text, strlen(text), &module));
  return module;
}

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text; ++text) lines += *text == '\n';
  return lines;
}

/* `text` without the line that starts at `line`. */
static const char *without_line(const char *text, const char *line) {
  const char *end = strchr(line, '\n') + 1;
  return mok_arena_printf(arena, "%.*s%s", (int)(line - text), text, end);
}

static const char *line_start(const char *text, const char *at) {
  while (at > text && at[-1] != '\n') --at;
  return at;
}

static const char *replace(const char *text, const char *old, const char *with) {
  const char *at = strstr(text, old);
  ck_assert_msg(at != NULL, "%s", old);
  return mok_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, with, at + strlen(old));
}

/* ---- printing and parsing ---- */

START_TEST(every_stage_round_trips) {
  const mok_plan *plan = PLAN("shared_experts=1", "clamp=7.5", "activation=geglu", "imbalance=1.1");
  for (size_t i = 0; i <= mok_pipeline_length; ++i) {
    const char *stage = i == 0 ? "build" : mok_pipeline[i - 1]->name;
    mok_module *module = lower(plan, stage);
    ck_assert_str_eq(mok_ir_after(module), stage);
    const char *text = print(module);
    ck_assert_str_eq(print(parse(text)), text);
    ck_assert_str_eq(print(lower(plan, stage)), text);
  }
}
END_TEST

START_TEST(every_stage_can_be_resumed) {
  const mok_plan *plan = PLAN("shared_experts=1");
  const char *whole = print(lower(plan, NULL));
  for (size_t i = 0; i <= mok_pipeline_length; ++i) {
    mok_module *module = parse(print(lower(plan, i == 0 ? "build" : mok_pipeline[i - 1]->name)));
    const mok_pipeline_options options = {.stop_after = NULL};
    expect_ok(mok_pipeline_run(ir, module, plan, &options));
    ck_assert_str_eq(print(module), whole);
  }
}
END_TEST

START_TEST(locations_have_base_names) {
  const char *text = print(lower(PLAN(NULL), NULL));
  ck_assert_ptr_nonnull(strstr(text, "loc(\"tiny.lua\":3:3)")); /* intermediate */
  ck_assert_ptr_null(strstr(text, "some/folder"));
  ck_assert_ptr_null(strstr(text, "#map"));
}
END_TEST

START_TEST(stop_ahead_of_the_module_is_usage) {
  const mok_plan *plan = PLAN(NULL);
  mok_module *module = lower(plan, "tile");
  const mok_pipeline_options back = {.stop_after = "assign-roles"}, unknown = {.stop_after = "melt"};
  ck_assert_int_eq(code_of(mok_pipeline_run(ir, module, plan, &back)), MOK_ERR_USAGE);
  ck_assert_int_eq(code_of(mok_pipeline_run(ir, module, plan, &unknown)), MOK_ERR_USAGE);
  ck_assert_str_eq(mok_ir_after(module), "tile");
}
END_TEST

/* ---- size ---- */

START_TEST(size_depends_on_no_count) {
  const char *small = print(lower(PLAN("gpus=2", "experts=16", "tokens_per_gpu=8", "top_k=1"), NULL));
  const char *large =
      print(lower(PLAN("gpus=64", "experts=512", "tokens_per_gpu=8192", "top_k=10", "hidden=7168", "intermediate=2048"), NULL));
  ck_assert_int_eq(count_lines(small), count_lines(large));
  ck_assert_int_gt(count_lines(small), 60);
  ck_assert_int_lt(count_lines(small), 200);
}
END_TEST

/* ---- mok.plan ---- */

START_TEST(plan_comes_back) {
  const mok_plan *plan = PLAN("shared_experts=1", "clamp=7.5", "activation=geglu", "imbalance=1.1", "ring_rows=384", "waves=3");
  const mok_plan *again = NULL;
  expect_ok(mok_ir_plan(ir, parse(print(lower(plan, "tile"))), arena, &again));
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *field = &mok_plan_fields[i];
    ck_assert_msg(memcmp((const char *)plan + field->offset, (const char *)again + field->offset, 8) == 0, "%s", field->name);
    ck_assert_str_eq(plan->why[i], again->why[i]);
  }
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    ck_assert_msg(plan->model->given[i] == again->model->given[i], "%s", mok_fields[i].name);
  mok_buf first = mok_buf_make(arena), second = mok_buf_make(arena);
  mok_model_print(plan->model, &first);
  mok_model_print(again->model, &second);
  ck_assert_str_eq(first.data, second.data);
  ck_assert_int_eq(again->model->loc[MOK_FIELD_clamp].line, plan->model->loc[MOK_FIELD_clamp].line);
  ck_assert_str_eq(again->model->loc[MOK_FIELD_clamp].file, "tiny.lua");
  ck_assert_uint_eq(plan->layout.count, again->layout.count);
  ck_assert_str_eq(plan->gpu.name, again->gpu.name);
}
END_TEST

static void plan_must_fail(const char *text) {
  const mok_plan *plan = NULL;
  ck_assert_int_eq(code_of(mok_ir_plan(ir, parse(text), arena, &plan)), MOK_ERR_DESCRIPTION);
  ck_assert_ptr_null(plan);
}

/* Prints what was reported; it must hold `part`. */
static void expect_message(const char *part) {
  char *shown = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&shown, &size);
  ck_assert_ptr_nonnull(out);
  mok_diag_print(diag, out, false);
  fclose(out);
  ck_assert_msg(strstr(shown, part) != NULL, "'%s' is not in: %s", part, shown);
  free(shown);
}

START_TEST(wrong_plans_are_the_users_error) {
  const mok_plan *plan = PLAN(NULL);
  const char *text = print(lower(plan, "build"));
  plan_must_fail(replace(text, "hidden = 128 : i64, ", ""));
  plan_must_fail(replace(text, "hidden = 128 : i64", "hidden = 128 : i64, hiden = 128 : i64"));
  plan_must_fail(replace(text, "hidden = 128 : i64", "hidden = 7 : i64"));
  plan_must_fail(replace(text, "hidden = 128 : i64", "hidden = \"128\""));
  plan_must_fail(replace(text, "activation = \"swiglu\"", "activation = \"tanh\""));
  plan_must_fail(replace(text, "gpu = \"H200\"", "gpu = \"H2000\""));
  plan_must_fail(replace(text, "row_padding = 64", "row_padding = 32"));
  plan_must_fail(replace(text, "threads = ", "thread = "));
  plan_must_fail(replace(text, "symmetric_bytes = ", "symmetric_bytes = 1"));
  plan_must_fail(replace(text, "clamp = \"nil\"", "clamp = 7 : i64"));
  plan_must_fail(replace(text, "hidden = 128 : i64", "hidden = 128 : i32"));
  plan_must_fail(replace(text, "hidden = 128 : i64", "hidden = 128 : ui64"));
  plan_must_fail(replace(text, "hidden = 128 : i64", "hidden = 128 : index"));
  plan_must_fail(replace(text, "passes = [\"forward\"]", "passes = [\"sideways\"]"));
  plan_must_fail(replace(text, "passes = [\"forward\"]", "passes = [\"forward\", \"forward\"]"));
  plan_must_fail("module attributes {mok.after = \"build\"} {}");
}
END_TEST

/* The text with another number for one field of the table `plan`. */
static const char *edit_plan(const char *text, const char *field, const char *number) {
  const char *table = strstr(text, ", plan = {");
  ck_assert_ptr_nonnull(table);
  const char *at = strstr(table, mok_arena_printf(arena, " %s = ", field));
  if (!at) at = strstr(table, mok_arena_printf(arena, "{%s = ", field));
  ck_assert_msg(at != NULL, "%s", field);
  at += strlen(field) + 4;
  return mok_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, number, strstr(at, " : "));
}

/* What no plan can hold is refused where it is read: no check of the plan has to calculate with it. */
START_TEST(edited_plan_numbers_are_bounded) {
  const mok_plan *plan = PLAN(NULL);
  const char *text = print(lower(plan, "build"));
  static const char *const numbers[] = {"-9223372036854775808", "9223372036854775807", "-1", "4611686018427387904"};
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *field = &mok_plan_fields[i];
    if (field->kind == MOK_PK_US) continue;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; ++n) {
      plan_must_fail(edit_plan(text, field->name, numbers[n]));
      expect_message(mok_arena_printf(arena, "plan.%s is out of range: 0 to ", field->name));
    }
  }
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) /* a number in range that something may be divided by */
    if (mok_plan_fields[i].kind == MOK_PK_INT && *(const int64_t *)((const char *)plan + mok_plan_fields[i].offset) > 0)
      plan_must_fail(edit_plan(text, mok_plan_fields[i].name, "0"));
  plan_must_fail(replace(text, "\"H200\", sms = \"auto\"", "\"H200\", sms = -9223372036854775808 : i64"));
  expect_message("topology.gpu has sms out of range: 2 to 1024");
}
END_TEST

START_TEST(other_passes_and_types_are_not_in_this_version) {
  mok_module *module = NULL;
  const mok_plan *fp8 = PLAN("dtype=fp8_block128");
  ck_assert_int_eq(code_of(mok_ir_build(ir, fp8, &module)), MOK_ERR_NO_PLAN);
  ck_assert_ptr_null(module);
}
END_TEST

/* ---- the view ---- */

static const mok_kernel_view *view_of(const mok_module *module) {
  const mok_kernel_view *view = NULL;
  expect_ok(mok_ir_kernel_view(arena, module, "forward", &view));
  return view;
}

static const mok_ir_worker *find_worker(const mok_kernel_view *view, const char *name) {
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        if (strcmp(role->workers[w].name, name) == 0) return &role->workers[w];
    }
  ck_abort_msg("no worker %s", name);
  return NULL;
}

START_TEST(view_says_what_the_kernel_does) {
  const mok_plan *plan = PLAN("shared_experts=1", "clamp=7", "comm=sms");
  const mok_kernel_view *view = view_of(lower(plan, NULL));
  ck_assert_str_eq(view->function, "mok_forward");
  ck_assert_uint_eq(view->phase_count, 3);
  ck_assert_uint_eq(view->product_count, 4);
  ck_assert_uint_eq(view->counter_count, 5);
  ck_assert_uint_eq(view->region_count, plan->layout.count);
  const mok_ir_phase *experts = &view->phases[1];
  ck_assert_uint_eq(experts->once_count, 2);
  ck_assert_uint_eq(experts->per_minibatch_count, 4);
  ck_assert_str_eq(experts->per_minibatch[0], "dispatch");
  ck_assert_uint_eq(experts->item_count, 7); /* place_experts, grid, place_rows, grid, comm, compute, rank */
  ck_assert(experts->items[1].barrier && !experts->items[1].barrier->rank);
  ck_assert(experts->items[6].barrier && experts->items[6].barrier->rank);

  const mok_ir_worker *pull = find_worker(view, "pull");
  ck_assert(!pull->shares_cta);
  ck_assert_int_eq(pull->instances.value, plan->pull_warps);
  ck_assert_str_eq(pull->instances.text, "PLAN_PULL_WARPS");
  const mok_ir_task *dispatch = &pull->tasks[0];
  ck_assert_int_eq(dispatch->space, MOK_IR_ROW_BLOCK_PIECE);
  ck_assert(!dispatch->blocks_inner && dispatch->per_minibatch);
  ck_assert_int_eq(dispatch->order, 2);
  ck_assert_uint_eq(dispatch->op_count, 3);
  const mok_ir_op *wait = &dispatch->ops[0];
  ck_assert_int_eq(wait->kind, MOK_IR_WAIT);
  ck_assert_str_eq(wait->counter->name, "h_ready");
  ck_assert_str_eq(wait->index.lag, "ring_slots");
  ck_assert(wait->lap);
  ck_assert_int_eq(wait->edge, MOK_IR_READ_TO_WRITE);
  ck_assert_uint_eq(wait->target.count, 2);
  ck_assert_int_eq(wait->target.value, wait->target.factor[0]->value * wait->target.factor[1]->value);
  ck_assert_str_eq(wait->target_text, "H_READY_TARGET");
  ck_assert_str_eq(dispatch->ops[1].writes[0].region->name, "ring_x");

  const mok_ir_worker *mma = find_worker(view, "mma");
  ck_assert(mma->shares_cta);
  ck_assert_str_eq(mma->function, "compute_mma");
  const mok_ir_product *up = mma->tasks[2].ops[0].product;
  ck_assert_str_eq(up->name, "up");
  ck_assert_uint_eq(up->b_count, 2);
  ck_assert_str_eq(up->b[0]->name, "gate");
  ck_assert_str_eq(up->activation->name, "swiglu");
  ck_assert(up->has_clamp && up->clamp >= 7 && up->clamp <= 7);
  ck_assert_int_eq(up->n, plan->gate_up_n);
  const mok_ir_product *shared_up = mma->tasks[0].ops[0].product;
  ck_assert_ptr_null(shared_up->a.region);
  ck_assert_str_eq(shared_up->a.argument->name, "x");
  ck_assert_int_eq(shared_up->rows, MOK_IR_TOKEN_BLOCK);
}
END_TEST

/* One rank, its rows in place: role compute has all CTAs, and its loading warpgroup picks rows by their routes. */
START_TEST(view_of_rows_in_place) {
  const mok_plan *plan = PLAN("gpus=1", "shared_experts=1", "own_rows=direct", "cluster=1");
  const mok_kernel_view *view = view_of(lower(plan, NULL));
  const mok_ir_phase *experts = &view->phases[1];
  ck_assert_uint_eq(experts->item_count, 6); /* place_experts, grid, place_rows, grid, compute, rank */
  const mok_ir_role *compute = experts->items[4].role;
  ck_assert_str_eq(compute->name, "compute");
  ck_assert_str_eq(compute->ctas, "grid");
  ck_assert_ptr_null(compute->enumerator);
  ck_assert_int_eq(compute->cluster, 1);
  ck_assert_uint_eq(experts->per_minibatch_count, 2);
  ck_assert_uint_eq(view->counter_count, 3);
  ck_assert_uint_eq(view->region_count, plan->layout.count);
  const mok_ir_worker *load = find_worker(view, "load");
  ck_assert_str_eq(load->function, "compute_load");
  ck_assert_int_eq(load->warps.value, 4);
  const mok_ir_op *gather = &load->tasks[2].ops[0];
  ck_assert_int_eq(gather->kind, MOK_IR_LOAD_GATHERED);
  ck_assert_str_eq(gather->call, "mok_load_gathered");
  ck_assert_uint_eq(gather->read_count, 2);
  ck_assert_str_eq(gather->reads[0].region->name, "row_source");
  ck_assert_str_eq(gather->reads[1].argument->name, "x");
  ck_assert_str_eq(gather->product->a.argument->name, "x");
  ck_assert_int_eq(load->tasks[0].ops[0].kind, MOK_IR_LOAD); /* the shared expert's rows lie one after the other */
}
END_TEST

#define ROUNDS "cluster=2", "tile_m=64", "minibatch_rows=128", "ring_rows=384", "tokens_per_gpu=640"

/* In rounds: what comes before the second product is a minibatch ahead. Who multiplies works in the plan's clusters. */
START_TEST(view_of_rounds_and_pairs) {
  static const char *const variants[][8] = {
      {"comm=sms", ROUNDS, NULL},
      {"comm=epilogue", ROUNDS, NULL},
      {"gpus=1", "own_rows=direct", ROUNDS, NULL},
      {"comm=sms", "cluster=2", "tile_m=64", "minibatch_rows=128", "ring_rows=256", "tokens_per_gpu=640", NULL}};
  static const size_t ahead[] = {2, 2, 1, 0};
  const mok_plan *plan = plan_of(variants[_i]);
  const mok_kernel_view *view = view_of(lower(plan, NULL));
  ck_assert_int_eq(view->phases[1].ahead_count, ahead[_i]);
  ck_assert_int_eq(mok_plan_runs_ahead(plan), ahead[_i] > 0);
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      if (!role) continue;
      ck_assert_int_eq(role->cluster, strcmp(role->name, "compute") == 0 ? 2 : 1);
      for (size_t w = 0; w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t) {
          const mok_ir_task *task = &role->workers[w].tasks[t];
          const bool first = strcmp(task->name, "dispatch") == 0 || strcmp(task->name, "up") == 0;
          ck_assert_int_eq(task->ahead, ahead[_i] > 0 && first);
        }
    }
}
END_TEST

START_TEST(layer_altitude_has_no_view) {
  const mok_kernel_view *view = NULL;
  ck_assert_int_eq(code_of(mok_ir_kernel_view(arena, lower(PLAN(NULL), "build"), NULL, &view)), MOK_ERR_CODEGEN);
  ck_assert_ptr_null(view);
}
END_TEST

/* ---- mutation ---- */

static int count_waits(const mok_kernel_view *view) {
  int waits = 0;
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t)
          for (size_t s = 0; s < role->workers[w].tasks[t].op_count; ++s)
            waits += role->workers[w].tasks[t].ops[s].kind == MOK_IR_WAIT;
    }
  return waits;
}

/* Deletes each line with `what` in turn: the check must find it, and --no-check must let the rest through. */
static int delete_each(const char *text, const mok_plan *plan, const char *what, bool is_wait) {
  int found = 0;
  const int waits = count_waits(view_of(parse(text)));
  for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) {
    ++found;
    const char *line = line_start(text, at);
    mok_module *mutant = parse(without_line(text, line));
    const mok_pipeline_options strict = {.stop_after = NULL}, lenient = {.check_warns = true};
    const int code = code_of(mok_pipeline_run(ir, mutant, plan, &strict));
    ck_assert_msg(code == MOK_ERR_PROTOCOL, "exit code %d after deleting %.120s", code, line);
    expect_ok(mok_pipeline_run(ir, mutant, plan, &lenient));
    if (is_wait) ck_assert_int_eq(count_waits(view_of(mutant)), waits - 1);
  }
  return found;
}

enum { NUM_LOST = 10 };
START_TEST(no_wait_or_signal_can_be_lost) {
  static const char *const variants[][8] = {{"gpus=2", "shared_experts=1", "comm=sms", NULL},
                                            {"gpus=1", "own_rows=copy", "comm=sms", NULL},
                                            {"gpus=64", "activation=relu2", "comm=sms", NULL},
                                            {"comm=epilogue", NULL},
                                            {"gpus=1", "own_rows=direct", NULL},
                                            {"comm=sms", ROUNDS, NULL},
                                            {"comm=epilogue", ROUNDS, NULL},
                                            {"gpus=1", "own_rows=direct", ROUNDS, NULL},
                                            {"gpus=3", "own_rows=direct", "comm=sms", NULL},
                                            {"gpus=2", "comm=epilogue", "own_rows=direct", NULL}};
  static const int waits[NUM_LOST] = {7, 6, 6, 4, 2, 6, 4, 2, 6, 4}, signals[NUM_LOST] = {5, 4, 4, 3, 2, 4, 3, 2, 4, 3};
  const mok_plan *plan = plan_of(variants[_i]);
  const char *text = print(lower(plan, NULL));
  ck_assert_int_eq(delete_each(text, plan, "mok.wait", true), waits[_i]);
  ck_assert_int_eq(delete_each(text, plan, "mok.signal", false), signals[_i]);
}
END_TEST

static bool is_structure(const char *line) {
  static const char *const words[] = {"mok.phase", "mok.role", "mok.worker", "mok.task", "mok.kernel", "module", "mok.argument"};
  line += strspn(line, " ");
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
    if (strncmp(line, words[i], strlen(words[i])) == 0) return true;
  return *line == '}';
}

/* Exit code of parsing and checking `text`. */
static int check_code(const char *text, const mok_plan *plan) {
  mok_module *module = NULL;
  mok_status status = mok_ir_parse(ir, "test.mlir", text, strlen(text), &module);
  const mok_pipeline_options options = {.stop_after = NULL};
  if (!status) status = mok_pipeline_run(ir, module, plan, &options);
  return code_of(status);
}

START_TEST(no_barrier_can_be_lost_or_weakened) {
  const mok_plan *plan = PLAN("shared_experts=1", "comm=sms");
  const char *text = print(lower(plan, "check-protocol"));
  int barriers = 0, ranks = 0;
  for (const char *at = strstr(text, "mok.barrier"); at; at = strstr(at + 1, "mok.barrier")) {
    ++barriers;
    const char *line = line_start(text, at), *end = strchr(line, '\n');
    const int code = check_code(without_line(text, line), plan);
    ck_assert_msg(code == MOK_ERR_PROTOCOL || code == MOK_ERR_DESCRIPTION, "exit code %d after deleting %.60s", code, line);
    if (!strstr(line, "rank") || strstr(line, "rank") > end) continue;
    ++ranks;
    ck_assert_int_eq(check_code(mok_arena_printf(arena, "%.*smok.barrier grid%s", (int)(line - text), text, end), plan),
                     MOK_ERR_PROTOCOL);
  }
  ck_assert_int_eq(barriers, 4);
  ck_assert_int_eq(ranks, 2);
}
END_TEST

/* Declarations and steps alike: a line that can go unnoticed would say nothing. */
START_TEST(no_line_can_be_lost) {
  const mok_plan *plan = _i == 0   ? PLAN("shared_experts=1", "comm=sms")
                         : _i == 1 ? PLAN("shared_experts=1", "comm=sms", "own_rows=direct")
                                   : PLAN("shared_experts=1", "gpus=1", "own_rows=direct", "cluster=2");
  const char *text = print(lower(plan, NULL));
  int lines = 0;
  for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
    if (is_structure(line)) continue;
    ++lines;
    const int code = check_code(without_line(text, line), plan);
    ck_assert_msg(code == MOK_ERR_PROTOCOL || code == MOK_ERR_DESCRIPTION, "exit code %d after deleting %.100s", code, line);
  }
  ck_assert_int_gt(lines, 50);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("ir");
  TCase *cases = tcase_create("all");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, every_stage_round_trips);
  tcase_add_test(cases, every_stage_can_be_resumed);
  tcase_add_test(cases, locations_have_base_names);
  tcase_add_test(cases, stop_ahead_of_the_module_is_usage);
  tcase_add_test(cases, size_depends_on_no_count);
  tcase_add_test(cases, plan_comes_back);
  tcase_add_test(cases, wrong_plans_are_the_users_error);
  tcase_add_test(cases, edited_plan_numbers_are_bounded);
  tcase_add_test(cases, other_passes_and_types_are_not_in_this_version);
  tcase_add_test(cases, view_says_what_the_kernel_does);
  tcase_add_test(cases, view_of_rows_in_place);
  tcase_add_loop_test(cases, view_of_rounds_and_pairs, 0, 4);
  tcase_add_test(cases, layer_altitude_has_no_view);
  tcase_add_loop_test(cases, no_wait_or_signal_can_be_lost, 0, NUM_LOST);
  tcase_add_test(cases, no_barrier_can_be_lost_or_weakened);
  tcase_add_loop_test(cases, no_line_can_be_lost, 0, 3);
  suite_add_tcase(suite, cases);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner), ran = srunner_ntests_run(runner);
  srunner_free(runner);
  return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
