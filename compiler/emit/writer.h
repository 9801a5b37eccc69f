/* Writer of CUDA C: knows indentation, balance, comments, identifiers and literals, so that emitting code cannot get those wrong.
 *
 * A mistake of the emitter (a bad identifier, an unbalanced block, a text with a line break) is kept and comes out of
 * mok_writer_finish as MOK_ERR_CODEGEN; until then every call is harmless. Output depends on nothing but the calls.
 */
#ifndef MOK_EMIT_WRITER_H
#define MOK_EMIT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "../../runtime/base/buf.h"
#include "../diag/diag.h"

enum { MOK_WRITER_WIDTH = 130, MOK_PLACE_COLUMN = 96 };

typedef struct mok_writer {
  mok_arena *arena; /* borrowed */
  mok_buf out;
  int depth;         /* open blocks */
  mok_status status; /* first mistake; owned until finish */
} mok_writer;

mok_writer mok_writer_make(mok_arena *arena);
/* Hands the text out; an open block or an earlier mistake is an error. The writer is used up. */
MOK_MUST_USE mok_status mok_writer_finish(mok_writer *w, const char *name, mok_blob *out);

void mok_w_blank(mok_writer *w);
void mok_w_line(mok_writer *w, const char *fmt, ...) MOK_PRINTF(2, 3);
void mok_w_directive(mok_writer *w, const char *fmt, ...) MOK_PRINTF(2, 3); /* preprocessor line: never indented */

/* "HEAD {" and the line after its end: "}" with `tail` ("", ";") behind. */
void mok_w_open(mok_writer *w, const char *fmt, ...) MOK_PRINTF(2, 3);
void mok_w_close(mok_writer *w, const char *tail);
/* A line one step out of the block it is in: case labels, and the braces of their bodies. */
void mok_w_label(mok_writer *w, const char *fmt, ...) MOK_PRINTF(2, 3);
/* A line one step further in: what an `if` on the line before governs. */
void mok_w_under(mok_writer *w, const char *fmt, ...) MOK_PRINTF(2, 3);

/* One-line comment before a declaration, with its place in the description in a column of its own: file base name and line. */
void mok_w_heading(mok_writer *w, mok_loc loc, const char *fmt, ...) MOK_PRINTF(3, 4);
/* Comment behind the last line if it fits in the width, else on a line of its own before it. */
void mok_w_remark(mok_writer *w, int column, const char *text);
/* Block comment: paragraphs, each wrapped to the width. */
void mok_w_comment_open(mok_writer *w, const char *text);
void mok_w_comment_more(mok_writer *w, const char *text); /* "" : an empty line */
void mok_w_comment_close(mok_writer *w);

/* #define NAME VALUE, remark behind it in a column. value is printed as it is. */
void mok_w_define(mok_writer *w, const char *name, const char *value, const char *remark);
/* NAME = VALUE, inside an enum block, remark in a column. */
void mok_w_enumerator(mok_writer *w, const char *name, const char *value, const char *remark);

/* Texts, in the arena. */
const char *mok_w_name(mok_writer *w, const char *name); /* checked identifier; "invalid" and a kept mistake otherwise */
const char *mok_w_upper(mok_writer *w, const char *prefix, const char *name,
                        const char *suffix);                      /* PREFIX_NAME_SUFFIX, checked */
const char *mok_w_int(mok_writer *w, int64_t value);              /* literal; LL beyond 32 bits */
const char *mok_w_float(mok_writer *w, double value);             /* shortest literal of that float, with f */
const char *mok_w_fixed(mok_writer *w, double value, int digits); /* decimal, rounded; for remarks and microseconds */
const char *mok_w_string(mok_writer *w, const char *text);        /* quoted and escaped */
const char *mok_w_place(mok_writer *w, mok_loc loc);              /* "kimi.lua:3"; "" without a line */
const char *mok_w_format(mok_writer *w, const char *fmt, ...) MOK_PRINTF(2, 3);

#endif
