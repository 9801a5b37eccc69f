/* From records to the model: every field by its row of model_fields.def, every wrong one reported. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../target/target.h"
#include "reader.h"

typedef struct field_reader {
  mok_reader *reader;
  const mok_field_info *field;
  const char *path; /* "model.hidden" or "topology.gpu.sms", as messages name it */
} field_reader;

/* A value as a message shows it. */
static const char *show(mok_reader *reader, const mok_raw *raw) {
  switch (raw->kind) {
    case MOK_RAW_NIL:
      return "nil";
    case MOK_RAW_BOOL:
      return raw->integer ? "true" : "false";
    case MOK_RAW_INT:
      return mok_arena_printf(reader->arena, "%" PRId64, raw->integer);
    case MOK_RAW_FLOAT:
      if (isnan(raw->number)) return "nan";
      if (isinf(raw->number)) return raw->number > 0 ? "infinity" : "minus infinity";
      return mok_arena_printf(reader->arena, "%.14g", raw->number);
    case MOK_RAW_STRING:
      return mok_arena_printf(reader->arena, "the string \"%.60s%s\"", raw->text, strlen(raw->text) > 60 ? "..." : "");
    case MOK_RAW_TABLE:
      return "a table";
    default:
      return mok_arena_printf(reader->arena, "a %s", raw->text);
  }
}

/* The number that a string spells, "7168", "7_168" or "7,168", as a Lua constant; NULL if it spells none. */
static const char *spelled_number(mok_reader *reader, const mok_raw *raw) {
  if (raw->kind != MOK_RAW_STRING || raw->odd || strlen(raw->text) > 40) return NULL;
  mok_buf digits = mok_buf_make(reader->arena);
  for (const char *c = raw->text; *c; c++) {
    if (!strchr("_, ", *c)) mok_buf_putc(&digits, *c);
  }
  char *end;
  const double number = strtod(digits.data, &end);
  return digits.size && *end == '\0' && isfinite(number) ? digits.data : NULL;
}

static bool wrong_type(const field_reader *f, const mok_raw *raw, const char *what, const char *hint) {
  const char *dot = strrchr(f->path, '.'), *number = spelled_number(f->reader, raw);
  if (!hint && number && f->field->kind != MOK_K_STRING) {
    hint = mok_arena_printf(f->reader->arena, "write %s = %s, without quotes", dot ? dot + 1 : f->path, number);
  }
  mok_reader_error(f->reader, raw->loc, hint, "%s must be %s, not %s", f->path, what, show(f->reader, raw));
  return false;
}

/* min and max of a field are integers for integer kinds; they print as such. */
static const char *range(mok_reader *reader, double min, double max) {
  return mok_arena_printf(reader->arena, "%.14g to %.14g", min, max);
}

static bool read_integer(const field_reader *f, const mok_raw *raw, double min, double max, const char *what, int64_t *value) {
  if (raw->kind != MOK_RAW_INT && raw->kind != MOK_RAW_FLOAT) return wrong_type(f, raw, what, NULL);
  if (raw->kind == MOK_RAW_FLOAT) {
    if (isnan(raw->number)) return wrong_type(f, raw, what, NULL);
    if (!isinf(raw->number) && raw->number != floor(raw->number)) {
      return wrong_type(f, raw, what, "a // b divides without a fraction; math.floor(a) and math.ceil(a) round");
    }
  }
  const double number = raw->kind == MOK_RAW_INT ? (double)raw->integer : raw->number;
  if (number < min || number > max) {
    mok_reader_error(f->reader, raw->loc, NULL, "%s is %s; legal: %s", f->path, show(f->reader, raw), range(f->reader, min, max));
    return false;
  }
  *value = raw->kind == MOK_RAW_INT ? raw->integer : (int64_t)raw->number;
  return true;
}

static bool read_number(const field_reader *f, const mok_raw *raw, MOK_KIND_NUMBER *value) {
  if (raw->kind != MOK_RAW_INT && raw->kind != MOK_RAW_FLOAT) return wrong_type(f, raw, "a number", NULL);
  const double number = raw->kind == MOK_RAW_INT ? (double)raw->integer : raw->number;
  if (!(number >= f->field->min && number <= f->field->max)) {
    mok_reader_error(f->reader, raw->loc, NULL, "%s is %s; legal: %s", f->path, show(f->reader, raw),
                     range(f->reader, f->field->min, f->field->max));
    return false;
  }
  *value = (MOK_KIND_NUMBER){true, number == 0 ? 0 : number}; /* no minus zero */
  return true;
}

/* "auto" and the words of a field, for hints and for the nearest. */
static size_t words_of(mok_reader *reader, const mok_field_info *field, const char **words, size_t capacity) {
  size_t count = 0;
  if (field->kind == MOK_K_AUTO_WORD) words[count++] = "auto";
  const char *word = field->words;
  while (*word && count < capacity) {
    const size_t size = strcspn(word, "|");
    words[count++] = mok_arena_strndup(reader->arena, word, size);
    word += size + (word[size] == '|');
  }
  return count;
}

static const char *word_hint(mok_reader *reader, const char *given, const char *const *words, size_t count) {
  mok_buf hint = mok_buf_make(reader->arena);
  const char *near = given ? mok_reader_nearest(given, words, count) : NULL;
  if (near) mok_buf_printf(&hint, "did you mean \"%s\"? ", near);
  mok_buf_puts(&hint, "legal: ");
  for (size_t i = 0; i < count; i++) mok_buf_printf(&hint, "%s\"%s\"", i ? ", " : "", words[i]);
  return hint.data;
}

static bool read_word(const field_reader *f, const mok_raw *raw, int64_t *value) {
  const char *words[16];
  const size_t count = words_of(f->reader, f->field, words, 16);
  if (raw->kind == MOK_RAW_BOOL && mok_field_word_index(f->field, raw->integer ? "on" : "off", value)) return true;
  if (raw->kind != MOK_RAW_STRING) return wrong_type(f, raw, "a word", word_hint(f->reader, NULL, words, count));
  if (!raw->odd && mok_field_word_index(f->field, raw->text, value)) return true;
  mok_reader_error(f->reader, raw->loc, word_hint(f->reader, raw->text, words, count), "%s is \"%.60s\", which is no known word",
                   f->path, raw->text);
  return false;
}

static bool read_words(const field_reader *f, const mok_raw *raw, int64_t *bits) {
  const char *words[16];
  const size_t count = words_of(f->reader, f->field, words, 16);
  if (raw->kind == MOK_RAW_STRING) {
    return wrong_type(f, raw, "a list of words",
                      mok_arena_printf(f->reader->arena, "write %s = { \"%.40s\" }", f->field->name, raw->text));
  }
  if (raw->kind != MOK_RAW_TABLE) return wrong_type(f, raw, "a list of words", word_hint(f->reader, NULL, words, count));
  bool ok = true;
  *bits = 0;
  for (size_t i = 0; i < raw->count; i++) {
    const mok_raw_item *item = &raw->items[i];
    int64_t bit;
    if (item->key) {
      mok_reader_error(f->reader, item->value->loc, word_hint(f->reader, NULL, words, count),
                       "%s is a list: '%s' has no place in it", f->path, item->key);
      ok = false;
      continue;
    }
    const field_reader part = {f->reader, f->field, mok_arena_printf(f->reader->arena, "%s[%d]", f->path, item->index)};
    if (!read_word(&part, item->value, &bit)) {
      ok = false;
    } else if (*bits >> bit & 1) {
      mok_reader_error(f->reader, item->value->loc, "each word once", "%s names '%s' twice", f->path, item->value->text);
      ok = false;
    } else {
      *bits |= INT64_C(1) << bit;
    }
  }
  if (raw->odd) {
    mok_reader_error(f->reader, raw->loc, word_hint(f->reader, NULL, words, count), "%s is no plain list of words", f->path);
    return false;
  }
  if (ok && !*bits) {
    mok_reader_error(f->reader, raw->loc, word_hint(f->reader, NULL, words, count), "%s is empty", f->path);
    return false;
  }
  return ok;
}

static bool read_row(const field_reader *f, const mok_raw *raw, const char **row) {
  const char *rows[64];
  size_t count = 0;
  for (; count < mok_gpu_count && count < 63; count++) rows[count] = mok_gpus[count].name;
  rows[count++] = "auto";
  if (raw->kind != MOK_RAW_STRING) return wrong_type(f, raw, "the name of a GPU", word_hint(f->reader, NULL, rows, count));
  for (size_t i = 0; i < count && !raw->odd; i++) {
    if (strcmp(rows[i], raw->text) == 0) {
      *row = rows[i];
      return true;
    }
  }
  mok_reader_error(f->reader, raw->loc, word_hint(f->reader, raw->text, rows, count),
                   "%s is \"%.60s\", which is no row of the GPU table", f->path, raw->text);
  return false;
}

static bool read_gpu(const field_reader *f, const mok_raw *raw, mok_gpu_choice *gpu) {
  *gpu = (mok_gpu_choice){.sms = MOK_AUTO};
  if (raw->kind != MOK_RAW_TABLE) return read_row(f, raw, &gpu->row);
  static const char *const keys[] = {"base", "sms"};
  bool ok = !raw->odd, based = false;
  for (size_t i = 0; i < raw->count; i++) {
    const mok_raw_item *item = &raw->items[i];
    const char *key = item->key ? item->key : mok_arena_printf(f->reader->arena, "[%d]", item->index);
    const field_reader part = {f->reader, f->field, mok_arena_printf(f->reader->arena, "%s.%s", f->path, key)};
    if (strcmp(key, "base") == 0) {
      based = true;
      ok = read_row(&part, item->value, &gpu->row) && ok;
    } else if (strcmp(key, "sms") == 0) {
      ok = read_integer(&part, item->value, MOK_MIN_GPU_SMS, MOK_MAX_GPU_SMS, "an integer", &gpu->sms) && ok;
    } else {
      const char *near = mok_reader_nearest(key, keys, 2);
      based = based || (near == keys[0]);
      mok_reader_error(
          f->reader, item->value->loc,
          near ? mok_arena_printf(f->reader->arena, "did you mean '%s'?", near) : "write { base = \"H200\", sms = 120 }",
          "unknown key '%.60s' in %s", key, f->path);
      ok = false;
    }
  }
  if (raw->odd) {
    mok_reader_error(f->reader, raw->loc, "write { base = \"H200\", sms = 120 }", "%s has keys that it cannot have", f->path);
  } else if (!based) {
    mok_reader_error(f->reader, raw->loc, "write { base = \"H200\", sms = 120 }", "%s has no base", f->path);
  }
  return ok && based;
}

static bool read_string(const field_reader *f, const mok_raw *raw, const char **text) {
  if (raw->kind != MOK_RAW_STRING) return wrong_type(f, raw, "a string", NULL);
  if (raw->odd) {
    mok_reader_error(f->reader, raw->loc, NULL, "%s is too long, or has a NUL byte in it", f->path);
    return false;
  }
  *text = raw->text;
  return true;
}

static bool is_auto(const mok_raw *raw) { return raw->kind == MOK_RAW_STRING && strcmp(raw->text, "auto") == 0; }

static bool read_field(mok_reader *reader, const mok_field_info *field, const mok_raw *raw, void *value) {
  const field_reader f = {reader, field, mok_arena_printf(reader->arena, "%s.%s", field->table, field->name)};
  switch (field->kind) {
    case MOK_K_STRING:
      return read_string(&f, raw, value);
    case MOK_K_INT:
      return read_integer(&f, raw, field->min, field->max, "an integer", value);
    case MOK_K_NUMBER:
      return read_number(&f, raw, value);
    case MOK_K_WORD:
    case MOK_K_AUTO_WORD:
      return read_word(&f, raw, value);
    case MOK_K_WORDS:
      return read_words(&f, raw, value);
    case MOK_K_GPU:
      return read_gpu(&f, raw, value);
    case MOK_K_AUTO_INT:
      if (is_auto(raw)) {
        *(int64_t *)value = MOK_AUTO;
        return true;
      }
      return read_integer(&f, raw, field->min, field->max, "an integer or \"auto\"", value);
  }
  return false;
}

/* A value that no rule across fields objects to, for a field whose own value is unknown. */
static void set_neutral(mok_model *model, int field) {
  mok_model neutral;
  mok_model_defaults(&neutral);
  neutral.name = "x";
  neutral.hidden = neutral.intermediate = 4096;
  neutral.experts = 4096;
  neutral.top_k = neutral.gpus = neutral.tokens_per_gpu = 1;
  neutral.gpu.row = "auto";
  const size_t begin = mok_fields[field].offset;
  size_t end = offsetof(mok_model, loc);
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (mok_fields[i].offset > begin && mok_fields[i].offset < end) end = mok_fields[i].offset;
  }
  memcpy((char *)model + begin, (char *)&neutral + begin, end - begin);
}

static bool is_required(const mok_field_info *field) { return field->fallback[0] == '\0'; }

static void report_missing(mok_reader *reader, const mok_record *record, const char *table, const char *file) {
  mok_buf names = mok_buf_make(reader->arena);
  bool any = false;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    const mok_raw *raw = &record->fields[i];
    if (strcmp(mok_fields[i].table, table) != 0 || !is_required(&mok_fields[i]) || raw->kind != MOK_RAW_NIL || record->excused[i])
      continue;
    if (record->nil_given[i]) {
      if (mok_reader_unknown_on(reader, &raw->loc)) continue; /* its value is a name that is not known: said there */
      mok_reader_error(reader, raw->loc, NULL, "%s.%s is required, and is nil here", table, mok_fields[i].name);
      continue;
    }
    mok_buf_printf(&names, "%s%s", any ? ", " : "", mok_fields[i].name);
    any = true;
  }
  if (!any) return;
  if (record->called) {
    mok_reader_error(reader, record->loc, NULL, "%s lacks %s", table, names.data);
  } else {
    mok_reader_error(reader, (mok_loc){.file = file}, mok_arena_printf(reader->arena, "it must give %s", names.data),
                     "there is no %s { ... }", table);
  }
}

void mok_fields_read(mok_reader *reader, const char *file, bool complete, mok_model *model) {
  mok_model_defaults(model);
  for (size_t r = 0; r < mok_constructor_count; r++) {
    const mok_record *record = &reader->records[r];
    const char *table = mok_constructors[r];
    if (complete || record->called) report_missing(reader, record, table, file);
    for (int i = 0; i < MOK_NUM_FIELDS; i++) {
      if (strcmp(mok_fields[i].table, table) != 0) continue;
      const mok_raw *raw = &record->fields[i];
      model->loc[i] = record->called ? record->loc : (mok_loc){.file = file};
      if (raw->kind == MOK_RAW_NIL) {
        if (is_required(&mok_fields[i])) set_neutral(model, i);
        continue;
      }
      model->loc[i] = raw->loc;
      model->given[i] = read_field(reader, &mok_fields[i], raw, (char *)model + mok_fields[i].offset);
      if (!model->given[i]) set_neutral(model, i);
    }
  }
}
