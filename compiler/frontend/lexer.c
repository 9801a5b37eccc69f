#include "lexer.h"

#include <string.h>

mok_lexer mok_lexer_make(const char *text, size_t size) {
  return (mok_lexer){.at = text, .end = text + size, .line_start = text, .line = 1};
}

bool mok_token_is(const mok_token *token, const char *word) {
  return token->size == strlen(word) && memcmp(token->text, word, token->size) == 0;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const mok_lexer *x, size_t ahead) { return (size_t)(x->end - x->at) > ahead ? x->at[ahead] : '\0'; }

/* Steps over one byte; "\r\n" and "\n\r" are one line end, as in Lua. */
static void step(mok_lexer *x) {
  const char c = *x->at++;
  if (c != '\n' && c != '\r') return;
  if (x->at < x->end && (*x->at == '\n' || *x->at == '\r') && *x->at != c) x->at++;
  x->line++;
  x->line_start = x->at;
}

/* Level of the long bracket that begins here ("[[": 0, "[=[": 1, ...), -1 if none does. */
static int long_level(const mok_lexer *x) {
  int level = 0;
  if (peek(x, 0) != '[') return -1;
  while (peek(x, 1 + (size_t)level) == '=') level++;
  return peek(x, 1 + (size_t)level) == '[' ? level : -1;
}

static void skip_long(mok_lexer *x, int level) {
  x->at += level + 2;
  while (x->at < x->end) {
    if (*x->at == ']') {
      int n = 0;
      while (n < level && peek(x, 1 + (size_t)n) == '=') n++;
      if (n == level && peek(x, 1 + (size_t)n) == ']') {
        x->at += level + 2;
        return;
      }
    }
    step(x);
  }
}

static void skip_blank(mok_lexer *x) {
  while (x->at < x->end) {
    if (strchr(" \t\v\f\r\n", *x->at) && *x->at) {
      step(x);
    } else if (*x->at == '-' && peek(x, 1) == '-') {
      x->at += 2;
      const int level = long_level(x);
      if (level >= 0) skip_long(x, level);
      else
        while (x->at < x->end && *x->at != '\n' && *x->at != '\r') x->at++;
    } else {
      return;
    }
  }
}

static void skip_string(mok_lexer *x) {
  const char quote = *x->at++;
  while (x->at < x->end && *x->at != quote) {
    if (*x->at == '\n' || *x->at == '\r') return; /* unfinished */
    if (*x->at == '\\' && x->at + 1 < x->end) {
      x->at++;
      if (*x->at == 'z') {
        x->at++;
        while (x->at < x->end && *x->at && strchr(" \t\v\f\r\n", *x->at)) step(x);
        continue;
      }
    }
    step(x);
  }
  if (x->at < x->end) x->at++;
}

static bool is_keyword(const mok_token *token) {
  static const char *const words[] = {"and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
                                      "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
                                      "repeat",   "return", "then", "true", "until",  "while"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (mok_token_is(token, words[i])) return true;
  }
  return false;
}

/* Operators that contain '=', '.' or ':' and must not look like the single characters. */
static bool skip_operator(mok_lexer *x) {
  static const char *const operators[] = {"...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>"};
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
    const size_t size = strlen(operators[i]);
    if ((size_t)(x->end - x->at) >= size && memcmp(x->at, operators[i], size) == 0) {
      x->at += size;
      return true;
    }
  }
  return false;
}

mok_token mok_lexer_next(mok_lexer *x) {
  skip_blank(x);
  mok_token token = {.kind = MOK_TOKEN_END, .text = x->at, .line = x->line, .column = (int)(x->at - x->line_start) + 1};
  if (x->at >= x->end) return token;
  const char c = *x->at;
  if (is_letter(c)) {
    while (x->at < x->end && (is_letter(*x->at) || is_digit(*x->at))) x->at++;
    token.size = (size_t)(x->at - token.text);
    token.kind = is_keyword(&token) ? MOK_TOKEN_KEYWORD : MOK_TOKEN_NAME;
  } else if (is_digit(c) || (c == '.' && is_digit(peek(x, 1)))) {
    while (x->at < x->end && (is_letter(*x->at) || is_digit(*x->at) || *x->at == '.')) {
      const bool exponent = strchr("eEpP", *x->at) && (peek(x, 1) == '+' || peek(x, 1) == '-');
      x->at += exponent ? 2 : 1;
    }
    token.kind = MOK_TOKEN_OTHER;
  } else if (c == '"' || c == '\'') {
    skip_string(x);
    token.kind = MOK_TOKEN_STRING;
  } else if (c == '[' && long_level(x) >= 0) {
    skip_long(x, long_level(x));
    token.kind = MOK_TOKEN_LONG_STRING;
  } else if (skip_operator(x)) {
    token.kind = MOK_TOKEN_OTHER;
  } else {
    x->at++;
    token.kind = (unsigned char)c;
  }
  token.size = (size_t)(x->at - token.text);
  return token;
}
