#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { MAX_DEPTH = 63 };

mok_json mok_json_make(mok_buf *out) { return (mok_json){.out = out, .first = true}; }

static void new_line(mok_json *json) {
  mok_buf_putc(json->out, '\n');
  for (int i = 0; i < json->depth; i++) mok_buf_puts(json->out, "  ");
}

/* What comes before a key, or before a value that has none. */
static void separate(mok_json *json) {
  if (json->after_key) {
    json->after_key = false;
    return;
  }
  if (!json->first) mok_buf_putc(json->out, ',');
  if (json->depth) new_line(json);
  json->first = false;
}

static void begin(mok_json *json, bool is_array) {
  separate(json);
  if (json->depth == MAX_DEPTH) abort();
  json->depth++;
  uint64_t bit = UINT64_C(1) << json->depth;
  json->is_array = is_array ? json->is_array | bit : json->is_array & ~bit;
  json->first = true;
  mok_buf_putc(json->out, is_array ? '[' : '{');
}

static void end(mok_json *json, bool is_array) {
  if (json->depth == 0 || json->after_key || (json->is_array >> json->depth & 1) != is_array) abort();
  json->depth--;
  if (!json->first) new_line(json);
  json->first = false;
  mok_buf_putc(json->out, is_array ? ']' : '}');
}

void mok_json_begin_object(mok_json *json) { begin(json, false); }
void mok_json_end_object(mok_json *json) { end(json, false); }
void mok_json_begin_array(mok_json *json) { begin(json, true); }
void mok_json_end_array(mok_json *json) { end(json, true); }

static void quote(mok_buf *out, const char *text) {
  mok_buf_putc(out, '"');
  for (size_t left = strlen(text); left;) {
    unsigned char c = (unsigned char)*text;
    size_t length = mok_utf8_sequence(text, left);
    if (c == '"' || c == '\\') {
      mok_buf_printf(out, "\\%c", c);
    } else if (c == '\n') {
      mok_buf_puts(out, "\\n");
    } else if (c == '\t') {
      mok_buf_puts(out, "\\t");
    } else if (c < 0x20 || c == 0x7F) {
      mok_buf_printf(out, "\\u%04x", c);
    } else if (!length) {
      mok_buf_puts(out, "\\ufffd"); /* not UTF-8: the replacement character */
    } else {
      mok_buf_write(out, text, length);
    }
    if (!length) length = 1;
    text += length;
    left -= length;
  }
  mok_buf_putc(out, '"');
}

void mok_json_key(mok_json *json, const char *key) {
  if (json->after_key || json->depth == 0 || (json->is_array >> json->depth & 1)) abort();
  separate(json);
  quote(json->out, key);
  mok_buf_puts(json->out, ": ");
  json->after_key = true;
}

void mok_json_string(mok_json *json, const char *text) {
  separate(json);
  if (text) quote(json->out, text);
  else mok_buf_puts(json->out, "null");
}

void mok_json_int(mok_json *json, int64_t value) {
  separate(json);
  mok_buf_printf(json->out, "%" PRId64, value);
}

void mok_json_fixed(mok_json *json, double value, int digits) {
  separate(json);
  if (!isfinite(value)) {
    mok_buf_puts(json->out, "null");
    return;
  }
  char text[400]; /* the largest double has 309 digits before the point */
  if (digits > 17) digits = 17;
  snprintf(text, sizeof text, "%.*f", digits < 0 ? 0 : digits, value);
  bool zero = strspn(text + (text[0] == '-'), "0123456789") > 0 && !strpbrk(text, "123456789");
  const char *s = text;
  if (*s == '-') {
    s++;
    if (!zero) mok_buf_putc(json->out, '-');
  }
  size_t whole = strspn(s, "0123456789");
  mok_buf_write(json->out, s, whole);
  s += whole;
  if (*s) {
    mok_buf_putc(json->out, '.'); /* whatever the locale calls its point */
    mok_buf_puts(json->out, s + strcspn(s, "0123456789"));
  }
}

void mok_json_bool(mok_json *json, bool value) {
  separate(json);
  mok_buf_puts(json->out, value ? "true" : "false");
}

void mok_json_null(mok_json *json) {
  separate(json);
  mok_buf_puts(json->out, "null");
}

void mok_json_finish(mok_json *json) {
  if (json->depth || json->after_key) abort();
  mok_buf_putc(json->out, '\n');
}
