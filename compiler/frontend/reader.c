#include "reader.h"

#include <ctype.h>
#include <string.h>

void mok_reader_error(mok_reader *reader, mok_loc loc, const char *hint, const char *fmt, ...) {
  if (++reader->reports > MOK_MAX_REPORTS) return;
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(reader->arena, fmt, args);
  va_end(args);
  mok_diag_report(reader->diag, MOK_SEVERITY_ERROR, loc, hint, "%s", text);
}

bool mok_reader_unknown_on(const mok_reader *reader, const mok_loc *line) {
  for (int i = 0; line->file && i < reader->unknown_count; i++) {
    const mok_loc *loc = &reader->unknown_names[i];
    if (loc->file && loc->line == line->line && strcmp(loc->file, line->file) == 0) return true;
  }
  return false;
}

int mok_reader_field(const char *table, const char *key) {
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (strcmp(mok_fields[i].table, table) == 0 && strcmp(mok_fields[i].name, key) == 0) return i;
  }
  return -1;
}

static bool equal_but_case(const char *a, const char *b) {
  for (; *a && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++, b++) {
  }
  return *a == *b;
}

const char *mok_reader_nearest(const char *word, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (equal_but_case(word, words[i])) return words[i];
  }
  const char *near = mok_nearest_word(word, words, count);
  for (size_t i = 0, found = 0; !near && i < count && strlen(word) >= 3; i++) { /* the only one that it begins */
    if (strncmp(words[i], word, strlen(word)) == 0) near = found++ ? NULL : words[i];
  }
  return near;
}

static bool is_reserved(const char *table, const char *key) {
  return strcmp(table, "model") == 0 &&
         (strcmp(key, "bias") == 0 || strcmp(key, "shared_gate") == 0 || strcmp(key, "latent") == 0);
}

void mok_reader_unknown_key(mok_reader *reader, mok_loc loc, const char *table, const char *key, mok_record *record) {
  const char *own[MOK_NUM_FIELDS];
  size_t count = 0;
  const char *home = NULL; /* another table that has a field of this name */
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (strcmp(mok_fields[i].table, table) == 0) own[count++] = mok_fields[i].name;
    else if (strcmp(mok_fields[i].name, key) == 0) home = mok_fields[i].table;
  }
  if (is_reserved(table, key)) {
    mok_reader_error(reader, loc, "this version has no such field", "%s.%s is reserved for a later version", table, key);
    return;
  }
  const char *hint;
  const char *near = home ? NULL : mok_reader_nearest(key, own, count);
  if (home) {
    hint = mok_arena_printf(reader->arena, "'%s' is a field of %s", key, home);
  } else if (near) {
    hint = mok_arena_printf(reader->arena, "did you mean '%s'?", near);
    if (record) record->excused[mok_reader_field(table, near)] = true;
  } else {
    mok_buf known = mok_buf_make(reader->arena);
    for (size_t i = 0; i < count; i++) mok_buf_printf(&known, "%s%s", i ? ", " : "known keys: ", own[i]);
    hint = known.data;
  }
  mok_reader_error(reader, loc, hint, "unknown key '%.60s' in %s", key, table);
}
