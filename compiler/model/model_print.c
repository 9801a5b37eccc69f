/* A description as text: canonical Lua, JSON, and the reference table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static const void *value_of(const mok_model *model, const mok_field_info *field) { return (const char *)model + field->offset; }

/* Shortest text that reads back as the same double. Lua's reader and ours take '.' only. */
static void put_number(mok_buf *out, double value) {
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  for (char *s = text; *s; s++) {
    if (!strchr("0123456789+-e", *s)) *s = '.'; /* the locale's point */
  }
  mok_buf_puts(out, text);
}

static void put_string(mok_buf *out, const char *text) {
  mok_buf_putc(out, '"');
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') mok_buf_printf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7F) mok_buf_printf(out, "\\%03d", c);
    else mok_buf_putc(out, (char)c);
  }
  mok_buf_putc(out, '"');
}

/* Calls put(out, word) for every bit of a WORDS value, ", " between. */
static void put_words(mok_buf *out, const mok_field_info *field, int64_t bits) {
  bool first = true;
  for (int i = 0; i < 63; i++) {
    if (!(bits >> i & 1)) continue;
    if (!first) mok_buf_puts(out, ", ");
    first = false;
    put_string(out, mok_field_word(out->arena, field, i));
  }
}

static void put_value(mok_buf *out, const mok_model *model, const mok_field_info *field) {
  const void *value = value_of(model, field);
  switch (field->kind) {
    case MOK_K_STRING:
      put_string(out, *(const char *const *)value);
      break;
    case MOK_K_INT:
      mok_buf_printf(out, "%" PRId64, *(const int64_t *)value);
      break;
    case MOK_K_AUTO_INT:
      if (*(const int64_t *)value == MOK_AUTO) put_string(out, "auto");
      else mok_buf_printf(out, "%" PRId64, *(const int64_t *)value);
      break;
    case MOK_K_NUMBER: {
      const MOK_KIND_NUMBER *number = value;
      if (number->present) put_number(out, number->value);
      else mok_buf_puts(out, "nil");
      break;
    }
    case MOK_K_WORD:
    case MOK_K_AUTO_WORD:
      put_string(out, mok_field_word(out->arena, field, *(const int64_t *)value));
      break;
    case MOK_K_WORDS:
      mok_buf_puts(out, "{ ");
      put_words(out, field, *(const int64_t *)value);
      mok_buf_puts(out, " }");
      break;
    case MOK_K_GPU: {
      const mok_gpu_choice *gpu = value;
      if (gpu->sms == MOK_AUTO) {
        put_string(out, gpu->row);
      } else {
        mok_buf_puts(out, "{ base = ");
        put_string(out, gpu->row);
        mok_buf_printf(out, ", sms = %" PRId64 " }", gpu->sms);
      }
      break;
    }
  }
}

void mok_model_print(const mok_model *model, mok_buf *out) {
  const char *table = NULL;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    const mok_field_info *field = &mok_fields[i];
    if (!table || strcmp(table, field->table) != 0) {
      if (table) mok_buf_puts(out, "}\n");
      table = field->table;
      mok_buf_printf(out, "%s {\n", table);
    }
    mok_buf_printf(out, "  %s = ", field->name);
    put_value(out, model, field);
    mok_buf_puts(out, ",\n");
  }
  mok_buf_puts(out, "}\n");
}

static void json_value(mok_json *json, const mok_model *model, const mok_field_info *field) {
  const void *value = value_of(model, field);
  mok_arena *arena = json->out->arena;
  switch (field->kind) {
    case MOK_K_STRING:
      mok_json_string(json, *(const char *const *)value);
      break;
    case MOK_K_INT:
      mok_json_int(json, *(const int64_t *)value);
      break;
    case MOK_K_AUTO_INT:
      if (*(const int64_t *)value == MOK_AUTO) mok_json_string(json, "auto");
      else mok_json_int(json, *(const int64_t *)value);
      break;
    case MOK_K_NUMBER: {
      const MOK_KIND_NUMBER *number = value;
      if (!number->present) {
        mok_json_null(json);
        break;
      }
      int digits = 0; /* as few as read back as the same double */
      char text[400];
      for (; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*f", digits, number->value);
        if (strtod(text, NULL) == number->value) break;
      }
      mok_json_fixed(json, number->value, digits);
      break;
    }
    case MOK_K_WORD:
    case MOK_K_AUTO_WORD:
      mok_json_string(json, mok_field_word(arena, field, *(const int64_t *)value));
      break;
    case MOK_K_WORDS:
      mok_json_begin_array(json);
      for (int i = 0; i < 63; i++) {
        if (*(const int64_t *)value >> i & 1) mok_json_string(json, mok_field_word(arena, field, i));
      }
      mok_json_end_array(json);
      break;
    case MOK_K_GPU:
      mok_json_string(json, ((const mok_gpu_choice *)value)->row);
      break;
  }
}

void mok_model_json(const mok_model *model, mok_json *json) {
  const char *table = NULL;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    const mok_field_info *field = &mok_fields[i];
    if (strcmp(field->table, "schedule") == 0) continue; /* the plan holds what came of it */
    if (!table || strcmp(table, field->table) != 0) {
      if (table) mok_json_end_object(json);
      table = field->table;
      mok_json_key(json, table);
      mok_json_begin_object(json);
    }
    mok_json_key(json, field->name);
    json_value(json, model, field);
  }
  if (table) mok_json_end_object(json);
}

/* '|' separates cells of a Markdown table. */
static void put_cell(mok_buf *out, const char *text) {
  for (; *text; text++) {
    if (*text == '|') mok_buf_putc(out, '\\');
    mok_buf_putc(out, *text);
  }
}

static void put_type(mok_buf *out, const mok_field_info *field) {
  static const char *const types[] = {[MOK_K_STRING] = "string",
                                      [MOK_K_INT] = "integer",
                                      [MOK_K_NUMBER] = "number",
                                      [MOK_K_WORD] = "word",
                                      [MOK_K_WORDS] = "list of words",
                                      [MOK_K_GPU] = "string or table",
                                      [MOK_K_AUTO_INT] = "integer or \"auto\"",
                                      [MOK_K_AUTO_WORD] = "word or \"auto\""};
  mok_buf_puts(out, types[field->kind]);
}

static void put_legal(mok_buf *out, const mok_field_info *field) {
  if (field->words[0]) {
    const char *word = field->words;
    while (*word) {
      const size_t size = strcspn(word, "|");
      mok_buf_printf(out, "`\"%.*s\"`", (int)size, word);
      word += size;
      if (*word) mok_buf_puts(out, ", "), word++;
    }
  } else if (field->kind == MOK_K_INT || field->kind == MOK_K_AUTO_INT || field->kind == MOK_K_NUMBER) {
    put_number(out, field->min);
    mok_buf_puts(out, " to ");
    if (field->kind == MOK_K_NUMBER) put_number(out, field->max);
    else mok_buf_printf(out, "%.0f", field->max);
    if (field->unit[0]) mok_buf_printf(out, " %s", field->unit);
  }
}

void mok_model_reference(mok_buf *out) {
  const char *table = NULL;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    const mok_field_info *field = &mok_fields[i];
    if (!table || strcmp(table, field->table) != 0) {
      if (table) mok_buf_putc(out, '\n');
      table = field->table;
      mok_buf_printf(out, "| `%s` | type | default | legal | meaning |\n|---|---|---|---|---|\n", table);
    }
    mok_buf_printf(out, "| `%s` | ", field->name);
    put_type(out, field);
    mok_buf_puts(out, " | ");
    if (!field->fallback[0]) mok_buf_puts(out, "required");
    else if (strcmp(field->fallback, "derived") == 0) mok_buf_puts(out, "derived");
    else mok_buf_printf(out, "`%s`", field->fallback);
    mok_buf_puts(out, " | ");
    put_legal(out, field);
    mok_buf_puts(out, " | ");
    put_cell(out, field->doc);
    mok_buf_puts(out, " |\n");
  }
}
