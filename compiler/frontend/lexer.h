/* Tokens of Lua 5.4, as far as places of table fields need them: text that Lua refuses yields some tokens, and an end. */
#ifndef MOK_LEXER_H
#define MOK_LEXER_H

#include <stdbool.h>
#include <stddef.h>

/* Other kinds are the character of a one-character token; operators of several characters are MOK_TOKEN_OTHER. */
enum { MOK_TOKEN_END = 256, MOK_TOKEN_NAME, MOK_TOKEN_KEYWORD, MOK_TOKEN_STRING, MOK_TOKEN_LONG_STRING, MOK_TOKEN_OTHER };

typedef struct mok_token {
  int kind;
  const char *text; /* a STRING with its quotes */
  size_t size;
  int line, column; /* of its first byte, from 1 */
} mok_token;

typedef struct mok_lexer {
  const char *at, *end, *line_start;
  int line;
} mok_lexer;

mok_lexer mok_lexer_make(const char *text, size_t size);
mok_token mok_lexer_next(mok_lexer *lexer);
bool mok_token_is(const mok_token *token, const char *word); /* by its text */

#endif
