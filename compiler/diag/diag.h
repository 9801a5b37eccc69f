/* Diagnostics: what is wrong with the user's text, at its place, as many as there are.
 *
 * Text form (the form of clang):
 *   kimi.lua:5:3: error: unknown key 'hiden' in model
 *       hiden = 7168,
 *       ^~~~~
 *   hint: did you mean 'hidden'?
 * Lua, MLIR and NVRTC messages all go through one sink, so they look alike.
 */
#ifndef MOK_DIAG_H
#define MOK_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "../../runtime/base/arena.h"
#include "../../runtime/base/status.h"

/* A place in a text. line and column (bytes) count from 1; 0 means unknown (then it is not printed). `length` bytes are
 * underlined, at least 1. */
typedef struct mok_loc {
  const char *file; /* as the user named it; NULL: no place */
  int line;
  int column;
  int length;
} mok_loc;

typedef enum mok_severity { MOK_NOTE, MOK_WARNING, MOK_SEVERITY_ERROR } mok_severity;

typedef struct mok_diag mok_diag;

mok_diag *mok_diag_create(mok_arena *arena); /* in the arena */

/* Registers the text of a file, so that a caret line can be shown. Text is borrowed. */
void mok_diag_add_source(mok_diag *diag, const char *file, const char *text, size_t size);

/* `hint` may be NULL. The same (place, message) twice is kept once. After 64 errors one line says how many more. */
void mok_diag_report(mok_diag *diag, mok_severity severity, mok_loc loc, const char *hint, const char *fmt, ...) MOK_PRINTF(5, 6);

int mok_diag_errors(const mok_diag *diag);
int mok_diag_warnings(const mok_diag *diag); /* not printed yet */
/* Prints all in order of file, line, column (stable; a note stays with what was reported before it), then forgets them. Long
 * source lines are cut around the caret; control characters and invalid UTF-8 are escaped. */
void mok_diag_print(mok_diag *diag, FILE *out, bool color);
/* MOK_OK, or a status of `code` marked as reported: "3 errors". */
MOK_MUST_USE mok_status mok_diag_status(const mok_diag *diag, mok_code code);

/* Nearest word by edit distance (Damerau), NULL if none is near (more than a third of the letters differ). */
const char *mok_nearest_word(const char *word, const char *const *words, size_t count);

#endif
