/* compiler/model: the field table, defaults, words, rules across fields, printers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/model/model.h"
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

/* A small legal model whose every field is at its default where it has one. */
static mok_model small(void) {
  mok_model model;
  mok_model_defaults(&model);
  model.hidden = model.intermediate = 64;
  model.experts = 8;
  model.top_k = 2;
  model.gpu.row = "H200";
  model.gpus = 2;
  model.tokens_per_gpu = 128;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) model.loc[i] = (mok_loc){.file = mok_fields[i].name};
  return model;
}

START_TEST(table_has_every_field_once) {
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    const mok_field_info *field = &mok_fields[i];
    ck_assert(field->doc[0]);
    ck_assert(field->offset < offsetof(mok_model, loc));
    ck_assert(field->min <= field->max);
    for (int j = 0; j < i; j++) {
      ck_assert_str_ne(field->name, mok_fields[j].name);
      ck_assert(field->offset != mok_fields[j].offset);
    }
  }
}
END_TEST

START_TEST(defaults) {
  const mok_model model = small();
  ck_assert_int_eq(model.shared_experts, 0);
  ck_assert_int_eq(model.activation, MOK_ACTIVATION_swiglu);
  ck_assert_int_eq(model.dtype, MOK_BF16);
  ck_assert(!model.clamp.present);
  ck_assert_int_eq(model.passes, MOK_PASS_FORWARD);
  ck_assert_int_eq(model.save, MOK_SAVE_ALL);
  ck_assert(model.imbalance.present && model.imbalance.value == 2.0);
  ck_assert_int_eq(model.comm, MOK_AUTO);
  ck_assert_int_eq(model.comm_sms, MOK_AUTO);
  ck_assert_int_eq(model.waves, 2);
  ck_assert_int_eq(model.wire_dedup, MOK_AUTO);
  ck_assert_int_eq(model.reserved_sms, 0);
  ck_assert_int_eq(model.gpu.sms, MOK_AUTO);
}
END_TEST

START_TEST(words) {
  const mok_field_info *dtype = &mok_fields[MOK_FIELD_dtype], *dedup = &mok_fields[MOK_FIELD_wire_dedup];
  int64_t value = 77;
  ck_assert(mok_field_word_index(dtype, "fp8_block128", &value));
  ck_assert_int_eq(value, MOK_FP8_BLOCK128);
  ck_assert(!mok_field_word_index(dtype, "fp8", &value));
  ck_assert(!mok_field_word_index(dtype, "", &value));
  ck_assert(!mok_field_word_index(dtype, "auto", &value));
  ck_assert(!mok_field_word_index(dtype, "bf16|fp8_block128", &value));
  ck_assert(mok_field_word_index(dedup, "auto", &value));
  ck_assert_int_eq(value, MOK_AUTO);
  ck_assert(mok_field_word_index(dedup, "on", &value));
  ck_assert_int_eq(value, 1);
  ck_assert_str_eq(mok_field_word(arena, dtype, MOK_MXFP8), "mxfp8");
  ck_assert_str_eq(mok_field_word(arena, dedup, MOK_AUTO), "auto");
  ck_assert_str_eq(mok_field_word(arena, dedup, 0), "off");
}
END_TEST

START_TEST(derived) {
  mok_model model = small();
  model.shared_experts = 3;
  mok_model_finish(&model, "stem", diag);
  ck_assert_str_eq(printed(), "");
  ck_assert_str_eq(model.name, "stem");
  ck_assert_int_eq(model.shared_intermediate, 192);
}
END_TEST

START_TEST(illegal_stem) {
  mok_model model = small();
  mok_model_finish(&model, "my model", diag);
  ck_assert_str_eq(printed(),
                   "name: error: the file's stem \"my model\" is not a legal name\n"
                   "hint: give model.name: letters, digits, '.', '_' and '-'; 1 to 64 of them\n");
}
END_TEST

static void set_shape_odd(mok_model *m) { m->hidden = 68; }
static void set_k_over_experts(mok_model *m) { m->top_k = 9; }
static void set_few_experts(mok_model *m) { m->experts = 1, m->top_k = 1, m->gpus = 3; }
static void set_zero_clamp(mok_model *m) { m->clamp = (MOK_KIND_NUMBER){true, 0}; }
static void set_no_tokens(mok_model *m) { m->tokens_per_gpu = 0; }
static void set_save(mok_model *m) { m->save = MOK_SAVE_NONE; }
static void set_save_backward(mok_model *m) { m->save = MOK_SAVE_NONE, m->passes = 3; }
static void set_imbalance(mok_model *m) { m->imbalance.value = 3; }
static void set_many_sms(mok_model *m) { m->gpu.sms = 200; }
static void set_unknown_sms(mok_model *m) { m->gpu.row = "auto", m->comm_sms = 512, m->reserved_sms = 512; }
static void set_all_reserved(mok_model *m) { m->reserved_sms = 132; }
static void set_warps(mok_model *m) { m->comm = MOK_COMM_WARPS, m->comm_sms = 4; }
static void set_epilogue(mok_model *m) { m->comm = MOK_COMM_EPILOGUE, m->comm_sms = 4; }
static void set_ring(mok_model *m) { m->minibatch_rows = 128, m->ring_rows = 512; }
static void set_ring_short(mok_model *m) { m->minibatch_rows = 128, m->ring_rows = 64; }

static const struct {
  void (*set)(mok_model *model);
  int errors;
  const char *said; /* "": nothing */
} rules[] = {
    {set_shape_odd, 1, "hidden: error: model.hidden is 68, which is no multiple of 8 (dtype bf16)\n"},
    {set_k_over_experts, 0, "top_k: warning: model.top_k is 9 with 8 experts: a token must visit one of them twice\n"},
    {set_few_experts, 0, "gpus: warning: topology.gpus is 3 with 1 expert: 2 of the ranks own none\n"},
    {set_zero_clamp, 0, "clamp: warning: model.clamp is 0: every expert's output is then 0\n"},
    {set_no_tokens, 0, "tokens_per_gpu: warning: workload.tokens_per_gpu is 0: the kernel will have nothing to do\n"},
    {set_save, 0, "save: warning: workload.save has no effect without the backward pass\n"},
    {set_save_backward, 0, ""},
    {set_imbalance, 0, "imbalance: warning: workload.imbalance has no effect without the backward pass\n"},
    {set_many_sms, 0, "gpu: warning: topology.gpu has sms = 200, but H200 has 132\n"},
    {set_unknown_sms, 0, ""},
    {set_all_reserved, 1, "reserved_sms: error: schedule.reserved_sms is 132, which leaves none of 132 SMs to compute\n"},
    {set_warps, 0, "comm_sms: warning: schedule.comm_sms has no effect with comm = \"warps\"\n"},
    {set_epilogue, 0, ""}, /* rows are pulled by communication SMs */
    {set_ring, 0, ""},
    {set_ring_short, 1, "ring_rows: error: schedule.ring_rows is 64, which is no multiple of minibatch_rows (128)\n"},
};

START_TEST(rule) {
  mok_model model = small();
  rules[_i].set(&model);
  mok_model_finish(&model, "m", diag);
  ck_assert_int_eq(mok_diag_errors(diag), rules[_i].errors);
  const char *said = printed();
  if (rules[_i].said[0]) ck_assert_msg(strncmp(said, rules[_i].said, strlen(rules[_i].said)) == 0, "said: %s", said);
  else ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(ownership_of_experts) {
  mok_model model = small();
  for (model.experts = 1; model.experts <= 70; model.experts++) {
    for (model.gpus = 1; model.gpus <= 72; model.gpus++) {
      int64_t all = 0;
      for (int64_t rank = 0; rank < model.gpus; rank++) {
        ck_assert_int_eq(mok_first_expert(&model, rank), all);
        ck_assert(mok_local_experts(&model, rank) <= mok_local_experts_max(&model));
        all += mok_local_experts(&model, rank);
      }
      ck_assert_int_eq(all, model.experts);
    }
  }
}
END_TEST

START_TEST(json) {
  mok_model model = small();
  model.clamp = (MOK_KIND_NUMBER){true, 7.25};
  model.passes = 3;
  mok_model_finish(&model, "m", diag);
  mok_buf out = mok_buf_make(arena);
  mok_json writer = mok_json_make(&out);
  mok_json_begin_object(&writer);
  mok_model_json(&model, &writer);
  mok_json_end_object(&writer);
  mok_json_finish(&writer);
  ck_assert_str_eq(
      out.data,
      "{\n  \"model\": {\n    \"name\": \"m\",\n    \"hidden\": 64,\n    \"intermediate\": 64,\n    \"experts\": 8,\n"
      "    \"top_k\": 2,\n    \"shared_experts\": 0,\n    \"shared_intermediate\": 0,\n    \"activation\": \"swiglu\",\n"
      "    \"clamp\": 7.25,\n    \"dtype\": \"bf16\"\n  },\n  \"topology\": {\n    \"gpu\": \"H200\",\n    \"gpus\": 2\n"
      "  },\n  \"workload\": {\n    \"tokens_per_gpu\": 128,\n    \"passes\": [\n      \"forward\",\n"
      "      \"backward\"\n    ],\n    \"save\": \"all\",\n    \"imbalance\": 2\n  }\n}\n");
}
END_TEST

START_TEST(reference_names_every_field) {
  mok_buf out = mok_buf_make(arena);
  mok_model_reference(&out);
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    ck_assert_ptr_nonnull(strstr(out.data, mok_arena_printf(arena, "| `%s` |", mok_fields[i].name)));
  }
  const char *tables = out.data;
  int count = 0;
  while ((tables = strstr(tables, "|---|---|---|---|---|\n")) != NULL) count++, tables++;
  ck_assert_int_eq(count, 4);
  for (const char *line = out.data; *line;) { /* six bars a row, or GitHub breaks the table */
    const size_t size = strcspn(line, "\n");
    int bars = 0;
    for (size_t i = 0; i < size; i++) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    ck_assert_msg(size == 0 || bars == 6, "%.*s", (int)size, line);
    line += size + 1;
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("model");
  TCase *tests = tcase_create("model");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, table_has_every_field_once);
  tcase_add_test(tests, defaults);
  tcase_add_test(tests, words);
  tcase_add_test(tests, derived);
  tcase_add_test(tests, illegal_stem);
  tcase_add_loop_test(tests, rule, 0, sizeof rules / sizeof rules[0]);
  tcase_add_test(tests, ownership_of_experts);
  tcase_add_test(tests, json);
  tcase_add_test(tests, reference_names_every_field);
  suite_add_tcase(suite, tests);
  return mok_suite_main(suite);
}
