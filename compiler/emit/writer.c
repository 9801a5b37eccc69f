#include "writer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, VALUE_COLUMN = 36, REMARK_COLUMN = 50, ENUM_REMARK_COLUMN = 34 };

static void mistake(mok_writer *w, const char *what, const char *text) {
  if (!w->status) w->status = MOK_ERROR(MOK_ERR_CODEGEN, "the emitter wrote %s: '%s'", what, text);
}

mok_writer mok_writer_make(mok_arena *arena) { return (mok_writer){.arena = arena, .out = mok_buf_make(arena)}; }

mok_status mok_writer_finish(mok_writer *w, const char *name, mok_blob *out) {
  if (w->depth != 0) mistake(w, "a block that is never closed in", name);
  const mok_status status = w->status;
  w->status = MOK_OK;
  if (status) return mok_status_context(status, "writing %s", name);
  *out = (mok_blob){.name = name, .data = w->out.data, .size = w->out.size};
  return MOK_OK;
}

const char *mok_w_format(mok_writer *w, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(w->arena, fmt, args);
  va_end(args);
  return text;
}

/* ---- lines ---- */

static void put_line(mok_writer *w, int depth, const char *text) {
  if (strpbrk(text, "\n\r")) mistake(w, "a line break inside a line", text);
  for (int i = 0; i < depth * INDENT; ++i) mok_buf_putc(&w->out, ' ');
  mok_buf_puts(&w->out, text);
  mok_buf_putc(&w->out, '\n');
}

#define FORMATTED(text)                                      \
  va_list args;                                              \
  va_start(args, fmt);                                       \
  const char *text = mok_arena_vprintf(w->arena, fmt, args); \
  va_end(args)

void mok_w_blank(mok_writer *w) { mok_buf_putc(&w->out, '\n'); }

void mok_w_line(mok_writer *w, const char *fmt, ...) {
  FORMATTED(text);
  put_line(w, w->depth, text);
}

void mok_w_directive(mok_writer *w, const char *fmt, ...) {
  FORMATTED(text);
  put_line(w, 0, text);
}

void mok_w_open(mok_writer *w, const char *fmt, ...) {
  FORMATTED(text);
  put_line(w, w->depth, mok_arena_printf(w->arena, "%s {", text));
  ++w->depth;
}

void mok_w_close(mok_writer *w, const char *tail) {
  if (w->depth == 0) {
    mistake(w, "the end of a block that was not open", tail);
    return;
  }
  --w->depth;
  put_line(w, w->depth, mok_arena_printf(w->arena, "}%s", tail));
}

void mok_w_label(mok_writer *w, const char *fmt, ...) {
  FORMATTED(text);
  if (w->depth == 0) mistake(w, "a label outside a block", text);
  put_line(w, w->depth > 0 ? w->depth - 1 : 0, text);
}

void mok_w_under(mok_writer *w, const char *fmt, ...) {
  FORMATTED(text);
  put_line(w, w->depth + 1, text);
}

/* ---- comments ---- */

/* A text that can stand inside a comment: nothing ends it early, no control characters. */
static const char *comment_text(mok_writer *w, const char *text) {
  mok_buf out = mok_buf_make(w->arena);
  for (const char *c = text; *c; ++c) {
    const bool control = (unsigned char)*c < ' ' || *c == 0x7F;
    mok_buf_putc(&out, control ? ' ' : *c);
    if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*')) mok_buf_putc(&out, ' ');
  }
  return out.data;
}

void mok_w_heading(mok_writer *w, mok_loc loc, const char *fmt, ...) {
  FORMATTED(text);
  const char *place = comment_text(w, mok_w_place(w, loc));
  for (int i = 0; i < w->depth * INDENT; ++i) mok_buf_putc(&w->out, ' ');
  mok_buf_printf(&w->out, "/* %s ", comment_text(w, text));
  if (*place) {
    mok_buf_pad_to(&w->out, MOK_PLACE_COLUMN);
    mok_buf_printf(&w->out, "%s ", place);
  }
  mok_buf_puts(&w->out, "*/\n");
}

void mok_w_remark(mok_writer *w, int column, const char *text) {
  if (*text == 0) return;
  text = comment_text(w, text);
  mok_buf *out = &w->out;
  if (out->size == 0 || out->data[out->size - 1] != '\n') {
    mistake(w, "a remark without a line", text);
    return;
  }
  size_t start = out->size - 1;
  while (start > 0 && out->data[start - 1] != '\n') --start;
  const char *line = mok_arena_strndup(w->arena, out->data + start, out->size - 1 - start);
  const size_t width = strlen(line);
  const size_t at = width + 1 > (size_t)column ? width + 1 : (size_t)column;
  out->size = start;
  out->data[start] = 0;
  if (at + strlen(text) + 6 > MOK_WRITER_WIDTH) {
    const size_t indent = strspn(line, " ");
    mok_buf_printf(out, "%.*s/* %s */\n%s\n", (int)indent, line, text, line);
    return;
  }
  mok_buf_puts(out, line);
  mok_buf_pad_to(out, (int)at);
  mok_buf_printf(out, "/* %s */\n", text);
}

/* Words of `text`, wrapped, each line behind `first` or " * ". */
static void put_wrapped(mok_writer *w, const char *first, const char *text) {
  const char *lead = first;
  size_t width = 0;
  for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
    const size_t size = strcspn(word, " ");
    if (width == 0 || width + 1 + size > MOK_WRITER_WIDTH) {
      if (width) mok_buf_putc(&w->out, '\n');
      mok_buf_puts(&w->out, lead);
      width = strlen(lead);
      lead = " * ";
    } else {
      mok_buf_putc(&w->out, ' ');
      ++width;
    }
    mok_buf_write(&w->out, word, size);
    width += size;
    word += size;
  }
  if (width == 0) mok_buf_puts(&w->out, strcmp(first, " * ") == 0 ? " *" : first);
  mok_buf_putc(&w->out, '\n');
}

void mok_w_comment_open(mok_writer *w, const char *text) { put_wrapped(w, "/* ", comment_text(w, text)); }
void mok_w_comment_more(mok_writer *w, const char *text) { put_wrapped(w, " * ", comment_text(w, text)); }
void mok_w_comment_close(mok_writer *w) { mok_buf_puts(&w->out, " */\n"); }

/* ---- declarations ---- */

void mok_w_define(mok_writer *w, const char *name, const char *value, const char *remark) {
  mok_buf line = mok_buf_make(w->arena);
  mok_buf_printf(&line, "#define %s ", mok_w_name(w, name));
  mok_buf_pad_to(&line, VALUE_COLUMN);
  mok_buf_puts(&line, value);
  if (*remark) { /* always behind: a column of reasons reads better than lines of one width */
    mok_buf_putc(&line, ' ');
    mok_buf_pad_to(&line, REMARK_COLUMN);
    mok_buf_printf(&line, "/* %s */", comment_text(w, remark));
  }
  put_line(w, 0, line.data);
}

void mok_w_enumerator(mok_writer *w, const char *name, const char *value, const char *remark) {
  put_line(w, w->depth, mok_arena_printf(w->arena, "%s = %s,", mok_w_name(w, name), value));
  mok_w_remark(w, ENUM_REMARK_COLUMN, remark);
}

/* ---- texts ---- */

static bool is_identifier(const char *name) {
  if (!name || !*name || (*name >= '0' && *name <= '9')) return false;
  for (; *name; ++name) {
    const char c = *name;
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return true;
}

const char *mok_w_name(mok_writer *w, const char *name) {
  if (is_identifier(name)) return name;
  mistake(w, "a name that is no identifier", name ? name : "(none)");
  return "invalid";
}

const char *mok_w_upper(mok_writer *w, const char *prefix, const char *name, const char *suffix) {
  char *text = mok_arena_printf(w->arena, "%s%s%s", prefix, name, suffix);
  for (char *c = text; *c; ++c)
    if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
  return mok_w_name(w, text);
}

const char *mok_w_int(mok_writer *w, int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807LL - 1)";
  const char *suffix = value > INT32_MAX || value < -INT32_MAX ? "LL" : "";
  return mok_arena_printf(w->arena, "%lld%s", (long long)value, suffix);
}

/* A locale may have put another decimal point. */
static void plain_point(char *text) {
  for (char *c = text; *c; ++c)
    if (!strchr("0123456789+-eE", *c)) *c = '.';
}

const char *mok_w_float(mok_writer *w, double value) {
  const float wanted = (float)value;
  if (!isfinite(wanted)) {
    mistake(w, "a number that is no finite float", mok_arena_printf(w->arena, "%g", value));
    return "0.0f";
  }
  char text[32];
  for (int digits = 1; digits <= FLT_DECIMAL_DIG; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, (double)wanted);
    if (strtof(text, NULL) == wanted) break;
  }
  plain_point(text);
  return mok_arena_printf(w->arena, "%s%sf", text, strpbrk(text, ".eE") ? "" : ".0");
}

const char *mok_w_fixed(mok_writer *w, double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  plain_point(text);
  return mok_arena_strdup(w->arena, text);
}

const char *mok_w_string(mok_writer *w, const char *text) {
  mok_buf out = mok_buf_make(w->arena);
  mok_buf_putc(&out, '"');
  for (const char *c = text; *c; ++c) {
    if (*c == '"' || *c == '\\') mok_buf_printf(&out, "\\%c", *c);
    else if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7F) mok_buf_printf(&out, "\\%03o", (unsigned)(unsigned char)*c);
    else mok_buf_putc(&out, *c);
  }
  mok_buf_putc(&out, '"');
  return out.data;
}

const char *mok_w_place(mok_writer *w, mok_loc loc) {
  if (!loc.file || loc.line <= 0) return "";
  const char *slash = strrchr(loc.file, '/');
  return mok_arena_printf(w->arena, "%s:%d", slash ? slash + 1 : loc.file, loc.line);
}
