/* mok.plan: model and plan as an attribute of the module, and back. Both directions loop over the field lists. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir_impl.h"

static const char *const model_tables[] = {"model", "topology", "workload", "schedule"};
enum { NUM_TABLES = sizeof model_tables / sizeof *model_tables, MAX_KEYS = MOK_NUM_PLAN + 8 };

typedef struct dictionary {
  MlirContext context;
  MlirNamedAttribute entries[MAX_KEYS];
  int count;
} dictionary;

static void put(dictionary *d, const char *key, MlirAttribute value) {
  d->entries[d->count++] = mlirNamedAttributeGet(mlirIdentifierGet(d->context, mok_ref(key)), value);
}

static MlirAttribute finish(const dictionary *d) { return mlirDictionaryAttrGet(d->context, d->count, d->entries); }

static MlirAttribute auto_or_int(MlirContext context, int64_t value) {
  return value == MOK_AUTO ? mok_attr_text(context, "auto") : mok_attr_int(context, value);
}

static MlirAttribute encode_words(MlirContext context, mok_arena *arena, const mok_field_info *field, int64_t bits) {
  const char *words[64];
  size_t count = 0;
  for (int64_t i = 0; i < 63; ++i)
    if (bits >> i & 1) words[count++] = mok_field_word(arena, field, i);
  return mok_attr_texts(context, words, count);
}

static MlirAttribute encode_field(MlirContext context, mok_arena *arena, const mok_field_info *field, const void *value) {
  switch (field->kind) {
    case MOK_K_STRING:
      return mok_attr_text(context, *(const char *const *)value);
    case MOK_K_INT:
      return mok_attr_int(context, *(const int64_t *)value);
    case MOK_K_NUMBER: {
      const MOK_KIND_NUMBER *number = value;
      return number->present ? mok_attr_float(context, number->value) : mok_attr_text(context, "nil");
    }
    case MOK_K_WORD:
    case MOK_K_AUTO_WORD:
      return mok_attr_text(context, mok_field_word(arena, field, *(const int64_t *)value));
    case MOK_K_WORDS:
      return encode_words(context, arena, field, *(const int64_t *)value);
    case MOK_K_AUTO_INT:
      return auto_or_int(context, *(const int64_t *)value);
    case MOK_K_GPU: {
      const mok_gpu_choice *gpu = value;
      dictionary d = {.context = context, .count = 0};
      put(&d, "row", mok_attr_text(context, gpu->row));
      put(&d, "sms", auto_or_int(context, gpu->sms));
      return finish(&d);
    }
  }
  return (MlirAttribute){NULL};
}

/* Places of the fields that the description spells out: {hidden = loc("kimi.lua":5:3)}. */
static MlirAttribute encode_places(MlirContext context, const mok_model *model) {
  dictionary d = {.context = context, .count = 0};
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
    if (model->given[i]) put(&d, mok_fields[i].name, mlirLocationGetAttribute(mok_loc_make(context, model->loc[i])));
  return finish(&d);
}

MlirAttribute mok_ir_plan_attribute(MlirContext context, mok_arena *arena, const mok_plan *plan) {
  dictionary top = {.context = context, .count = 0};
  for (int t = 0; t < NUM_TABLES; ++t) {
    dictionary d = {.context = context, .count = 0};
    for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
      const mok_field_info *field = &mok_fields[i];
      if (strcmp(field->table, model_tables[t]) != 0) continue;
      put(&d, field->name, encode_field(context, arena, field, (const char *)plan->model + field->offset));
    }
    put(&top, model_tables[t], finish(&d));
  }
  put(&top, "gpu", mok_attr_text(context, plan->gpu.name));
  put(&top, "given", encode_places(context, plan->model));
  dictionary d = {.context = context, .count = 0};
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *field = &mok_plan_fields[i];
    const void *value = (const char *)plan + field->offset;
    put(&d, field->name,
        field->kind == MOK_PK_US ? mok_attr_float(context, *(const double *)value)
                                 : mok_attr_int(context, *(const int64_t *)value));
  }
  put(&top, "plan", finish(&d));
  return finish(&top);
}

/* ---- back ---- */

typedef struct decoder {
  mok_diag *diag;
  mok_arena *arena;
  mok_loc loc; /* of the module */
  bool failed;
} decoder;

static void complain(decoder *d, const char *table, const char *key, const char *what, const char *hint) {
  d->failed = true;
  mok_diag_report(d->diag, MOK_SEVERITY_ERROR, d->loc, hint, "mok.plan: %s%s%s %s", table, *key ? "." : "", key, what);
}

/* Whether it is a number of type i64, the only integer that the printer writes; others may not even fit one. */
static bool is_int(MlirAttribute a) {
  if (!mlirAttributeIsAInteger(a)) return false;
  MlirType type = mlirAttributeGetType(a);
  return mlirTypeIsAInteger(type) && mlirIntegerTypeIsSignless(type) && mlirIntegerTypeGetWidth(type) == 64;
}

static bool read_auto_int(decoder *d, MlirAttribute a, int64_t *value) {
  if (is_int(a)) {
    *value = mlirIntegerAttrGetValueInt(a);
    return true;
  }
  const char *word = mok_attr_string(d->arena, a);
  *value = MOK_AUTO;
  return word && strcmp(word, "auto") == 0;
}

/* No plan comes near these; below them, sums and products of the checks that follow do not overflow. */
static int64_t largest_of(const mok_plan_info *field) { return strcmp(field->unit, "bytes") == 0 ? INT64_C(1) << 46 : INT32_MAX; }

static bool in_range(const mok_field_info *field, double value) { return value >= field->min && value <= field->max; }

static void decode_field(decoder *d, const mok_field_info *field, MlirAttribute a, void *value) {
  const char *word = mok_attr_string(d->arena, a);
  int64_t number = 0;
  char range[96];
  snprintf(range, sizeof range, "is out of range: %.0f to %.0f", field->min, field->max);
  switch (field->kind) {
    case MOK_K_STRING:
      *(const char **)value = word ? word : "";
      if (!word) complain(d, field->table, field->name, "must be a string", NULL);
      return;
    case MOK_K_INT:
      if (!is_int(a)) {
        complain(d, field->table, field->name, "must be an integer of type i64", NULL);
        return;
      }
      number = mlirIntegerAttrGetValueInt(a);
      *(int64_t *)value = number;
      if (!in_range(field, (double)number)) complain(d, field->table, field->name, range, NULL);
      return;
    case MOK_K_AUTO_INT:
      if (!read_auto_int(d, a, &number))
        complain(d, field->table, field->name, "must be an integer of type i64 or \"auto\"", NULL);
      *(int64_t *)value = number;
      if (number != MOK_AUTO && !in_range(field, (double)number)) complain(d, field->table, field->name, range, NULL);
      return;
    case MOK_K_NUMBER: {
      MOK_KIND_NUMBER *optional = value;
      optional->present = mlirAttributeIsAFloat(a);
      optional->value = optional->present ? mlirFloatAttrGetValueDouble(a) : 0;
      if (!optional->present && !(word && strcmp(word, "nil") == 0))
        complain(d, field->table, field->name, "must be a number of type f64, or \"nil\"", NULL);
      else if (optional->present && !in_range(field, optional->value)) complain(d, field->table, field->name, range, NULL);
      return;
    }
    case MOK_K_WORD:
      if (!word || !mok_field_word_index(field, word, (int64_t *)value))
        complain(d, field->table, field->name, "is no legal word", field->words);
      return;
    case MOK_K_AUTO_WORD:
      if (word && strcmp(word, "auto") == 0) {
        *(int64_t *)value = MOK_AUTO;
      } else if (!word || !mok_field_word_index(field, word, (int64_t *)value)) {
        complain(d, field->table, field->name, "is no legal word", field->words);
      }
      return;
    case MOK_K_WORDS:
      *(int64_t *)value = 0;
      if (!mlirAttributeIsAArray(a)) {
        complain(d, field->table, field->name, "must be a list of words", field->words);
        return;
      }
      for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(a); ++i) {
        const char *one = mok_attr_string(d->arena, mlirArrayAttrGetElement(a, i));
        if (!one || !mok_field_word_index(field, one, &number))
          complain(d, field->table, field->name, "holds an illegal word", field->words);
        else if (*(int64_t *)value >> number & 1) complain(d, field->table, field->name, "holds a word twice", NULL);
        else *(int64_t *)value |= INT64_C(1) << number;
      }
      return;
    case MOK_K_GPU: {
      mok_gpu_choice *gpu = value;
      MlirAttribute row = {NULL}, sms = {NULL};
      if (mlirAttributeIsADictionary(a) && mlirDictionaryAttrGetNumElements(a) == 2) {
        row = mlirDictionaryAttrGetElementByName(a, mok_ref("row"));
        sms = mlirDictionaryAttrGetElementByName(a, mok_ref("sms"));
      }
      gpu->row = mok_attr_string(d->arena, row);
      if (!gpu->row || mlirAttributeIsNull(sms) || !read_auto_int(d, sms, &gpu->sms))
        complain(d, field->table, field->name, "must be {row = NAME, sms = N or \"auto\"}", NULL);
      else if (gpu->sms != MOK_AUTO && (gpu->sms < MOK_MIN_GPU_SMS || gpu->sms > MOK_MAX_GPU_SMS)) {
        snprintf(range, sizeof range, "has sms out of range: %d to %d", MOK_MIN_GPU_SMS, MOK_MAX_GPU_SMS);
        complain(d, field->table, field->name, range, NULL);
      }
      return;
    }
  }
}

/* Sub-dictionary `table` of mok.plan; null with a complaint when missing. */
static MlirAttribute table_of(decoder *d, MlirAttribute top, const char *table) {
  MlirAttribute a = mlirDictionaryAttrGetElementByName(top, mok_ref(table));
  if (!mlirAttributeIsNull(a) && mlirAttributeIsADictionary(a)) return a;
  complain(d, table, "", "is missing", NULL);
  return (MlirAttribute){NULL};
}

static MlirAttribute entry(decoder *d, MlirAttribute table, const char *table_name, const char *key) {
  if (mlirAttributeIsNull(table)) return table;
  MlirAttribute a = mlirDictionaryAttrGetElementByName(table, mok_ref(key));
  if (mlirAttributeIsNull(a)) complain(d, table_name, key, "is missing", NULL);
  return a;
}

static void reject_unknown(decoder *d, MlirAttribute table, const char *table_name, const char *const *known, size_t count) {
  if (mlirAttributeIsNull(table)) return;
  for (intptr_t i = 0; i < mlirDictionaryAttrGetNumElements(table); ++i) {
    MlirStringRef name = mlirIdentifierStr(mlirDictionaryAttrGetElement(table, i).name);
    const char *key = mok_arena_strndup(d->arena, name.data, name.length);
    bool found = false;
    for (size_t k = 0; k < count && !found; ++k) found = strcmp(known[k], key) == 0;
    if (found) continue;
    const char *near = mok_nearest_word(key, known, count);
    complain(d, table_name, key, "is unknown", near ? mok_arena_printf(d->arena, "did you mean '%s'?", near) : NULL);
  }
}

static void decode_model(decoder *d, MlirAttribute top, mok_model *model) {
  for (int t = 0; t < NUM_TABLES; ++t) {
    MlirAttribute table = table_of(d, top, model_tables[t]);
    const char *known[MOK_NUM_FIELDS];
    size_t count = 0;
    for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
      const mok_field_info *field = &mok_fields[i];
      if (strcmp(field->table, model_tables[t]) != 0) continue;
      known[count++] = field->name;
      MlirAttribute a = entry(d, table, model_tables[t], field->name);
      if (!mlirAttributeIsNull(a)) decode_field(d, field, a, (char *)model + field->offset);
    }
    reject_unknown(d, table, model_tables[t], known, count);
  }
}

static void decode_places(decoder *d, MlirAttribute top, mok_model *model) {
  MlirAttribute table = table_of(d, top, "given");
  const char *known[MOK_NUM_FIELDS];
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
    known[i] = mok_fields[i].name;
    model->loc[i] = d->loc;
    if (mlirAttributeIsNull(table)) continue;
    MlirAttribute a = mlirDictionaryAttrGetElementByName(table, mok_ref(known[i]));
    model->given[i] = !mlirAttributeIsNull(a);
    if (!model->given[i]) continue;
    if (mlirAttributeIsALocation(a) && mok_location_is_plain(mlirLocationFromAttribute(a)))
      model->loc[i] = mok_loc_of(d->arena, mlirLocationFromAttribute(a));
    else complain(d, "given", known[i], "must be a location", "loc(\"file\":line:column)");
  }
  reject_unknown(d, table, "given", known, MOK_NUM_FIELDS);
}

/* Numbers of the attribute over those of `plan`; reasons of numbers that differ say so. */
static void decode_plan(decoder *d, MlirAttribute top, mok_plan *plan) {
  MlirAttribute table = table_of(d, top, "plan");
  const char *known[MOK_NUM_PLAN];
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *field = &mok_plan_fields[i];
    known[i] = field->name;
    MlirAttribute a = entry(d, table, "plan", field->name);
    if (mlirAttributeIsNull(a)) continue;
    void *value = (char *)plan + field->offset;
    if (field->kind == MOK_PK_US) {
      if (!mlirAttributeIsAFloat(a) || !isfinite(mlirFloatAttrGetValueDouble(a))) {
        complain(d, "plan", field->name, "must be a number of type f64", NULL);
        continue;
      }
      const double number = mlirFloatAttrGetValueDouble(a);
      if (number < *(double *)value || number > *(double *)value) plan->why[i] = "stated by the module";
      *(double *)value = number;
    } else {
      if (!is_int(a)) {
        complain(d, "plan", field->name, "must be an integer of type i64", NULL);
        continue;
      }
      const int64_t number = mlirIntegerAttrGetValueInt(a);
      if (number < 0 || number > largest_of(field)) {
        complain(d, "plan", field->name, mok_arena_printf(d->arena, "is out of range: 0 to %" PRId64, largest_of(field)), NULL);
        continue;
      }
      if (number != *(int64_t *)value) plan->why[i] = "stated by the module";
      *(int64_t *)value = number;
    }
  }
  reject_unknown(d, table, "plan", known, MOK_NUM_PLAN);
}

mok_status mok_ir_plan(mok_ir *ir, const mok_module *module, mok_arena *arena, const mok_plan **out) {
  *out = NULL;
  MlirOperation op = mlirModuleGetOperation(module->module);
  decoder d = {.diag = ir->diag, .arena = arena, .loc = mok_loc_of(arena, mlirOperationGetLocation(op)), .failed = false};
  MlirAttribute top = mok_op_get(op, "mok.plan");
  if (mlirAttributeIsNull(top) || !mlirAttributeIsADictionary(top)) {
    mok_diag_report(ir->diag, MOK_SEVERITY_ERROR, d.loc, NULL, "the module has no dictionary attribute mok.plan");
    return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "no mok.plan"));
  }
  static const char *const known[] = {"model", "topology", "workload", "schedule", "given", "gpu", "plan"};
  reject_unknown(&d, top, "", known, sizeof known / sizeof *known);

  mok_model *model = MOK_NEW(arena, mok_model);
  decode_model(&d, top, model);
  decode_places(&d, top, model);
  const char *row_name = mok_attr_string(arena, mlirDictionaryAttrGetElementByName(top, mok_ref("gpu")));
  const mok_gpu *row = row_name ? mok_gpu_find(row_name) : NULL;
  if (!row) complain(&d, "gpu", "", "must name a row of the GPU table", NULL);
  if (d.failed) return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "mok.plan is not valid"));

  mok_model_finish(model, model->name, ir->diag);
  if (mok_diag_errors(ir->diag) > 0) return mok_diag_status(ir->diag, MOK_ERR_DESCRIPTION);
  const mok_plan *made = NULL;
  MOK_TRY_CTX(mok_plan_make(arena, ir->diag, model, row, &made), "remaking the plan of mok.plan");
  mok_plan *plan = MOK_NEW(arena, mok_plan);
  *plan = *made;
  decode_plan(&d, top, plan);
  if (d.failed) return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "mok.plan is not valid"));
  mok_status verified = mok_plan_verify(arena, plan);
  if (verified) {
    mok_diag_report(ir->diag, MOK_SEVERITY_ERROR, d.loc, NULL, "mok.plan: the numbers do not fit each other: %s",
                    mok_status_text(verified));
    mok_status_free(verified);
    return mok_status_mark_reported(MOK_ERROR(MOK_ERR_DESCRIPTION, "mok.plan is not valid"));
  }
  *out = plan;
  return MOK_OK;
}
