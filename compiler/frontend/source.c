#include "source.h"

#include <string.h>

#include "lexer.h"

enum { MAX_FIELDS = 65536, MAX_TABLES = 32768, MAX_CALLS = 32768, MAX_DEPTH = 3, MAX_POSITIONAL = 64 };

const char *const mok_constructors[] = {"model", "topology", "workload", "schedule"};
const size_t mok_constructor_count = sizeof mok_constructors / sizeof mok_constructors[0];

typedef enum frame_kind { FRAME_PAREN, FRAME_INDEX, FRAME_TABLE, FRAME_BLOCK } frame_kind;

typedef struct frame {
  frame_kind kind;
  bool call;      /* PAREN: of a call */
  bool first;     /* PAREN: no token yet. TABLE: a field begins */
  int call_index; /* PAREN of a call: its record, -1 if it has none */
  int table;      /* TABLE: its record, -1 if it has none */
  int depth;      /* TABLE: literals around it in the same call, itself included */
  int positional; /* TABLE: items so far */
  int value_of;   /* TABLE: field whose value begins, -1: none */
  int expr_line;  /* first line of the expression that the bracket continues */
} frame;

typedef struct indexer {
  mok_arena *arena;
  mok_source *source;
  mok_lexer lexer;
  frame *frames;
  size_t depth, capacity;
  mok_token before; /* the token before the current one */
  mok_token name;   /* the last name: what a bracket after it calls */
  int expr_line;
  int field_capacity, table_capacity, call_capacity;
} indexer;

/* Room for one more of a bounded array; false: it is full. */
static bool grow(mok_arena *arena, void **array, int count, int *capacity, int limit, size_t size) {
  if (count < *capacity) return true;
  if (count >= limit) return false;
  const int larger = *capacity ? 2 * *capacity : 64;
  void *copy = mok_arena_array(arena, (size_t)larger, size);
  if (count) memcpy(copy, *array, (size_t)count * size);
  *array = copy;
  *capacity = larger;
  return true;
}

static bool is_constructor(const char *name, size_t size) {
  for (size_t i = 0; i < mok_constructor_count; i++) {
    if (strlen(mok_constructors[i]) == size && memcmp(mok_constructors[i], name, size) == 0) return true;
  }
  return false;
}

/* A bracket or string after this token is a call of what stands before. */
static bool ends_prefix(const mok_token *t) {
  return t->kind == MOK_TOKEN_NAME || t->kind == MOK_TOKEN_STRING || t->kind == ')' || t->kind == ']' || t->kind == '}';
}

static frame *top(indexer *x) { return x->depth ? &x->frames[x->depth - 1] : NULL; }

static frame *push(indexer *x, frame_kind kind) {
  if (x->depth == x->capacity) {
    const size_t capacity = x->capacity ? 2 * x->capacity : 64;
    frame *frames = MOK_NEW_ARRAY(x->arena, capacity, frame);
    if (x->depth) memcpy(frames, x->frames, x->depth * sizeof *frames);
    x->frames = frames;
    x->capacity = capacity;
  }
  frame *f = &x->frames[x->depth++];
  *f = (frame){.kind = kind, .first = true, .call_index = -1, .table = -1, .value_of = -1, .expr_line = x->expr_line};
  return f;
}

/* Closes the innermost bracket of this kind; text that does not nest is left to Lua to refuse. */
static void pop(indexer *x, frame_kind kind) {
  frame *f = top(x);
  if (!f || f->kind != kind) return;
  if (kind == FRAME_TABLE && f->table >= 0) x->source->tables[f->table].end = x->source->field_count;
  x->expr_line = f->expr_line;
  x->depth--;
}

static int add_call(indexer *x, int bracket_line) {
  mok_source *s = x->source;
  const bool named = x->before.kind == MOK_TOKEN_NAME;
  if (!grow(x->arena, (void **)&s->calls, s->call_count, &x->call_capacity, MAX_CALLS, sizeof *s->calls)) return -1;
  s->calls[s->call_count] = (mok_source_call){.callee = x->before.text,
                                              .callee_size = named ? (int)x->before.size : 0,
                                              .first_line = x->expr_line,
                                              .last_line = bracket_line,
                                              .line = x->before.line,
                                              .column = named ? x->before.column : 0,
                                              .table = -1};
  return s->call_count++;
}

static int add_table(indexer *x) {
  mok_source *s = x->source;
  if (!grow(x->arena, (void **)&s->tables, s->table_count, &x->table_capacity, MAX_TABLES, sizeof *s->tables)) return -1;
  s->tables[s->table_count] = (mok_source_table){.first = s->field_count, .end = s->field_count};
  return s->table_count++;
}

static void add_field(indexer *x, frame *table, const mok_token *at, const char *key, size_t key_size) {
  mok_source *s = x->source;
  table->value_of = -1;
  if (!key) table->positional++;
  if (table->table < 0 || (!key && table->positional > MAX_POSITIONAL)) return;
  if (!grow(x->arena, (void **)&s->fields, s->field_count, &x->field_capacity, MAX_FIELDS, sizeof *s->fields)) return;
  s->fields[s->field_count] = (mok_source_field){.key = key,
                                                 .key_size = (int)key_size,
                                                 .index = key ? 0 : table->positional,
                                                 .table = table->table,
                                                 .child = -1,
                                                 .line = at->line,
                                                 .column = at->column,
                                                 .length = (int)at->size};
  table->value_of = s->field_count++;
}

/* At the start of a field: records it. Returns true if `key =` was consumed. */
static bool begin_field(indexer *x, frame *table, const mok_token *token) {
  table->first = false;
  const mok_lexer mark = x->lexer;
  if (token->kind == MOK_TOKEN_NAME) {
    if (mok_lexer_next(&x->lexer).kind == '=') {
      add_field(x, table, token, token->text, token->size);
      return true;
    }
  } else if (token->kind == '[') {
    const mok_token key = mok_lexer_next(&x->lexer);
    if (key.kind == MOK_TOKEN_STRING && mok_lexer_next(&x->lexer).kind == ']' && mok_lexer_next(&x->lexer).kind == '=') {
      add_field(x, table, &key, key.text + 1, key.size - 2);
      return true;
    }
    x->lexer = mark;
    table->value_of = -1; /* a computed key, or a long string: no place */
    return false;
  }
  x->lexer = mark;
  add_field(x, table, token, NULL, 0);
  return false;
}

static void open_table(indexer *x, const mok_token *token) {
  frame *outer = top(x);
  int table = -1, depth = 1;
  if (ends_prefix(&x->before)) {
    const int call = add_call(x, token->line);
    table = call < 0 ? -1 : add_table(x);
    if (call >= 0) x->source->calls[call].table = table;
  } else if (outer && outer->kind == FRAME_PAREN && outer->call && outer->first) {
    if (outer->call_index >= 0) table = x->source->calls[outer->call_index].table = add_table(x);
  } else if (outer && outer->kind == FRAME_TABLE && outer->value_of >= 0 && outer->depth < MAX_DEPTH) {
    table = x->source->fields[outer->value_of].child = add_table(x);
    depth = outer->depth + 1;
  }
  if (outer) outer->first = false, outer->value_of = -1;
  frame *f = push(x, FRAME_TABLE);
  f->table = table;
  f->depth = depth;
}

static void open_paren(indexer *x, const mok_token *token) {
  const bool call = ends_prefix(&x->before);
  int index = -1;
  if (call) {
    const mok_lexer mark = x->lexer;
    const bool literal = mok_lexer_next(&x->lexer).kind == '{';
    x->lexer = mark;
    if (literal || (x->before.kind == MOK_TOKEN_NAME && is_constructor(x->before.text, x->before.size))) {
      index = add_call(x, token->line);
    }
  } else {
    x->expr_line = token->line;
  }
  frame *f = push(x, FRAME_PAREN);
  f->call = call;
  f->call_index = index;
}

static void keyword(indexer *x, const mok_token *t) {
  static const char *const openers[] = {"function", "do", "if", "repeat"};
  for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
    if (mok_token_is(t, openers[i])) push(x, FRAME_BLOCK);
  }
  if (mok_token_is(t, "end") || mok_token_is(t, "until")) pop(x, FRAME_BLOCK);
}

static void step(indexer *x, const mok_token *t) {
  frame *f = top(x);
  if (f && f->kind == FRAME_TABLE && f->first && t->kind != '}' && begin_field(x, f, t)) {
    x->before = (mok_token){.kind = '='};
    return;
  }
  switch (t->kind) {
    case '{':
      open_table(x, t);
      break;
    case '}':
      pop(x, FRAME_TABLE);
      break;
    case '(':
      open_paren(x, t);
      break;
    case ')':
      pop(x, FRAME_PAREN);
      break;
    case '[':
      push(x, FRAME_INDEX);
      break;
    case ']':
      pop(x, FRAME_INDEX);
      break;
    case ',':
    case ';':
      if (f && f->kind == FRAME_TABLE) f->first = true;
      break;
    case MOK_TOKEN_NAME:
      if (x->before.kind != '.' && x->before.kind != ':') x->expr_line = t->line;
      break;
    case MOK_TOKEN_KEYWORD:
      keyword(x, t);
      break;
    case MOK_TOKEN_STRING:
      if (!ends_prefix(&x->before)) x->expr_line = t->line;
      if (x->before.kind == MOK_TOKEN_NAME && is_constructor(x->before.text, x->before.size)) add_call(x, t->line);
      break;
    default:
      break;
  }
  if (f && f == top(x) && t->kind != ',' && t->kind != ';' && f->kind != FRAME_TABLE) f->first = false;
  if (f && f == top(x) && f->kind == FRAME_TABLE && t->kind != '{') f->value_of = -1;
  x->before = *t;
}

mok_source *mok_source_index(mok_arena *arena, const char *file, const char *text, size_t size) {
  mok_source *source = MOK_NEW(arena, mok_source);
  if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, size -= 3; /* byte order mark */
  *source = (mok_source){.file = file, .text = text, .size = size};
  if (size && text[0] == '#') {
    const char *end = memchr(text, '\n', size);
    source->skip = end ? (size_t)(end - text) : size;
  }
  indexer x = {.arena = arena, .source = source, .lexer = mok_lexer_make(text + source->skip, size - source->skip)};
  x.lexer.line_start = text;
  for (;;) {
    const mok_token token = mok_lexer_next(&x.lexer);
    if (token.kind == MOK_TOKEN_END) break;
    step(&x, &token);
  }
  while (x.depth) pop(&x, top(&x)->kind);
  return source;
}

bool mok_source_is_compiled(const mok_source *source) {
  return source->size > source->skip && source->text[source->skip] == '\033';
}

const mok_source_call *mok_source_find_call(const mok_source *source, const char *name, int line) {
  const mok_source_call *other = NULL;
  bool several = false;
  for (int i = 0; i < source->call_count; i++) {
    const mok_source_call *call = &source->calls[i];
    if (line < call->first_line || line > call->last_line) continue;
    const size_t size = (size_t)call->callee_size;
    if (name && strlen(name) == size && memcmp(call->callee, name, size) == 0) return call;
    if (call->table < 0 || is_constructor(call->callee, size)) continue;
    several = other != NULL;
    other = call;
  }
  return several ? NULL : other;
}

const mok_source_field *mok_source_find_field(const mok_source *source, int table, const char *key, int index,
                                              const mok_source_field **earlier) {
  const mok_source_field *found = NULL;
  if (earlier) *earlier = NULL;
  if (table < 0) return NULL;
  const size_t size = key ? strlen(key) : 0;
  for (int i = source->tables[table].first; i < source->tables[table].end; i++) {
    const mok_source_field *field = &source->fields[i];
    if (field->table != table || !field->key != !key) continue;
    if (key ? (size_t)field->key_size != size || memcmp(field->key, key, size) != 0 : field->index != index) continue;
    if (earlier) *earlier = found;
    found = field;
  }
  return found;
}

mok_loc mok_source_line(const mok_source *source, int line) { return (mok_loc){.file = source->file, .line = line}; }

mok_loc mok_source_field_loc(const mok_source *source, const mok_source_field *field) {
  return (mok_loc){.file = source->file, .line = field->line, .column = field->column, .length = field->length};
}

static bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Begin and end of a line; false if there is none. */
static bool find_line(const mok_source *source, int line, const char **begin, const char **end) {
  const char *stop = source->text + source->size, *at = source->text;
  for (int i = 1; i < line; i++) {
    at = memchr(at, '\n', (size_t)(stop - at));
    if (!at) return false;
    at++;
  }
  const char *newline = memchr(at, '\n', (size_t)(stop - at));
  *begin = at;
  *end = newline ? newline : stop;
  return true;
}

mok_loc mok_source_find_word(const mok_source *source, int line, const char *word, size_t size) {
  mok_loc loc = mok_source_line(source, line);
  const char *begin, *end;
  if (size == 0 || !find_line(source, line, &begin, &end)) return loc;
  for (const char *at = begin; (size_t)(end - at) >= size; at++) {
    if (memcmp(at, word, size) != 0) continue;
    if (is_word_byte(word[0]) && at > begin && is_word_byte(at[-1])) continue;
    if (is_word_byte(word[size - 1]) && at + size < end && is_word_byte(at[size])) continue;
    if (loc.column) return mok_source_line(source, line); /* which one is meant is not known */
    loc.column = (int)(at - begin) + 1;
    loc.length = (int)size;
  }
  return loc;
}

mok_loc mok_source_find_name(const mok_source *source, int line, const char *name, size_t size) {
  mok_loc loc = mok_source_line(source, line);
  const char *begin, *end;
  if (!find_line(source, line, &begin, &end)) return loc;
  mok_lexer lexer = mok_lexer_make(begin, (size_t)(end - begin));
  int before = 0;
  for (mok_token token = mok_lexer_next(&lexer), next; token.kind != MOK_TOKEN_END; before = token.kind, token = next) {
    next = mok_lexer_next(&lexer);
    if (token.kind != MOK_TOKEN_NAME || token.size != size || memcmp(token.text, name, size) != 0) continue;
    if (before == '.' || before == ':' || next.kind == '=') continue;
    if (loc.column) return mok_source_line(source, line); /* which one is meant is not known */
    loc.column = token.column;
    loc.length = (int)size;
  }
  return loc;
}
