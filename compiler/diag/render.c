#include <stdint.h>
#include <string.h>

#include "../../runtime/base/utf8.h"
#include "diag_impl.h"

enum {
  INDENT = 2,
  LINE_WIDTH = 100,  /* characters of a source line that are shown */
  BEFORE_CARET = 40, /* of these, when the line is cut, at most so many before the caret */
  MESSAGE_LIMIT = 4096
};

static const char *const names[] = {[MOK_NOTE] = "note", [MOK_WARNING] = "warning", [MOK_SEVERITY_ERROR] = "error"};
static const char *const colors[] = {
    [MOK_NOTE] = "\033[1;36m", [MOK_WARNING] = "\033[1;35m", [MOK_SEVERITY_ERROR] = "\033[1;31m"};

/* Code points that a terminal acts on: C1 controls, and the ones that reorder or hide text. */
static bool is_harmful(const unsigned char *s, size_t length) {
  if (length == 2) return s[0] == 0xC2 && s[1] < 0xA0;
  if (length != 3 || s[0] != 0xE2) return false;
  return (s[1] == 0x80 && ((s[2] >= 0x8B && s[2] <= 0x8F) || (s[2] >= 0xA8 && s[2] <= 0xAE))) ||
         (s[1] == 0x81 && s[2] >= 0xA0 && s[2] <= 0xAF);
}

/* Writes the character at text, escaped if need be; sets *columns to what it takes on a terminal and returns its bytes. */
static size_t put_char(mok_buf *out, const char *text, size_t size, int *columns) {
  size_t length = mok_utf8_sequence(text, size), before = out->size;
  unsigned char c = (unsigned char)text[0];
  if (c == '\t') {
    mok_buf_putc(out, ' ');
  } else if (!length || c < 0x20 || c == 0x7F || is_harmful((const unsigned char *)text, length)) {
    for (size_t i = 0; i < (length ? length : 1); i++) mok_buf_printf(out, "\\x%02x", (unsigned char)text[i]);
  } else {
    mok_buf_write(out, text, length);
    *columns = 1;
    return length;
  }
  *columns = (int)(out->size - before);
  return length ? length : 1;
}

static void put_text(mok_buf *out, const char *text, size_t size) {
  int columns;
  size_t shown = size < MESSAGE_LIMIT ? size : MESSAGE_LIMIT;
  for (size_t i = 0; i < shown;) {
    if (text[i] == '\n') {
      mok_buf_puts(out, "\n  "); /* further lines of a message stand under it */
      i++;
    } else {
      i += put_char(out, text + i, size - i, &columns);
    }
  }
  if (shown < size) mok_buf_puts(out, "...");
}

/* Sets line and size to the 1-based line of the source, without its end; false if there is none. */
static bool find_line(const mok_diag_source *source, int number, const char **line, size_t *size) {
  const char *at = source->text, *end = at + source->size;
  for (int i = 1; i < number; i++) {
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!newline) return false;
    at = newline + 1;
  }
  if (at >= end) return false; /* nothing to show after the last newline */
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  *line = at;
  *size = (size_t)((newline ? newline : end) - at);
  if (*size && at[*size - 1] == '\r') --*size;
  return true;
}

static size_t char_bytes(const char *text, size_t size) {
  size_t length = mok_utf8_sequence(text, size);
  return length ? length : 1;
}

/* Columns of mok_loc count bytes; a column inside a character means that character. */
static void render_line(mok_buf *out, const mok_loc *loc, const mok_diag_source *source, const char *color) {
  const char *line;
  size_t size;
  if (loc->line < 1 || !find_line(source, loc->line, &line, &size)) return;
  size_t caret = loc->column > 0 ? (size_t)loc->column - 1 : SIZE_MAX;
  if (loc->column > 0 && caret > size) caret = size;

  /* Characters before the caret, to know how many to skip. */
  size_t before = 0, start = 0, whole = 0;
  for (size_t i = 0; i < size; i += char_bytes(line + i, size - i), whole++) before += caret != SIZE_MAX && i < caret;
  size_t skip = whole > LINE_WIDTH && before > BEFORE_CARET ? before - BEFORE_CARET : 0;
  for (size_t i = 0; i < skip; i++) start += char_bytes(line + start, size - start);

  mok_buf_pad_to(out, INDENT);
  int column = INDENT, caret_column = -1, caret_end = -1;
  size_t length = loc->length > 0 ? (size_t)loc->length : 1, at = start;
  if (skip) mok_buf_puts(out, "..."), column += 3;
  for (size_t shown = 0; at < size && shown < LINE_WIDTH; shown++) {
    int columns;
    size_t bytes = put_char(out, line + at, size - at, &columns);
    if (caret != SIZE_MAX && caret_column < 0 && caret < at + bytes) caret_column = column;
    if (caret != SIZE_MAX && at < caret + length) caret_end = column + columns;
    column += columns;
    at += bytes;
  }
  if (at < size) mok_buf_puts(out, "...");
  mok_buf_putc(out, '\n');
  if (caret == SIZE_MAX) return;
  if (caret_column < 0) caret_column = column; /* at the end of the line */
  mok_buf_pad_to(out, caret_column);
  mok_buf_puts(out, color);
  mok_buf_putc(out, '^');
  for (int i = caret_column + 1; i < caret_end; i++) mok_buf_putc(out, '~');
  if (color[0]) mok_buf_puts(out, "\033[0m");
  mok_buf_putc(out, '\n');
}

void mok_diag_render(mok_buf *out, const mok_diag_item *item, const mok_diag_source *source, bool color) {
  const mok_loc *loc = &item->loc;
  if (loc->file) {
    if (color) mok_buf_puts(out, "\033[1m");
    put_text(out, loc->file, strlen(loc->file));
    if (loc->line > 0) mok_buf_printf(out, ":%d", loc->line);
    if (loc->line > 0 && loc->column > 0) mok_buf_printf(out, ":%d", loc->column);
    mok_buf_puts(out, ": ");
    if (color) mok_buf_puts(out, "\033[0m");
  }
  const char *tint = color ? colors[item->severity] : "";
  mok_buf_printf(out, "%s%s:%s ", tint, names[item->severity], color ? "\033[0m" : "");
  put_text(out, item->message, strlen(item->message));
  mok_buf_putc(out, '\n');
  if (source) render_line(out, loc, source, color ? "\033[1;32m" : "");
  if (item->hint) {
    mok_buf_puts(out, "hint: ");
    put_text(out, item->hint, strlen(item->hint));
    mok_buf_putc(out, '\n');
  }
}
