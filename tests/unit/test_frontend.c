/* compiler/frontend: places, values, overrides, presets, round trips. What is wrong with a description is in tests/errors. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../compiler/frontend/frontend.h"
#include "../../compiler/frontend/source.h"
#include "../support/support.h"

static mok_arena *arena;
static mok_diag *diag;

static void set_up(void) {
  arena = mok_arena_create();
  diag = mok_diag_create(arena);
}

static void tear_down(void) { mok_arena_destroy(arena); }

static const char *printed(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  mok_diag_print(diag, out, false);
  fclose(out);
  const char *copy = mok_arena_strndup(arena, text, size);
  free(text);
  return copy;
}

/* Reads a description that must be right and say nothing. */
static const mok_model *read_with(const char *text, const char *const *overrides) {
  const char *path = mok_test_path("case.lua");
  mok_override list[8];
  size_t count = 0;
  for (; overrides && overrides[count]; count++) list[count].text = overrides[count];
  mok_test_write(path, text);
  const mok_model *model;
  mok_status status = mok_frontend_read(arena, diag, path, list, count, &model);
  ck_assert_str_eq(printed(), "");
  mok_assert_ok(status);
  ck_assert_ptr_nonnull(model);
  return model;
}

static const mok_model *read_text(const char *text) { return read_with(text, NULL); }

static mok_status read_wrong(const char *path) {
  const mok_model *model;
  mok_status status = mok_frontend_read(arena, diag, path, NULL, 0, &model);
  ck_assert_ptr_null(model);
  return status;
}

#define REST "topology { gpu = 'H200', gpus = 2 } workload { tokens_per_gpu = 128 }\n"
#define MODEL "model { hidden = 64, intermediate = 128, experts = 8, top_k = 2 }\n"

#define ck_place(loc_, line_, column_, length_) \
  do {                                          \
    ck_assert_int_eq((loc_).line, line_);       \
    ck_assert_int_eq((loc_).column, column_);   \
    ck_assert_int_eq((loc_).length, length_);   \
  } while (0)

START_TEST(places_of_fields) {
  const mok_model *m = read_text(
      "-- a comment with model { hidden = 1 }\n"
      "local s = [==[\n model { experts = 3 } ]==]\n"
      "model {\n"
      "  hidden = 64, [\"intermediate\"] = (function() local a, b = 64, 2 return a end)(),\n"
      "\texperts = #s > 3 and 8 or 9,\n"
      "  top_k = ({ 5, 6, 2 })[3]; clamp =\n    7,\n"
      "}\n" REST);
  ck_place(m->loc[MOK_FIELD_hidden], 5, 3, 6);
  ck_place(m->loc[MOK_FIELD_intermediate], 5, 17, 14);
  ck_place(m->loc[MOK_FIELD_experts], 6, 2, 7);
  ck_place(m->loc[MOK_FIELD_top_k], 7, 3, 5);
  ck_place(m->loc[MOK_FIELD_clamp], 7, 29, 5);
  ck_place(m->loc[MOK_FIELD_dtype], 4, 1, 5); /* a default: the call */
  ck_place(m->loc[MOK_FIELD_gpus], 10, 26, 4);
  ck_place(m->loc[MOK_FIELD_tokens_per_gpu], 10, 48, 14);
  ck_assert(m->given[MOK_FIELD_hidden] && !m->given[MOK_FIELD_dtype]);
  ck_assert_int_eq(m->top_k, 2);
}
END_TEST

START_TEST(places_through_presets) {
  const mok_model *m = read_text(
      "local kimi = require('kimi-k2')\n"
      "model(kimi {\n"
      "  experts = 16 })\n" REST);
  ck_place(m->loc[MOK_FIELD_experts], 3, 3, 7);
  ck_place(m->loc[MOK_FIELD_hidden], 2, 7, 4); /* the preset's own: where the preset is called */
  ck_assert_int_eq(m->experts, 16);
  ck_assert_int_eq(m->hidden, 7168);
  ck_assert_str_eq(m->name, "kimi-k2");
}
END_TEST

START_TEST(places_in_other_layouts) {
  const mok_model *m = read_text("model\n{ hidden = 64,\r\n  intermediate = 64, experts = 8, top_k = 2 } " REST);
  ck_place(m->loc[MOK_FIELD_hidden], 2, 3, 6);
  ck_place(m->loc[MOK_FIELD_intermediate], 3, 3, 12);
  m = read_text("#!/usr/bin/env mokgen\nmodel({ hidden = 64, intermediate = 64, experts = 8, top_k = 2 })\n" REST);
  ck_place(m->loc[MOK_FIELD_hidden], 2, 9, 6);
  m = read_text("\xEF\xBB\xBFmodel { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }\n" REST);
  ck_place(m->loc[MOK_FIELD_hidden], 1, 9, 6);
}
END_TEST

START_TEST(place_of_a_tail_call) {
  const mok_model *m = read_text(REST "return model { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }");
  ck_place(m->loc[MOK_FIELD_hidden], 2, 16, 6);
}
END_TEST

START_TEST(places_of_nested_values) {
  const char *text = "f { a = { b = { c = 1, 'x' } }, { 2 }, ['k'] = 3, [4] = 5, function() local x, y = 1 end, 6 }";
  const mok_source *s = mok_source_index(arena, "f.lua", text, strlen(text));
  const mok_source_call *call = mok_source_find_call(s, "f", 1);
  ck_assert_ptr_nonnull(call);
  const mok_source_field *a = mok_source_find_field(s, call->table, "a", 0, NULL);
  const mok_source_field *b = mok_source_find_field(s, a->child, "b", 0, NULL);
  ck_assert_int_eq(a->column, 5);
  ck_assert_int_eq(b->column, 11);
  ck_assert_int_eq(mok_source_find_field(s, b->child, "c", 0, NULL)->column, 17);
  ck_assert_int_eq(mok_source_find_field(s, b->child, NULL, 1, NULL)->column, 24);
  ck_assert_int_eq(mok_source_find_field(s, call->table, NULL, 1, NULL)->column, 33);
  ck_assert_int_eq(mok_source_find_field(s, call->table, "k", 0, NULL)->column, 41);
  ck_assert_int_eq(mok_source_find_field(s, call->table, NULL, 3, NULL)->column, 91);
  ck_assert_ptr_null(mok_source_find_field(s, call->table, "b", 0, NULL));
  ck_assert_ptr_null(mok_source_find_field(s, call->table, "c", 0, NULL));
  ck_assert_ptr_null(mok_source_find_field(s, -1, "a", 0, NULL));
}
END_TEST

START_TEST(values) {
  const mok_model *m = read_text(
      "local bytes = 7168 / 2.0\n"
      "model { hidden = bytes, intermediate = 0x40, experts = 2^3, top_k = math.floor(2.9), clamp = 7, activation = 'relu2',\n"
      "  shared_experts = 1, shared_intermediate = 96, name = ('x'):rep(3) .. '-1.b_' }\n"
      "topology { gpu = { base = 'H200', sms = 120 }, gpus = 8 }\n"
      "workload { tokens_per_gpu = 0 + 1, passes = { 'backward', 'forward' }, save = 'input', imbalance = 1.5 }\n"
      "schedule { wire_dedup = true, comm = 'warps', tile_m = 64, comm_sms = 'auto', waves = 3 }\n"
      "assert(tostring({}) == 'table' and ('%s'):format({}) == 'table' and tostring(1.5) == '1.5' and tostring(nil) == 'nil')\n");
  ck_assert_int_eq(m->hidden, 3584);
  ck_assert_int_eq(m->intermediate, 64);
  ck_assert_int_eq(m->experts, 8);
  ck_assert(m->clamp.present && m->clamp.value == 7.0);
  ck_assert_int_eq(m->activation, MOK_ACTIVATION_relu2);
  ck_assert_int_eq(m->shared_intermediate, 96);
  ck_assert_str_eq(m->name, "xxx-1.b_");
  ck_assert_str_eq(m->gpu.row, "H200");
  ck_assert_int_eq(m->gpu.sms, 120);
  ck_assert_int_eq(m->passes, 3);
  ck_assert_int_eq(m->save, MOK_SAVE_INPUT);
  ck_assert_int_eq(m->wire_dedup, 1);
  ck_assert_int_eq(m->comm, MOK_COMM_WARPS);
  ck_assert_int_eq(m->tile_m, 64);
  ck_assert_int_eq(m->comm_sms, MOK_AUTO);
}
END_TEST

START_TEST(name_from_the_file) { ck_assert_str_eq(read_text(MODEL REST)->name, "case"); }
END_TEST

START_TEST(overrides) {
  const char *const list[] = {"model.hidden=128",
                              "model.hidden=256",
                              "topology.gpu = B200",
                              "topology.gpu.sms=100",
                              "workload.passes={ forward, \"backward\" }",
                              "schedule.wire_dedup=false",
                              "model.name='o-1'",
                              NULL};
  const mok_model *m = read_with(MODEL REST, list);
  ck_assert_int_eq(m->hidden, 256);
  ck_assert_str_eq(m->gpu.row, "B200");
  ck_assert_int_eq(m->gpu.sms, 100);
  ck_assert_int_eq(m->passes, 3);
  ck_assert_int_eq(m->wire_dedup, 0);
  ck_assert_str_eq(m->name, "o-1");
  ck_assert_str_eq(m->loc[MOK_FIELD_hidden].file, "-D model.hidden=256");
  ck_place(m->loc[MOK_FIELD_hidden], 1, 10, 6);
  const char *const without[] = {"model.clamp=nil", "schedule.comm_sms=auto", "workload.imbalance=nil", NULL};
  m = read_with("model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, clamp = 7 } " REST "schedule { comm_sms = 4 }",
                without);
  ck_assert(!m->clamp.present);
  ck_assert_int_eq(m->comm_sms, MOK_AUTO);
  ck_assert(m->imbalance.value == 2.0);
}
END_TEST

/* A table that no constructor was called for may come from the command line alone. */
START_TEST(overrides_replace_a_constructor) {
  const char *const list[] = {"topology.gpu=H200", "topology.gpus=4", "workload.tokens_per_gpu=1e3", NULL};
  const mok_model *m = read_with(MODEL, list);
  ck_assert_int_eq(m->gpus, 4);
  ck_assert_int_eq(m->tokens_per_gpu, 1000);
}
END_TEST

static const char *canonical(const mok_model *model) {
  mok_buf out = mok_buf_make(arena);
  mok_model_print(model, &out);
  return out.data;
}

START_TEST(presets_round_trip) {
  const mok_preset *preset = &mok_presets[_i];
  ck_assert_uint_eq(strlen(preset->text), preset->size);
  const mok_model *m = read_text(mok_arena_printf(arena, "model(require '%s' {})\n" REST, preset->name));
  ck_assert_str_eq(m->name, preset->name);
  const char *text = canonical(m);
  ck_assert_str_eq(canonical(read_text(text)), text);
}
END_TEST

START_TEST(shapes_of_presets) {
  static const struct {
    const char *name;
    int64_t experts, hidden, intermediate, top_k, shared;
  } shapes[] = {
      {"kimi-k2", 384, 7168, 2048, 8, 1},         {"glm-5.2", 256, 6144, 2048, 8, 1},
      {"qwen3.5-397b", 512, 4096, 1024, 10, 1},   {"deepseek-v3", 256, 7168, 2048, 8, 1},
      {"qwen3-30b", 128, 2048, 768, 8, 0},        {"mixtral-8x7b", 8, 4096, 14336, 2, 0},
      {"deepseek-v4-pro", 384, 7168, 3072, 6, 1}, {"gpt-oss-120b", 128, 2880, 2880, 4, 0},
  };
  const size_t count = sizeof shapes / sizeof shapes[0];
  ck_assert_uint_eq(mok_preset_count, count);
  for (size_t i = 0; i < count; i++) {
    const mok_model *m = read_text(mok_arena_printf(arena, "model(require '%s'())\n" REST, shapes[i].name));
    ck_assert_int_eq(m->experts, shapes[i].experts);
    ck_assert_int_eq(m->hidden, shapes[i].hidden);
    ck_assert_int_eq(m->intermediate, shapes[i].intermediate);
    ck_assert_int_eq(m->top_k, shapes[i].top_k);
    ck_assert_int_eq(m->shared_experts, shapes[i].shared);
  }
}
END_TEST

START_TEST(every_value_round_trips) {
  const char *text = canonical(read_text(
      "model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, clamp = 0.1, activation = 'geglu', dtype = 'mxfp8' }\n"
      "topology { gpu = { base = 'auto', sms = 99 }, gpus = 3 }\n"
      "workload { tokens_per_gpu = 65536, passes = { 'forward', 'backward' }, save = 'none', imbalance = 1e1 / 3 }\n"
      "schedule { comm = 'epilogue', comm_sms = 0, minibatch_rows = 16, ring_rows = 16777216, waves = 64, readiness = "
      "'minibatch',\n"
      "  tile_m = 256, tile_n = 16, tile_k = 256, stages = 12, cluster = 2, wire_dedup = 'off', reserved_sms = 7 }"));
  ck_assert_str_eq(canonical(read_text(text)), text);
  ck_assert_ptr_nonnull(strstr(text, "imbalance = 3.3333333333333335,"));
}
END_TEST

START_TEST(sorted_library) {
  const mok_model *m = read_text(
      "local t, out = { b = 1, a = 2, [3] = 3, [1] = 4, [2.5] = 5, [true] = 6, [-1] = 7 }, {}\n"
      "for k, v in pairs(t) do out[#out + 1] = tostring(k) .. v end\n"
      "assert(table.concat(out, ' ') == '-17 14 2.55 33 a2 b1 true6', table.concat(out, ' '))\n"
      "local list = {}\n"
      "for i = 1, 1000 do list[i] = { key = i * 7919 % 10, at = i } end\n"
      "table.sort(list, function(x, y) return x.key < y.key end)\n"
      "for i = 2, 1000 do\n"
      "  local x, y = list[i - 1], list[i]\n"
      "  assert(x.key < y.key or x.key == y.key and x.at < y.at)\n" /* stable */
      "end\n"
      "local words = { 'c', 'a', 'b' } table.sort(words) assert(table.concat(words) == 'abc')\n" MODEL REST);
  ck_assert_int_eq(m->experts, 8);
}
END_TEST

/* Numbers read and print the same in a program with another locale. */
START_TEST(other_locale) {
  setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is installed */
  const char *const list[] = {"model.clamp=2.5", NULL};
  const mok_model *m =
      read_with("model { hidden = 64, intermediate = 64, experts = 8, top_k = 2, name = 'n' .. 1.5 } " REST, list);
  ck_assert_str_eq(m->name, "n1.5");
  ck_assert(m->clamp.value == 2.5);
  ck_assert_ptr_nonnull(strstr(canonical(m), "clamp = 2.5,"));
}
END_TEST

START_TEST(require_beside_the_file) {
  mok_test_write(mok_test_path("mine.lua"), "return preset { hidden = 64, intermediate = 64, experts = 8, top_k = 2 }\n");
  mok_test_write(mok_test_path("kimi-k2.lua"), "error('embedded presets come first')\n");
  const mok_model *m = read_text("local kimi = require 'kimi-k2' model(require 'mine' { experts = 4 }) " REST);
  ck_assert_int_eq(m->experts, 4);
}
END_TEST

START_TEST(require_stays_in_the_folder) {
  const char *const names[] = {"linked", "pipe", "sub"};
  mok_test_write(mok_test_path("inside.lua"), MODEL);
  ck_assert_int_eq(symlink("/dev/zero", mok_test_path("linked.lua")), 0);
  ck_assert_int_eq(mkfifo(mok_test_path("pipe.lua"), 0600), 0);
  ck_assert_int_eq(mkdir(mok_test_path("sub.lua"), 0700), 0);
  for (int i = 0; i < 3; i++) {
    const char *path = mok_test_path("main.lua");
    mok_test_write(path, mok_arena_printf(arena, "require '%s'\n", names[i]));
    mok_assert_error(read_wrong(path), MOK_ERR_DESCRIPTION, "error");
    ck_assert_ptr_nonnull(strstr(printed(), names[i]));
  }
  ck_assert_int_eq(symlink("inside.lua", mok_test_path("alias.lua")), 0);
  ck_assert_int_eq(read_text("require 'alias' " REST)->experts, 8);
}
END_TEST

START_TEST(files_that_cannot_be_read) {
  mok_assert_error(read_wrong(mok_test_path("absent.lua")), MOK_ERR_IO, "absent.lua");
  mok_assert_error(read_wrong(mok_test_folder()), MOK_ERR_IO, mok_test_folder());
  ck_assert_str_eq(printed(), "");
}
END_TEST

START_TEST(standard_input) {
  const char *path = mok_test_path("in.lua");
  mok_test_write(path, MODEL REST);
  ck_assert_ptr_nonnull(freopen(path, "r", stdin));
  const mok_model *model;
  mok_assert_ok(mok_frontend_read(arena, diag, "-", NULL, 0, &model));
  ck_assert_str_eq(model->name, "stdin");
  ck_assert_str_eq(model->loc[MOK_FIELD_hidden].file, "<stdin>");
}
END_TEST

/* The same description gives the same messages in every process: Lua's table order does not. */
START_TEST(same_messages_every_time) {
  const char *path = mok_test_path("many.lua");
  mok_test_write(path, "local t = {}\nfor i = 1, 500 do t['k' .. i] = i end\nmodel(t) topology(t) workload(t)\n");
  const char *first = NULL;
  for (int i = 0; i < 5; i++) {
    mok_assert_error(read_wrong(path), MOK_ERR_DESCRIPTION, "errors");
    const char *said = printed();
    if (first) ck_assert_str_eq(said, first);
    first = said;
  }
}
END_TEST

/* A jump out of the arena's hook loses the Lua state: frontend.h says so. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define ALLOW_LEAKS() __lsan_disable()
#else
#define ALLOW_LEAKS() (void)0
#endif

static void read_in(mok_arena *limited, void *path) {
  const mok_model *model;
  mok_status status = mok_frontend_read(limited, mok_diag_create(limited), path, NULL, 0, &model);
  ck_assert_ptr_null(status);
}

START_TEST(survives_failing_allocators) {
  const char *path = mok_test_path("small.lua");
  mok_test_write(path, "model(require 'kimi-k2' { experts = 8 }) " REST);
  ALLOW_LEAKS();
  ck_assert_int_gt(mok_test_failing_allocator(read_in, NULL, (void *)path), 5);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("frontend");
  TCase *tests = tcase_create("frontend");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, places_of_fields);
  tcase_add_test(tests, places_through_presets);
  tcase_add_test(tests, places_in_other_layouts);
  tcase_add_test(tests, place_of_a_tail_call);
  tcase_add_test(tests, places_of_nested_values);
  tcase_add_test(tests, values);
  tcase_add_test(tests, name_from_the_file);
  tcase_add_test(tests, overrides);
  tcase_add_test(tests, overrides_replace_a_constructor);
  tcase_add_loop_test(tests, presets_round_trip, 0, 8);
  tcase_add_test(tests, shapes_of_presets);
  tcase_add_test(tests, every_value_round_trips);
  tcase_add_test(tests, sorted_library);
  tcase_add_test(tests, other_locale);
  tcase_add_test(tests, require_beside_the_file);
  tcase_add_test(tests, require_stays_in_the_folder);
  tcase_add_test(tests, files_that_cannot_be_read);
  tcase_add_test(tests, standard_input);
  tcase_add_test(tests, same_messages_every_time);
  tcase_add_test(tests, survives_failing_allocators);
  suite_add_tcase(suite, tests);
  return mok_suite_main(suite);
}
