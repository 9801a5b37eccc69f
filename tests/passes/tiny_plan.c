#include "tiny_plan.h"

#include <stdlib.h>
#include <string.h>

static void set_default(mok_model *model, const mok_field_info *field) {
  void *value = (char *)model + field->offset;
  switch (field->kind) {
    case MOK_K_AUTO_INT:
    case MOK_K_AUTO_WORD:
      *(int64_t *)value = MOK_AUTO;
      return;
    case MOK_K_NUMBER:
      if (strcmp(field->fallback, "nil") != 0) *(MOK_KIND_NUMBER *)value = (MOK_KIND_NUMBER){true, strtod(field->fallback, NULL)};
      return;
    case MOK_K_INT:
      *(int64_t *)value = strtoll(field->fallback, NULL, 10);
      return;
    case MOK_K_STRING:
    case MOK_K_WORD:
    case MOK_K_WORDS:
    case MOK_K_GPU:
      return; /* 0 is the default of the words */
  }
}

mok_model *mok_tiny_model(mok_arena *arena) {
  mok_model *model = MOK_NEW(arena, mok_model);
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
    set_default(model, &mok_fields[i]);
    model->loc[i] = (mok_loc){.file = "some/folder/tiny.lua", .line = (int)i + 1, .column = 3, .length = 1};
  }
  model->name = "tiny";
  model->hidden = 128;
  model->intermediate = 64;
  model->experts = 4;
  model->top_k = 2;
  model->gpu = (mok_gpu_choice){.row = "H200", .sms = MOK_AUTO};
  model->gpus = 2;
  model->tokens_per_gpu = 64;
  model->passes = MOK_PASS_FORWARD;
  model->own_rows = MOK_OWN_COPY; /* what moves rows has most to test */
  return model;
}

bool mok_tiny_set(mok_arena *arena, mok_model *model, const char *setting) {
  const char *equals = strchr(setting, '=');
  if (!equals) return false;
  const char *name = mok_arena_strndup(arena, setting, (size_t)(equals - setting)), *text = equals + 1;
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
    const mok_field_info *field = &mok_fields[i];
    if (strcmp(field->name, name) != 0) continue;
    void *value = (char *)model + field->offset;
    model->given[i] = true;
    switch (field->kind) {
      case MOK_K_STRING:
        *(const char **)value = text;
        return true;
      case MOK_K_INT:
      case MOK_K_AUTO_INT:
        *(int64_t *)value = strtoll(text, NULL, 10);
        return true;
      case MOK_K_NUMBER:
        *(MOK_KIND_NUMBER *)value = (MOK_KIND_NUMBER){true, strtod(text, NULL)};
        return true;
      case MOK_K_WORD:
      case MOK_K_AUTO_WORD:
        return mok_field_word_index(field, text, value);
      case MOK_K_GPU:
        *(mok_gpu_choice *)value = (mok_gpu_choice){.row = text, .sms = MOK_AUTO};
        return true;
      case MOK_K_WORDS:
        return false;
    }
  }
  return false;
}

mok_status mok_tiny_plan(mok_arena *arena, mok_diag *diag, mok_model *model, const mok_plan **out) {
  mok_model_finish(model, model->name, diag);
  if (mok_diag_errors(diag) > 0) return mok_diag_status(diag, MOK_ERR_DESCRIPTION);
  const mok_gpu *gpu = mok_gpu_find(model->gpu.row);
  if (!gpu) return MOK_ERROR(MOK_ERR_USAGE, "no GPU row '%s'", model->gpu.row);
  return mok_plan_make(arena, diag, model, gpu, out);
}
