#include "package_model.h"

#include <string.h>

#include "../../runtime/base/file.h"
#include "../../runtime/package/reader.h"
#include "../package/package.h"

typedef struct source {
  mok_session *session;
  const mok_package *package;
  const char *place; /* the manifest, for messages */
} source;

static mok_status find(const source *from, const char *key, const char **out) {
  *out = from->package->lookup(from->package, key);
  if (*out) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "%s has no line '%s': rebuild the package with mokgen %s", from->place, key, MOKGEN_VERSION);
}

static mok_status bad_value(const source *from, const char *key, const char *text) {
  return MOK_ERROR(MOK_ERR_IO, "%s says '%s %s', which no description can say", from->place, key, text);
}

static void *slot(mok_model *model, mok_field_id field) { return (char *)model + mok_fields[field].offset; }

static mok_status take_int(const source *from, const char *key, mok_field_id field, mok_model *model) {
  const mok_field_info *info = &mok_fields[field];
  const char *text = NULL;
  int64_t value = 0;
  MOK_TRY(find(from, key, &text));
  mok_status status = mok_parse_int(text, (int64_t)info->min, (int64_t)info->max, key, &value);
  if (status) {
    mok_status_free(status);
    return bad_value(from, key, text);
  }
  memcpy(slot(model, field), &value, sizeof value);
  model->given[field] = true;
  return MOK_OK;
}

static mok_status take_word(const source *from, mok_field_id field, mok_model *model) {
  const mok_field_info *info = &mok_fields[field];
  const char *text = NULL;
  int64_t value = 0;
  MOK_TRY(find(from, info->name, &text));
  if (!mok_field_word_index(info, text, &value)) return bad_value(from, info->name, text);
  memcpy(slot(model, field), &value, sizeof value);
  model->given[field] = true;
  return MOK_OK;
}

static mok_status take_clamp(const source *from, mok_model *model) {
  const mok_field_info *info = &mok_fields[MOK_FIELD_clamp];
  const char *text = from->package->lookup(from->package, "clamp");
  if (!text) return MOK_OK;
  mok_status status = mok_parse_number(text, info->min, info->max, "clamp", &model->clamp.value);
  if (status) {
    mok_status_free(status);
    return bad_value(from, "clamp", text);
  }
  model->clamp.present = model->given[MOK_FIELD_clamp] = true;
  return MOK_OK;
}

static mok_status take_model(const source *from, mok_model *model) {
  static const struct {
    const char *key;
    mok_field_id field;
  } numbers[] = {
      {"hidden", MOK_FIELD_hidden},
      {"intermediate", MOK_FIELD_intermediate},
      {"experts", MOK_FIELD_experts},
      {"top_k", MOK_FIELD_top_k},
      {"shared_intermediate", MOK_FIELD_shared_intermediate},
      {"ranks", MOK_FIELD_gpus},
      {"tokens_per_gpu", MOK_FIELD_tokens_per_gpu},
  };
  mok_model_defaults(model);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    MOK_TRY(take_int(from, numbers[i].key, numbers[i].field, model));
  MOK_TRY(take_word(from, MOK_FIELD_activation, model));
  MOK_TRY(take_word(from, MOK_FIELD_dtype, model));
  MOK_TRY(take_clamp(from, model));
  MOK_TRY(find(from, "name", &model->name));
  if (!mok_model_name_ok(model->name)) return bad_value(from, "name", model->name);
  model->given[MOK_FIELD_name] = true;
  model->shared_experts = model->shared_intermediate > 0;
  MOK_TRY(find(from, "gpu", &model->gpu.row));
  model->gpu.sms = MOK_AUTO;
  /* The rules between fields; the manifest has no lines to point at. */
  mok_arena *arena = from->session->arena;
  mok_diag *diag = mok_diag_create(arena);
  mok_model_finish(model, model->name, diag);
  if (mok_diag_errors(diag) == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "%s does not say a layer that a description could say", from->place);
}

static mok_status check_flags(const mok_session *session, const mok_target *target) {
  const mok_options *options = &session->options;
  const char *flag = options->define.given ? "-D" : options->from.given ? "--from" : NULL;
  if (flag) return MOK_ERROR(MOK_ERR_USAGE, "%s changes what is built, but a package is built already", flag);
  if (options->target.given && strcmp(options->target.text, target->name) != 0)
    return MOK_ERROR(MOK_ERR_USAGE, "--target %s: the package was built for %s", options->target.text, target->name);
  return MOK_OK;
}

mok_status mok_package_take(mok_session *session, mok_work *work) {
  mok_arena *arena = session->arena;
  const char *place = mok_path_join(arena, work->path, MOK_MANIFEST_NAME);
  if (!mok_file_exists(place)) return MOK_OK;
  mok_package *package = MOK_NEW(arena, mok_package);
  mok_model *model = MOK_NEW(arena, mok_model);
  MOK_TRY(mok_package_read(arena, work->path, package));
  work->target = mok_target_find(package->target);
  if (!work->target)
    return MOK_ERROR(MOK_ERR_NO_PLAN, "not in this version: a package for target %s (%s)", package->target, work->path);
  MOK_TRY(check_flags(session, work->target));
  if (work->target->native)
    return MOK_ERROR(MOK_ERR_NO_PLAN, "not in this version: running a package for the host target (%s); run its description",
                     work->path);
  const source from = {.session = session, .package = package, .place = place};
  MOK_TRY(take_model(&from, model));
  work->package = work->path;
  work->target_name = work->target->name;
  work->model = model;
  return MOK_OK;
}

mok_status mok_work_package(mok_arena *arena, const mok_work *work, mok_load_args *out) {
  mok_blob packed;
  *out = (mok_load_args){.struct_size = sizeof *out, .path = work->package};
  if (work->package) return MOK_OK;
  MOK_TRY(mok_package_pack(arena, work->plan, work->target, &work->sources, &work->image, &packed));
  out->memory = packed.data;
  out->memory_size = packed.size;
  return MOK_OK;
}
