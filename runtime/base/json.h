/* JSON writer: keys in call order, two-space indent, locale-free numbers, so that equal input gives equal bytes. */
#ifndef MOK_BASE_JSON_H
#define MOK_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

typedef struct mok_json {
  mok_buf *out; /* borrowed */
  int depth;
  bool first;
  bool after_key;
  uint64_t is_array; /* bit per depth */
} mok_json;

mok_json mok_json_make(mok_buf *out);
void mok_json_begin_object(mok_json *json);
void mok_json_end_object(mok_json *json);
void mok_json_begin_array(mok_json *json);
void mok_json_end_array(mok_json *json);
void mok_json_key(mok_json *json, const char *key);
void mok_json_string(mok_json *json, const char *text); /* NULL writes null */
void mok_json_int(mok_json *json, int64_t value);
void mok_json_fixed(mok_json *json, double value, int digits); /* rounded, '.' as point; non-finite writes null */
void mok_json_bool(mok_json *json, bool value);
void mok_json_null(mok_json *json);
void mok_json_finish(mok_json *json); /* newline at the end */

#endif
