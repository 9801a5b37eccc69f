/* The part of Lua's libraries that a description has: deterministic, and bounded by the size of what it works on. */
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "../target/target.h"
#include "reader.h"

/* Keys in a fixed order: Lua's own follows addresses and a random seed. */
typedef struct sort_key {
  int type; /* number, string, boolean: the order of the keys */
  double number;
  lua_Integer integer;
  const char *text; /* anchored by the table */
  size_t size;
} sort_key;

static int key_rank(int type) { return type == LUA_TNUMBER ? 0 : type == LUA_TSTRING ? 1 : 2; }

static int compare_keys(const void *left, const void *right) {
  const sort_key *a = left, *b = right;
  if (a->type != b->type) return key_rank(a->type) - key_rank(b->type);
  if (a->type == LUA_TSTRING) {
    const int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
  }
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return (a->integer > b->integer) - (a->integer < b->integer);
}

static void push_key(lua_State *L, const sort_key *key, bool is_integer) {
  if (key->type == LUA_TSTRING) lua_pushlstring(L, key->text, key->size);
  else if (key->type == LUA_TBOOLEAN) lua_pushboolean(L, key->integer != 0);
  else if (is_integer) lua_pushinteger(L, key->integer);
  else lua_pushnumber(L, key->number);
}

lua_Integer mok_sorted_keys(lua_State *L, int index, bool skip_others) {
  index = lua_absindex(L, index);
  luaL_checkstack(L, 6, NULL);
  size_t count = 0, used = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) count++;
  mok_sandbox_charge(L, 16 * count);
  sort_key *keys = lua_newuserdatauv(L, (count + 1) * sizeof *keys, 0);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    sort_key key = {.type = lua_type(L, -2)};
    if (key.type == LUA_TSTRING) {
      key.text = lua_tolstring(L, -2, &key.size);
      mok_sandbox_charge(L, key.size / 16);
    } else if (key.type == LUA_TBOOLEAN) {
      key.number = (double)(key.integer = lua_toboolean(L, -2));
    } else if (key.type == LUA_TNUMBER) {
      key.number = lua_tonumber(L, -2);
      if (lua_isinteger(L, -2)) key.integer = lua_tointeger(L, -2);
      else key.size = 1; /* a float with a fraction */
    } else if (skip_others) {
      continue;
    } else {
      return luaL_error(L, "pairs: a key is a %s, which has no order", luaL_typename(L, -2));
    }
    keys[used++] = key;
  }
  if (used) qsort(keys, used, sizeof *keys, compare_keys);
  lua_createtable(L, used < 65536 ? (int)used : 65536, 0);
  for (size_t i = 0; i < used; i++) {
    push_key(L, &keys[i], keys[i].size == 0);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_remove(L, -2);
  return (lua_Integer)used;
}

/* upvalues: table, keys, position. Keys whose value has become nil are passed over. */
static int pairs_step(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
  for (;;) {
    const int type = lua_rawgeti(L, lua_upvalueindex(2), ++i);
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(3));
    if (type == LUA_TNIL) return 1;
    lua_pushvalue(L, -1);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 2;
    lua_pop(L, 2);
    mok_sandbox_charge(L, 1);
  }
}

static int library_pairs(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  mok_sorted_keys(L, 1, false);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, pairs_step, 3);
  return 1;
}

/* Addresses must not get into a description: a table is just "table". */
static int library_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  const int type = lua_type(L, 1);
  if (type > LUA_TNIL && type != LUA_TBOOLEAN && type != LUA_TNUMBER && type != LUA_TSTRING) {
    lua_pushstring(L, lua_typename(L, type));
  } else {
    luaL_tolstring(L, 1, NULL);
  }
  return 1;
}

/* upvalue: string.format */
static int library_format(lua_State *L) {
  size_t size;
  const char *format = luaL_checklstring(L, 1, &size);
  const int count = lua_gettop(L);
  for (const char *at = format; (at = memchr(at, '%', (size_t)(format + size - at))) != NULL;) {
    at++;
    at += strspn(at, "-+ #0123456789.");
    if (*at == 'p') return luaL_error(L, "string.format: '%%p' is not available: addresses differ from run to run");
    if (at >= format + size) break;
    at++;
  }
  for (int i = 2; i <= count; i++) {
    const int type = lua_type(L, i);
    if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA) {
      lua_pushstring(L, lua_typename(L, type));
      lua_replace(L, i);
    }
  }
  mok_sandbox_charge(L, size / 16);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, count, 1);
  return 1;
}

/* upvalue: string.rep. Refuses early, with a place, what the memory limit would refuse without one. */
static int library_rep(lua_State *L) {
  size_t size, separator = 0;
  luaL_checklstring(L, 1, &size);
  const lua_Integer times = luaL_checkinteger(L, 2);
  if (!lua_isnoneornil(L, 3)) luaL_checklstring(L, 3, &separator);
  if (times > 0 && size + separator > 0) {
    const size_t limit = MOK_LUA_MEMORY_LIMIT / 2;
    if ((size_t)times > limit / (size + separator)) {
      return luaL_error(L, "string.rep: the result is longer than %d MiB", (int)(limit >> 20));
    }
    mok_sandbox_charge(L, (size_t)times + (size_t)times * (size + separator) / 16);
  }
  lua_settop(L, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 3, 1);
  return 1;
}

/* a < b for the values on top, by the comparator at 2 if there is one; pops both. */
static bool less(lua_State *L, bool comparator) {
  bool result;
  if (comparator) {
    lua_pushvalue(L, 2);
    lua_insert(L, -3);
    lua_call(L, 2, 1);
    result = lua_toboolean(L, -1);
    lua_pop(L, 1);
    mok_sandbox_charge(L, 1);
    return result;
  }
  const size_t a = lua_rawlen(L, -2), b = lua_rawlen(L, -1);
  mok_sandbox_charge(L, 1 + (lua_type(L, -1) == LUA_TSTRING ? (a < b ? a : b) / 16 : 0));
  result = lua_compare(L, -2, -1, LUA_OPLT);
  lua_pop(L, 2);
  return result;
}

/* table.sort, as a merge sort: stable, and without the random pivot of Lua's. A comparator that contradicts itself gives some
 * order. Stack: 1 the table, 2 the comparator, 3 a table for the merged runs. */
static int library_sort(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const bool comparator = !lua_isnoneornil(L, 2);
  if (comparator) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  const lua_Integer count = luaL_len(L, 1);
  lua_newtable(L);
  int from = 1, to = 3;
  for (lua_Integer width = 1; width < count; width *= 2) {
    for (lua_Integer begin = 1; begin <= count; begin += 2 * width) {
      const lua_Integer middle = begin + width <= count ? begin + width : count + 1;
      const lua_Integer end = begin + 2 * width <= count ? begin + 2 * width : count + 1;
      lua_Integer left = begin, right = middle;
      for (lua_Integer out = begin; out < end; out++) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          lua_rawgeti(L, from, right);
          lua_rawgeti(L, from, left);
          take_right = less(L, comparator);
        }
        lua_rawgeti(L, from, take_right ? right++ : left++);
        lua_rawseti(L, to, out);
        mok_sandbox_charge(L, 1);
      }
    }
    from = 4 - from; /* 1 and 3 change places */
    to = 4 - to;
  }
  for (lua_Integer i = 1; from == 3 && i <= count; i++) {
    lua_rawgeti(L, 3, i);
    lua_rawseti(L, 1, i);
  }
  return 0;
}

/* Removes all fields of the table on top but those named. */
static void keep_only(lua_State *L, const char *const *names) {
  const lua_Integer count = mok_sorted_keys(L, -1, true);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    const char *key = lua_tostring(L, -1);
    bool keep = false;
    for (size_t k = 0; names[k]; k++) keep = keep || strcmp(names[k], key) == 0;
    lua_pop(L, 1);
    if (keep) continue;
    lua_rawgeti(L, -1, i);
    lua_pushnil(L);
    lua_rawset(L, -4);
  }
  lua_pop(L, 1);
}

/* Wraps function `name` of the table on top into `wrapper`, with the original as its upvalue. */
static void wrap(lua_State *L, const char *name, lua_CFunction wrapper) {
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, wrapper, 1);
  lua_setfield(L, -2, name);
}

/* A GPU or a word that was meant as a string. */
static bool is_unquoted_word(const char *name) {
  int64_t position;
  if (mok_gpu_find(name)) return true;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (mok_field_word_index(&mok_fields[i], name, &position)) return true;
  }
  return false;
}

/* Reading an unknown global is a mistake; a misspelt constructor still constructs, so that its fields are checked too. */
static int unknown_global(lua_State *L) {
  mok_reader *reader = mok_reader_of(L);
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
  const mok_source *source;
  mok_loc loc = mok_caller_line(L, &source);
  if (source) loc = mok_source_find_name(source, loc.line, name, strlen(name));
  if (reader->unknown_count < MOK_MAX_REPORTS) reader->unknown_names[reader->unknown_count++] = loc;
  const char *meant = mok_reader_nearest(name, mok_constructors, mok_constructor_count);
  const char *hint =
      meant ? mok_arena_printf(reader->arena, "did you mean '%s'?", meant) : mok_absent_name_hint(name, strlen(name));
  if (!hint && is_unquoted_word(name)) hint = mok_arena_printf(reader->arena, "write \"%s\", with quotes", name);
  mok_reader_error(reader, loc, hint, "unknown name '%.60s'", name);
  if (!meant) return 0;
  lua_pushglobaltable(L);
  lua_getfield(L, -1, meant);
  return 1;
}

void mok_library_open(lua_State *L) {
  static const char *const base[] = {"assert",   "error",    "ipairs", "pairs",    "select",
                                     "tonumber", "tostring", "type",   "_VERSION", NULL};
  static const char *const string[] = {"byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper", NULL};
  static const char *const table[] = {"concat", "insert", "pack", "remove", "sort", "unpack", NULL};
  static const char *const math[] = {"abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
                                     "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
                                     "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL};
  luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
  keep_only(L, base);
  lua_pushcfunction(L, library_pairs);
  lua_setfield(L, -2, "pairs");
  lua_pushcfunction(L, library_tostring);
  lua_setfield(L, -2, "tostring");
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, unknown_global);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);

  luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
  keep_only(L, string);
  wrap(L, "format", library_format);
  wrap(L, "rep", library_rep);
  luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
  keep_only(L, table);
  lua_pushcfunction(L, library_sort);
  lua_setfield(L, -2, "sort");
  luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
  keep_only(L, math);
  lua_settop(L, 0);
}
