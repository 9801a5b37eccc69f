/* A Lua text and where its table literals stand: Lua itself keeps lines of calls only.
 *
 * Indexed are calls that pass a table literal, `f { ... }` and `f({ ... })`, with the places of `key =`, `["key"] =` and
 * positional items, three tables deep, and every call of a constructor. A table that was made elsewhere is not found; its fields
 * then have the place of the call. The index is bounded, so that a hostile text costs no more memory than its size allows.
 */
#ifndef MOK_SOURCE_H
#define MOK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../runtime/base/arena.h"
#include "../diag/diag.h"

typedef struct mok_source_field {
  const char *key; /* in the text, not terminated; NULL: positional */
  int key_size;
  int index; /* from 1, of a positional item */
  int table; /* the literal it belongs to */
  int child; /* the literal that is its value; -1: none indexed */
  int line, column, length;
} mok_source_field;

typedef struct mok_source_table {
  int first, end; /* its fields lie in this range, with those of the literals inside it */
} mok_source_table;

typedef struct mok_source_call {
  const char *callee; /* last name of the called expression, in the text; callee_size 0: none */
  int callee_size;
  int first_line, last_line; /* of the called expression up to the bracket: Lua reports one of them */
  int line, column;          /* of the callee */
  int table;                 /* the literal passed; -1: none */
} mok_source_call;

typedef struct mok_source {
  const char *file; /* as shown */
  const char *text;
  size_t size;
  size_t skip; /* bytes of a '#' line, which Lua does not read */
  mok_source_field *fields;
  mok_source_table *tables;
  mok_source_call *calls;
  int field_count, table_count, call_count;
} mok_source;

/* Indexes the text. file and text are borrowed. */
mok_source *mok_source_index(mok_arena *arena, const char *file, const char *text, size_t size);

bool mok_source_is_compiled(const mok_source *source); /* a chunk of luac, not text */

/* The call of `name` at a line as Lua reports it; without one, the only other call there that passes a literal (a constructor or
 * preset under a name of the user's). name NULL: any name but a constructor's. NULL if there is none, or several. */
const mok_source_call *mok_source_find_call(const mok_source *source, const char *name, int line);

/* Field of a literal; the last one if it is given twice, and then *earlier is the one before (NULL otherwise; may be NULL).
 * key NULL: the positional item `index`. table -1 finds nothing. */
const mok_source_field *mok_source_find_field(const mok_source *source, int table, const char *key, int index,
                                              const mok_source_field **earlier);

/* Place of the only occurrence of `word` on a line, by whole words if it is one; column 0 if it occurs never or more than once.
 */
mok_loc mok_source_find_word(const mok_source *source, int line, const char *word, size_t size);

/* The same for a name that is read: `name = ...`, `.name` and text inside strings do not count. */
mok_loc mok_source_find_name(const mok_source *source, int line, const char *name, size_t size);

mok_loc mok_source_line(const mok_source *source, int line);
mok_loc mok_source_field_loc(const mok_source *source, const mok_source_field *field);

extern const char *const mok_constructors[]; /* the tables of model_fields.def, in its order */
extern const size_t mok_constructor_count;

#endif
