/* mok_plan.h: a loop over the description's fields and one over the plan's. */
#include <string.h>

#include "emit_impl.h"

static const char *field_remark(mok_writer *w, const mok_model *model, const mok_field_info *field) {
  const mok_field_id id = (mok_field_id)(field - mok_fields);
  const char *place = model->given[id] ? mok_w_place(w, model->loc[id]) : "default";
  if (!*field->unit) return place;
  return *place ? mok_w_format(w, "%s: %s", field->unit, place) : field->unit;
}

/* What was asked for in `schedule` is not printed: the plan's own numbers say what was chosen. */
static void put_field(mok_writer *w, const mok_model *model, const mok_field_info *field) {
  const void *value = (const char *)model + field->offset;
  const char *name = mok_w_upper(w, "PLAN_", field->name, "");
  const char *remark = field_remark(w, model, field);
  switch (field->kind) {
    case MOK_K_STRING:
      mok_w_define(w, name, mok_w_string(w, *(const char *const *)value), remark);
      return;
    case MOK_K_GPU:
      mok_w_define(w, name, mok_w_string(w, ((const mok_gpu_choice *)value)->row), remark);
      return;
    case MOK_K_INT:
    case MOK_K_AUTO_INT:
      mok_w_define(w, name, mok_w_int(w, *(const int64_t *)value), remark);
      return;
    case MOK_K_NUMBER: {
      const MOK_KIND_NUMBER *number = value;
      if (number->present) mok_w_define(w, name, mok_w_float(w, number->value), remark);
      return;
    }
    case MOK_K_WORD:
    case MOK_K_AUTO_WORD: {
      const int64_t position = *(const int64_t *)value;
      const char *word = mok_field_word(w->arena, field, position);
      mok_w_define(w, name, mok_w_int(w, position), *remark ? mok_w_format(w, "%s: %s", word, remark) : word);
      return;
    }
    case MOK_K_WORDS:
      mok_w_define(w, name, mok_w_int(w, *(const int64_t *)value), mok_w_format(w, "bits of %s: %s", field->words, remark));
      return;
  }
}

/* The word of a decision that the description could have made, too. */
static const char *chosen_word(mok_writer *w, const mok_plan_info *decision, int64_t value) {
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (strcmp(mok_fields[i].name, decision->name) == 0) return mok_field_word(w->arena, &mok_fields[i], value);
  return decision->doc;
}

static void put_number(mok_writer *w, const mok_plan *plan, const mok_plan_info *field) {
  const void *value = (const char *)plan + field->offset;
  const char *text = field->kind == MOK_PK_US ? mok_w_fixed(w, *(const double *)value, 3) : mok_w_int(w, *(const int64_t *)value);
  const char *why = plan->why[field - mok_plan_fields];
  const char *subject = field->kind == MOK_PK_WORD ? chosen_word(w, field, *(const int64_t *)value) : field->unit;
  const char *remark = mok_w_format(w, "%s: %s", subject, why);
  mok_w_define(w, mok_w_upper(w, "PLAN_", field->name, ""), text, remark);
}

mok_status mok_emit_plan(mok_arena *arena, const mok_plan *plan, const char *digest, mok_blob *out) {
  mok_writer writer = mok_writer_make(arena), *w = &writer;
  const mok_model *model = plan->model;
  mok_w_heading(w, (mok_loc){0}, "Numbers of %s on %lld x %s: the description's, then the planner's, each with its origin.",
                model->name, (long long)model->gpus, plan->gpu.name);
  mok_w_directive(w, "#ifndef PLAN_H");
  mok_w_directive(w, "#define PLAN_H");
  const char *table = "";
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
    const mok_field_info *field = &mok_fields[i];
    if (strcmp(field->table, "schedule") == 0) continue;
    if (strcmp(field->table, table) != 0) {
      mok_w_blank(w);
      mok_w_heading(w, (mok_loc){0}, "%s", field->table);
    }
    table = field->table;
    put_field(w, model, field);
  }
  const char *group = NULL;
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *field = &mok_plan_fields[i];
    if (!group || strcmp(field->group, group) != 0) {
      mok_w_blank(w);
      mok_w_heading(w, (mok_loc){0}, "%s", *field->group ? field->group : "launch");
    }
    group = field->group;
    put_number(w, plan, field);
  }
  if (digest) {
    mok_w_blank(w);
    mok_w_define(w, "PLAN_DIGEST", mok_w_string(w, digest), "of all the above and of mok_layout.h");
  }
  mok_w_blank(w);
  mok_w_directive(w, "#endif");
  return mok_writer_finish(w, "mok_plan.h", out);
}
