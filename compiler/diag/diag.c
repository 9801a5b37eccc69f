#include "diag.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/buf.h"
#include "diag_impl.h"

enum { MAX_ERRORS = 64 };

struct mok_diag {
  mok_arena *arena;
  mok_diag_item *items; /* in order of report */
  size_t count, capacity;
  mok_diag_source *sources; /* newest first */
  int errors;               /* all, kept or not */
};

mok_diag *mok_diag_create(mok_arena *arena) {
  mok_diag *diag = MOK_NEW(arena, mok_diag);
  diag->arena = arena;
  return diag;
}

void mok_diag_add_source(mok_diag *diag, const char *file, const char *text, size_t size) {
  mok_diag_source *source = MOK_NEW(diag->arena, mok_diag_source);
  *source = (mok_diag_source){.next = diag->sources, .file = mok_arena_strdup(diag->arena, file), .text = text, .size = size};
  diag->sources = source;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool is_known(const mok_diag *diag, mok_severity severity, const mok_loc *loc, const char *message) {
  for (size_t i = 0; i < diag->count; i++) {
    const mok_diag_item *item = &diag->items[i];
    if (item->severity == severity && item->loc.line == loc->line && item->loc.column == loc->column &&
        same_text(item->loc.file, loc->file) && strcmp(item->message, message) == 0) {
      return true;
    }
  }
  return false;
}

void mok_diag_report(mok_diag *diag, mok_severity severity, mok_loc loc, const char *hint, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char *message = mok_arena_vprintf(diag->arena, fmt, args);
  va_end(args);
  if (is_known(diag, severity, &loc, message)) return;
  if (severity == MOK_SEVERITY_ERROR && ++diag->errors > MAX_ERRORS) return;
  if (severity != MOK_SEVERITY_ERROR && diag->count >= 4 * MAX_ERRORS) return;
  if (diag->count == diag->capacity) {
    size_t capacity = diag->capacity ? 2 * diag->capacity : 16;
    mok_diag_item *items = MOK_NEW_ARRAY(diag->arena, capacity, mok_diag_item);
    if (diag->count) memcpy(items, diag->items, diag->count * sizeof *items);
    diag->items = items;
    diag->capacity = capacity;
  }
  if (loc.file) loc.file = mok_arena_strdup(diag->arena, loc.file);
  diag->items[diag->count] = (mok_diag_item){.severity = severity,
                                             .loc = loc,
                                             .message = message,
                                             .hint = hint ? mok_arena_strdup(diag->arena, hint) : NULL,
                                             .order = diag->count};
  diag->count++;
}

int mok_diag_errors(const mok_diag *diag) { return diag->errors; }

int mok_diag_warnings(const mok_diag *diag) {
  int warnings = 0;
  for (size_t i = 0; i < diag->count; i++) warnings += diag->items[i].severity == MOK_WARNING;
  return warnings;
}

/* A note belongs to what was reported before it, so it sorts by that one's place. */
static int compare(const void *left, const void *right) {
  const mok_diag_item *a = left, *b = right;
  const mok_loc *la = &a->anchor, *lb = &b->anchor;
  if (!la->file != !lb->file) return la->file ? 1 : -1;
  int by_file = la->file ? strcmp(la->file, lb->file) : 0;
  if (by_file) return by_file;
  if (la->line != lb->line) return la->line < lb->line ? -1 : 1;
  if (la->column != lb->column) return la->column < lb->column ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static const mok_diag_source *source_of(const mok_diag *diag, const char *file) {
  for (const mok_diag_source *source = diag->sources; file && source; source = source->next) {
    if (strcmp(source->file, file) == 0) return source;
  }
  return NULL;
}

void mok_diag_print(mok_diag *diag, FILE *out, bool color) {
  for (size_t i = 0; i < diag->count; i++) {
    mok_diag_item *item = &diag->items[i];
    item->anchor = item->severity == MOK_NOTE && i > 0 ? item[-1].anchor : item->loc;
  }
  if (diag->count) qsort(diag->items, diag->count, sizeof *diag->items, compare);
  mok_buf text = mok_buf_make(diag->arena);
  for (size_t i = 0; i < diag->count; i++) {
    mok_diag_render(&text, &diag->items[i], source_of(diag, diag->items[i].loc.file), color);
  }
  if (diag->errors > MAX_ERRORS) mok_buf_printf(&text, "%d more errors are not shown\n", diag->errors - MAX_ERRORS);
  fwrite(text.data, 1, text.size, out);
  diag->count = 0;
  diag->errors = 0;
}

mok_status mok_diag_status(const mok_diag *diag, mok_code code) {
  if (!diag->errors) return MOK_OK;
  return mok_status_mark_reported(MOK_ERROR(code, "%d error%s", diag->errors, diag->errors == 1 ? "" : "s"));
}
