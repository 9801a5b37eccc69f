/* -D table.key=value: a Lua constant put into the records after evaluation. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

typedef struct override {
  mok_reader *reader;
  const char *text; /* "-D table.key=value" */
  const char *at;
} override;

enum { PREFIX = 3 /* "-D " */ };

static mok_loc place(const override *o, const char *begin, size_t size) {
  return (mok_loc){.file = o->text, .line = 1, .column = (int)(begin - o->text) + 1, .length = size ? (int)size : 1};
}

static void skip_blank(override *o) { o->at += strspn(o->at, " \t"); }

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
         c == '+';
}

static bool fail(const override *o, const char *begin, size_t size, const char *what) {
  mok_reader_error(o->reader, place(o, begin, size),
                   "a value is a number, a word, \"text\", true, false, nil or { \"a\", \"b\" }", "%s", what);
  return false;
}

static bool read_quoted(override *o, mok_raw *raw) {
  const char *begin = o->at;
  const char quote = *o->at++;
  mok_buf text = mok_buf_make(o->reader->arena);
  while (*o->at && *o->at != quote) {
    if (*o->at == '\\' && o->at[1]) o->at++; /* quotes and backslashes only: nothing else is needed in a value */
    mok_buf_putc(&text, *o->at++);
  }
  if (!*o->at) return fail(o, begin, (size_t)(o->at - begin), "unfinished string");
  o->at++;
  raw->kind = MOK_RAW_STRING;
  raw->text = text.data;
  raw->odd = text.size > MAX_RAW_STRING;
  return true;
}

/* A number, true, false, nil, or a word, whose quotes are optional. */
static bool read_bare(override *o, mok_raw *raw) {
  const char *begin = o->at;
  while (is_word_char(*o->at)) o->at++;
  const size_t size = (size_t)(o->at - begin);
  if (size == 0) return fail(o, begin, 1, *begin ? "unexpected character in the value" : "the value is missing");
  const char *word = mok_arena_strndup(o->reader->arena, begin, size);
  char *end;
  errno = 0;
  const long long integer = strtoll(word, &end, strncmp(word, "0x", 2) == 0 ? 16 : 10);
  if (*end == '\0' && errno == 0) {
    raw->kind = MOK_RAW_INT;
    raw->integer = integer;
    return true;
  }
  const double number = strtod(word, &end);
  const bool numeric = (word[0] >= '0' && word[0] <= '9') || strchr("+-.", word[0]); /* not "inf", "nan" */
  if (*end == '\0' && numeric) {
    raw->kind = MOK_RAW_FLOAT;
    raw->number = number;
  } else if (strcmp(word, "nil") == 0) {
    raw->kind = MOK_RAW_NIL;
  } else if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
    raw->kind = MOK_RAW_BOOL;
    raw->integer = word[0] == 't';
  } else {
    raw->kind = MOK_RAW_STRING;
    raw->text = word;
    raw->odd = size > MAX_RAW_STRING;
  }
  return true;
}

static bool read_value(override *o, mok_raw *raw, bool nested);

static bool read_table(override *o, mok_raw *raw) {
  raw->kind = MOK_RAW_TABLE;
  raw->items = MOK_NEW_ARRAY(o->reader->arena, MAX_RAW_ITEMS, mok_raw_item);
  int positional = 0;
  o->at++;
  for (skip_blank(o); *o->at != '}'; skip_blank(o)) {
    if (raw->count == MAX_RAW_ITEMS) return fail(o, o->at, 1, "the list is too long");
    mok_raw_item *item = &raw->items[raw->count++];
    const size_t size = strspn(o->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *begin = o->at, *after = begin + size + strspn(begin + size, " \t");
    if (size && *after == '=') {
      item->key = mok_arena_strndup(o->reader->arena, begin, size);
      o->at = after + 1;
      skip_blank(o);
    } else {
      item->index = ++positional;
    }
    item->value = MOK_NEW(o->reader->arena, mok_raw);
    const char *value = o->at;
    if (!read_value(o, item->value, true)) return false;
    item->value->loc = item->key ? place(o, begin, size) : place(o, value, (size_t)(o->at - value));
    skip_blank(o);
    if (*o->at == ',' || *o->at == ';') o->at++;
    else if (*o->at != '}') return fail(o, o->at, 1, *o->at ? "expected ',' or '}'" : "unfinished list");
  }
  o->at++;
  return true;
}

static bool read_value(override *o, mok_raw *raw, bool nested) {
  skip_blank(o);
  if (*o->at == '"' || *o->at == '\'') return read_quoted(o, raw);
  if (*o->at == '{') return nested ? fail(o, o->at, 1, "a list inside a list") : read_table(o, raw);
  return read_bare(o, raw);
}

/* topology.gpu.sms=100 keeps the row, and topology.gpu.base=... keeps the count. */
static void set_gpu_part(override *o, mok_raw *gpu, const char *part, const mok_raw *value) {
  mok_raw_item *items = MOK_NEW_ARRAY(o->reader->arena, gpu->count + 2, mok_raw_item);
  size_t count = 0;
  if (gpu->kind == MOK_RAW_STRING) {
    mok_raw *base = MOK_NEW(o->reader->arena, mok_raw);
    *base = *gpu;
    if (strcmp(part, "base") != 0) items[count++] = (mok_raw_item){.key = "base", .value = base};
  } else if (gpu->kind == MOK_RAW_TABLE) {
    for (size_t i = 0; i < gpu->count; i++) {
      if (!gpu->items[i].key || strcmp(gpu->items[i].key, part) != 0) items[count++] = gpu->items[i];
    }
  }
  mok_raw *copy = MOK_NEW(o->reader->arena, mok_raw);
  *copy = *value;
  if (value->kind != MOK_RAW_NIL) items[count++] = (mok_raw_item){.key = part, .value = copy};
  *gpu = (mok_raw){.kind = MOK_RAW_TABLE, .loc = value->loc, .odd = gpu->odd, .items = items, .count = count};
}

static int find_table(const char *name) {
  for (size_t i = 0; i < mok_constructor_count; i++) {
    if (strcmp(mok_constructors[i], name) == 0) return (int)i;
  }
  return -1;
}

void mok_override_apply(mok_reader *reader, const char *text) {
  override o = {.reader = reader, .text = mok_arena_printf(reader->arena, "-D %s", text)};
  mok_diag_add_source(reader->diag, o.text, o.text, strlen(o.text));
  const char *path = o.text + PREFIX;
  const char *equals = strchr(path, '=');
  const char *dot = strchr(path, '.');
  if (!equals || !dot || dot > equals) {
    mok_reader_error(reader, place(&o, path, equals ? (size_t)(equals - path) : strlen(path)),
                     "write -D table.key=value, for example -D model.experts=16",
                     equals ? "an override names a table and a key" : "an override without a value");
    return;
  }
  const char *table = mok_arena_strndup(reader->arena, path, (size_t)(dot - path));
  size_t key_size = (size_t)(equals - dot - 1);
  while (key_size && (dot[key_size] == ' ' || dot[key_size] == '\t')) key_size--;
  const char *key = mok_arena_strndup(reader->arena, dot + 1, key_size);
  const int record_index = find_table(table);
  if (record_index < 0) {
    const char *near = mok_reader_nearest(table, mok_constructors, mok_constructor_count);
    mok_reader_error(
        reader, place(&o, path, (size_t)(dot - path)),
        near ? mok_arena_printf(reader->arena, "did you mean '%s'?", near) : "known: model, topology, workload, schedule",
        "unknown table '%.60s'", table);
    return;
  }
  mok_record *record = &reader->records[record_index];
  const char *part = strcmp(key, "gpu.sms") == 0 ? "sms" : strcmp(key, "gpu.base") == 0 ? "base" : NULL;
  const int field = mok_reader_field(table, part ? "gpu" : key);
  if (field < 0) {
    mok_reader_unknown_key(reader, place(&o, dot + 1, key_size), table, key, NULL);
    return;
  }
  mok_raw value = {.loc = place(&o, dot + 1, key_size)};
  o.at = equals + 1;
  if (!read_value(&o, &value, false)) return;
  skip_blank(&o);
  if (*o.at) {
    fail(&o, o.at, strlen(o.at), "unexpected text after the value");
    return;
  }
  if (part) {
    set_gpu_part(&o, &record->fields[field], part, &value);
  } else {
    record->fields[field] = value;
    record->excused[field] = false;
    record->nil_given[field] = value.kind == MOK_RAW_NIL;
  }
}
