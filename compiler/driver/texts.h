/* Texts about the tool that others read: generated from options.def, model_fields.def and the lists of targets, passes, GPU rows
 * and presets, so that they cannot lag behind. `mokgen reference WHAT` prints one; the build does so for what is installed. */
#ifndef MOK_DRIVER_TEXTS_H
#define MOK_DRIVER_TEXTS_H

#include "../../runtime/base/buf.h"
#include "options.h"

void mok_text_manual(mok_buf *out);      /* mokgen.1, man(7) macros */
void mok_text_bash(mok_buf *out);        /* completion for bash 4 or later; needs no other package */
void mok_text_zsh(mok_buf *out);         /* _mokgen for zsh's fpath */
void mok_text_annotations(mok_buf *out); /* dsl/mokgen.meta.lua, for the Lua language server */

/* Known values of an option, in an arena; a word that ends in ':' or '=' goes on. */
typedef struct mok_choices {
  const char *const *words;
  size_t count;
} mok_choices;
mok_choices mok_option_choices(mok_arena *arena, mok_option_id id);

/* Takes the first word off *rest, a list with `separator` between the words; the word is in the arena. */
const char *mok_next_word(const char **rest, mok_arena *arena, char separator); /* NULL: none left */

#endif
