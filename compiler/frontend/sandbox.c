/* The bounded Lua state. Memory is bounded by the allocator, time by a count hook and, for C functions that work long between two
 * counts, by the thread's CPU time. There is no pcall, so nothing can catch what these raise. */
#include <ctype.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum { TIME_LIMIT_MS = 500, MAX_REFUSALS = 16, MAX_ERROR_TEXT = 2000 };

/* Near its limit every allocation costs Lua a full collection; after a few of them there is no more to be had. */
static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  mok_reader *reader = user;
  if (!block) old_size = 0; /* then it is a type tag */
  if (new_size == 0) {
    free(block);
    reader->lua_bytes -= old_size;
    return NULL;
  }
  if (new_size > old_size &&
      (reader->refusals >= MAX_REFUSALS || reader->lua_bytes + (new_size - old_size) > (size_t)MOK_LUA_MEMORY_LIMIT)) {
    const mok_source *source;
    reader->refusals++;
    if (reader->L) reader->memory_loc = mok_caller_line(reader->L, &source); /* only reads the state */
    return NULL;
  }
  void *moved = realloc(block, new_size);
  if (moved) reader->lua_bytes += new_size - old_size;
  return moved;
}

static void check_limits(lua_State *L) {
  mok_reader *reader = mok_reader_of(L);
  if (reader->reports >= MOK_MAX_REPORTS) {
    reader->give_up = true;
    luaL_error(L, "too many mistakes");
  }
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const long long ms = (now.tv_sec - reader->start.tv_sec) * 1000LL + (now.tv_nsec - reader->start.tv_nsec) / 1000000;
  if (ms <= TIME_LIMIT_MS && reader->instructions <= MOK_LUA_INSTRUCTION_LIMIT) return;
  /* One message: which limit comes first may differ between machines. */
  reader->error_hint = "is there a loop that does not end, or one over very long strings or tables?";
  luaL_error(L, "the description runs too long: the limits are %d million instructions and %d ms",
             MOK_LUA_INSTRUCTION_LIMIT / 1000000, TIME_LIMIT_MS);
}

static void count_hook(lua_State *L, lua_Debug *event) {
  (void)event;
  mok_reader_of(L)->instructions += MOK_HOOK_INSTRUCTIONS;
  check_limits(L);
}

void mok_sandbox_charge(lua_State *L, size_t steps) {
  mok_reader *reader = mok_reader_of(L);
  const int64_t before = reader->instructions / 1000;
  reader->instructions += steps > MOK_LUA_INSTRUCTION_LIMIT ? MOK_LUA_INSTRUCTION_LIMIT : (int64_t)steps;
  if (reader->instructions / 1000 != before) check_limits(L);
}

static int open_libraries(lua_State *L) {
  mok_library_open(L);
  mok_construct_open(L);
  mok_require_open(L);
  return 0;
}

lua_State *mok_sandbox_open(mok_reader *reader) {
  lua_State *L = lua_newstate(allocate, reader);
  if (!L) return NULL;
  *(mok_reader **)lua_getextraspace(L) = reader;
  reader->L = L;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &reader->start);
  lua_pushcfunction(L, open_libraries);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
    lua_close(L);
    reader->L = NULL;
    return NULL;
  }
  lua_sethook(L, count_hook, LUA_MASKCOUNT, MOK_HOOK_INSTRUCTIONS);
  return L;
}

int mok_sandbox_load(mok_reader *reader, const mok_source *source, int id) {
  char chunk[16];
  snprintf(chunk, sizeof chunk, "=#%d", id);
  return luaL_loadbufferx(reader->L, source->text + source->skip, source->size - source->skip, chunk, "t");
}

/* Cuts "#3:17: " off a message: the place of the error. */
static const char *message_place(const mok_reader *reader, const char *text, const mok_source **source, int *line) {
  *source = mok_source_of_chunk(reader, text);
  if (!*source) return text;
  const char *colon = strchr(text, ':');
  char *end;
  const long value = colon ? strtol(colon + 1, &end, 10) : 0;
  if (value <= 0 || end[0] != ':' || end[1] != ' ') {
    *source = NULL;
    return text;
  }
  *line = (int)value;
  return end + 2;
}

/* The quoted part after `before` in a message: near 'x', (global 'x'). */
static bool quoted_after(const char *text, const char *before, const char **word, size_t *size) {
  const char *at = NULL, *next = text;
  while ((next = strstr(next, before)) != NULL) at = next++;
  if (!at) return false;
  at += strlen(before);
  const char *end = strrchr(at, '\'');
  if (!end || end == at) return false;
  *word = at;
  *size = (size_t)(end - at);
  return true;
}

const char *mok_absent_name_hint(const char *word, size_t size) {
  static const struct {
    const char *name, *hint;
  } absent[] = {
      {"print", "a description prints nothing: error(...) shows a value, --emit=model the result"},
      {"io", "a description has no files, processes or environment"},
      {"os", "a description has no files, processes or environment"},
      {"debug", "a description has no debug library"},
      {"load", "a description loads no code; require \"name\" reads name.lua beside it"},
      {"loadstring", "a description loads no code; require \"name\" reads name.lua beside it"},
      {"loadfile", "a description loads no code; require \"name\" reads name.lua beside it"},
      {"dofile", "a description loads no code; require \"name\" reads name.lua beside it"},
      {"package", "require \"name\" reads a preset, or name.lua beside the description"},
      {"pcall", "errors of a description cannot be caught"},
      {"xpcall", "errors of a description cannot be caught"},
      {"coroutine", "a description has no coroutines"},
      {"setmetatable", "a description has no metatables"},
      {"getmetatable", "a description has no metatables"},
      {"collectgarbage", "memory is bounded and managed by mokgen"},
      {"next", "pairs(t) visits the keys in sorted order"},
      {"random", "the same description must always give the same result"},
      {"randomseed", "the same description must always give the same result"},
      {"find", "patterns are not available: use sub, byte, rep, format, lower, upper"},
      {"match", "patterns are not available: use sub, byte, rep, format, lower, upper"},
      {"gmatch", "patterns are not available: use sub, byte, rep, format, lower, upper"},
      {"gsub", "patterns are not available: use sub, byte, rep, format, lower, upper"},
  };
  for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
    if (strlen(absent[i].name) == size && memcmp(absent[i].name, word, size) == 0) return absent[i].hint;
  }
  return NULL;
}

/* Lua shows a byte that is no printable character as <\195>. */
static bool byte_of(const char *word, size_t size, char *byte) {
  if (size < 4 || size > 6 || word[0] != '<' || word[1] != '\\') return false;
  *byte = (char)strtol(word + 2, NULL, 10);
  return *byte != '\0';
}

static void locate(mok_reader *reader, const mok_source *source, int line, const char *text) {
  static const char *const before[] = {"near '", "(global '", "(field '", "(method '", "(local '", "(upvalue '", "(constant '"};
  reader->error_loc = mok_source_line(source, line);
  const char *word;
  size_t size;
  for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
    if (!quoted_after(text, before[i], &word, &size)) continue;
    char byte;
    const bool odd = byte_of(word, size, &byte);
    const bool name = i == 1 || i == 4 || i == 5; /* of a variable */
    reader->error_loc = name ? mok_source_find_name(source, line, word, size)
                             : mok_source_find_word(source, line, odd ? &byte : word, odd ? 1 : size);
    if (!reader->error_hint && i > 0) reader->error_hint = mok_absent_name_hint(word, size);
    if (!reader->error_hint && i == 0 && strstr(text, "'}' expected") && (isalpha((unsigned char)word[0]) || word[0] == '_')) {
      reader->error_hint = mok_arena_printf(reader->arena, "is a ',' missing before '%.*s'?", (int)(size < 40 ? size : 40), word);
    }
    return;
  }
}

void mok_sandbox_error(mok_reader *reader, int rc) {
  lua_State *L = reader->L;
  if (rc == LUA_ERRMEM) {
    reader->error_text =
        mok_arena_printf(reader->arena, "the description needs more than %d MiB of memory", MOK_LUA_MEMORY_LIMIT >> 20);
    reader->error_hint = "is there a loop or a recursion that does not end?";
    reader->error_loc = reader->memory_loc;
    return;
  }
  if (reader->error_text) return; /* the message handler saw it with the stack still there */
  size_t size = 0;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  if (!text) text = lua_isnil(L, -1) ? "error without a message" : "error with a value that is no string";
  text = mok_arena_strndup(reader->arena, text, strlen(text) < MAX_ERROR_TEXT ? strlen(text) : MAX_ERROR_TEXT);
  const mok_source *source;
  int line = 0;
  text = message_place(reader, text, &source, &line);
  if (source) {
    locate(reader, source, line, text);
  } else {
    reader->error_loc = mok_caller_line(L, &source);
  }
  if (strstr(text, "stack overflow"))
    text = source ? "calls are nested too deeply" : "brackets, blocks or calls are nested too deeply";
  reader->error_text = text[0] ? text : "error with an empty message";
}

static int on_error(lua_State *L) {
  lua_sethook(L, NULL, 0, 0);
  mok_sandbox_error(mok_reader_of(L), LUA_ERRRUN);
  return 1;
}

bool mok_sandbox_call(mok_reader *reader, int results) {
  lua_State *L = reader->L;
  lua_pushcfunction(L, on_error);
  lua_insert(L, -2);
  const int handler = lua_gettop(L) - 1;
  const int rc = lua_pcall(L, 0, results, handler);
  if (rc != LUA_OK) mok_sandbox_error(reader, rc);
  lua_remove(L, handler);
  return rc == LUA_OK;
}
