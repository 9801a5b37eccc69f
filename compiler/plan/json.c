/* plan.json: the description's three objects, then the plan's fields in the order of their list. */
#include <string.h>

#include "internal.h"

static const char *word_of(mok_arena *arena, const mok_plan_info *field, int64_t value) {
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (strcmp(mok_fields[i].name, field->name) == 0) return mok_field_word(arena, &mok_fields[i], value);
  return "?";
}

static void put_value(mok_json *json, mok_arena *arena, const mok_plan_info *field, const void *value) {
  switch (field->kind) {
    case MOK_PK_INT:
      mok_json_int(json, *(const int64_t *)value);
      break;
    case MOK_PK_WORD:
      mok_json_string(json, word_of(arena, field, *(const int64_t *)value));
      break;
    case MOK_PK_US:
      mok_json_fixed(json, *(const double *)value, 3);
      break;
  }
}

void mok_plan_json(const mok_plan *plan, mok_buf *out) {
  mok_json json = mok_json_make(out);
  mok_json_begin_object(&json);
  mok_json_key(&json, "schema");
  mok_json_int(&json, 1);
  mok_json_key(&json, "name");
  mok_json_string(&json, plan->model->name);
  mok_json_key(&json, "target");
  mok_json_string(&json, plan->gpu.arch);
  mok_model_json(plan->model, &json);
  const char *group = "", *sub = "";
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *f = &mok_plan_fields[i];
    const bool same_group = strcmp(group, f->group) == 0, same_sub = same_group && strcmp(sub, f->sub) == 0;
    if (!same_sub && *sub) mok_json_end_object(&json);
    if (!same_group && *group) mok_json_end_object(&json);
    if (!same_group && *f->group) {
      mok_json_key(&json, f->group);
      mok_json_begin_object(&json);
    }
    if (!same_sub && *f->sub) {
      mok_json_key(&json, f->sub);
      mok_json_begin_object(&json);
    }
    group = f->group;
    sub = f->sub;
    mok_json_key(&json, f->key);
    put_value(&json, out->arena, f, (const char *)plan + f->offset);
  }
  if (*sub) mok_json_end_object(&json);
  if (*group) mok_json_end_object(&json);
  mok_json_end_object(&json);
  mok_json_finish(&json);
}
