/* The constructors model, topology, workload and schedule, and presets: what they are called with goes into the records, each
 * field with the place it was written at. */
#include <string.h>

#include "reader.h"

/* Where the fields of a table that a preset made come from; a userdata, in a weak registry table under that table. */
typedef struct table_places {
  mok_loc call;                   /* of the preset */
  mok_loc fields[MOK_NUM_FIELDS]; /* file NULL: the preset's own value */
} table_places;

static const char places_key = 0; /* its address is the registry key */

static const table_places *places_of(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &places_key);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  const table_places *places = lua_touserdata(L, -1);
  lua_pop(L, 2); /* kept alive by its table */
  return places;
}

static table_places *attach_places(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &places_key);
  lua_pushvalue(L, index);
  table_places *places = lua_newuserdatauv(L, sizeof *places, 0);
  memset(places, 0, sizeof *places);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return places;
}

/* A call and the literal it was given, if the text shows one. */
typedef struct call_site {
  const mok_source *source;
  const mok_source_call *call;
  mok_loc loc;
} call_site;

static call_site find_site(lua_State *L, const char *name) {
  call_site site;
  site.loc = mok_call_site(L, name, &site.source, &site.call);
  return site;
}

static const mok_source_field *literal_field(const call_site *site, const char *key, int index,
                                             const mok_source_field **earlier) {
  if (earlier) *earlier = NULL;
  return site->call ? mok_source_find_field(site->source, site->call->table, key, index, earlier) : NULL;
}

static mok_loc field_loc(const call_site *site, const char *key) {
  const mok_source_field *field = literal_field(site, key, 0, NULL);
  return field ? mok_source_field_loc(site->source, field) : site->loc;
}

static void copy_table(lua_State *L, int index, const mok_source *source, int literal, mok_raw *raw);

/* Copies the value at `index`; `literal` is its table in the text, -1 if not known. raw->loc is set. */
static void copy_value(lua_State *L, int index, const mok_source *source, int literal, mok_raw *raw) {
  mok_reader *reader = mok_reader_of(L);
  switch (lua_type(L, index)) {
    case LUA_TNIL:
      raw->kind = MOK_RAW_NIL;
      break;
    case LUA_TBOOLEAN:
      raw->kind = MOK_RAW_BOOL;
      raw->integer = lua_toboolean(L, index);
      break;
    case LUA_TNUMBER:
      raw->kind = lua_isinteger(L, index) ? MOK_RAW_INT : MOK_RAW_FLOAT;
      raw->integer = lua_isinteger(L, index) ? lua_tointeger(L, index) : 0;
      raw->number = lua_tonumber(L, index);
      break;
    case LUA_TSTRING: {
      size_t size;
      const char *text = lua_tolstring(L, index, &size);
      raw->kind = MOK_RAW_STRING;
      raw->odd = size > MAX_RAW_STRING || memchr(text, '\0', size) != NULL;
      raw->text = mok_arena_strndup(reader->arena, text, size < MAX_RAW_STRING ? size : MAX_RAW_STRING);
      break;
    }
    case LUA_TTABLE:
      raw->kind = MOK_RAW_TABLE;
      copy_table(L, index, source, literal, raw);
      break;
    default:
      raw->kind = MOK_RAW_OTHER;
      raw->text = luaL_typename(L, index);
      break;
  }
}

static void copy_table(lua_State *L, int index, const mok_source *source, int literal, mok_raw *raw) {
  mok_reader *reader = mok_reader_of(L);
  index = lua_absindex(L, index);
  luaL_checkstack(L, 8, NULL);
  lua_Integer count = mok_sorted_keys(L, index, true);
  if (count > MAX_RAW_ITEMS) {
    raw->odd = true;
    count = MAX_RAW_ITEMS;
  }
  raw->items = MOK_NEW_ARRAY(reader->arena, (size_t)count, mok_raw_item);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    mok_raw_item *item = &raw->items[raw->count];
    if (lua_type(L, -1) == LUA_TSTRING && strlen(lua_tostring(L, -1)) <= 64) {
      item->key = mok_arena_strdup(reader->arena, lua_tostring(L, -1));
    } else if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= MAX_RAW_ITEMS) {
      item->index = (int)lua_tointeger(L, -1);
    } else {
      raw->odd = true;
      lua_pop(L, 1);
      continue;
    }
    lua_rawget(L, index);
    item->value = MOK_NEW(reader->arena, mok_raw);
    const mok_source_field *field = source ? mok_source_find_field(source, literal, item->key, item->index, NULL) : NULL;
    item->value->loc = field ? mok_source_field_loc(source, field) : raw->loc;
    if (lua_type(L, -1) == LUA_TTABLE) {
      item->value->kind = MOK_RAW_TABLE; /* no field has tables this deep: only named in an error */
      item->value->odd = true;
    } else {
      copy_value(L, -1, NULL, -1, item->value);
    }
    raw->count++;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void report_item(mok_reader *reader, const call_site *site, const char *name, lua_State *L) {
  if (lua_type(L, -1) != LUA_TNUMBER) {
    mok_reader_error(reader, site->loc, "write key = value", "a key of %s is a %s", name, luaL_typename(L, -1));
    return;
  }
  const mok_source_field *field = literal_field(
      site, NULL,
      lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0 && lua_tointeger(L, -1) < 1000 ? (int)lua_tointeger(L, -1) : -1, NULL);
  const mok_loc loc = field ? mok_source_field_loc(site->source, field) : site->loc;
  mok_reader_error(reader, loc, "write key = value", "an item of %s has no key", name);
}

static void check_twice(mok_reader *reader, const call_site *site, const char *name, const char *key) {
  const mok_source_field *earlier, *field = literal_field(site, key, 0, &earlier);
  if (!earlier) return;
  const mok_loc loc = mok_source_field_loc(site->source, field);
  mok_reader_error(reader, loc, mok_arena_printf(reader->arena, "the first one is at %d:%d", earlier->line, earlier->column),
                   "%s.%s is given twice", name, key);
}

/* Fields written with a value that is nil: the table does not have them, the text does. */
static void note_nils(mok_record *record, const call_site *site, const char *name) {
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (strcmp(mok_fields[i].table, name) != 0 || record->fields[i].kind != MOK_RAW_NIL) continue;
    const mok_source_field *field = literal_field(site, mok_fields[i].name, 0, NULL);
    if (!field) continue;
    record->fields[i].loc = mok_source_field_loc(site->source, field);
    record->nil_given[i] = true;
  }
}

/* Arguments that are not the one table they should be. */
static const char *describe_arguments(lua_State *L) {
  if (lua_gettop(L) == 0) return "nothing";
  if (lua_gettop(L) > 1) return "several values";
  return lua_isnil(L, 1) ? "nil" : mok_arena_printf(mok_reader_of(L)->arena, "a %s", luaL_typename(L, 1));
}

/* upvalue 1: position in mok_constructors */
static int construct(lua_State *L) {
  mok_reader *reader = mok_reader_of(L);
  const int position = (int)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = mok_constructors[position];
  mok_record *record = &reader->records[position];
  const call_site site = find_site(L, name);
  if (record->called) {
    const char *hint =
        mok_arena_printf(reader->arena, "the first one is at %s:%d", record->loc.file ? record->loc.file : "?", record->loc.line);
    mok_reader_error(reader, site.loc, hint, "%s is described twice", name);
    return 0;
  }
  record->called = true;
  record->loc = site.loc;
  if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TTABLE) {
    mok_reader_error(reader, site.loc, mok_arena_printf(reader->arena, "write %s { key = value, ... }", name),
                     "%s takes one table, not %s", name, describe_arguments(L));
    for (int i = 0; i < MOK_NUM_FIELDS; i++) record->excused[i] = true;
    return 0;
  }
  const table_places *places = places_of(L, 1);
  const lua_Integer count = mok_sorted_keys(L, 1, true);
  for (lua_Integer i = 1; i <= count && reader->reports < MOK_MAX_REPORTS; i++) {
    lua_rawgeti(L, 2, i);
    if (lua_type(L, -1) != LUA_TSTRING) {
      report_item(reader, &site, name, L);
      lua_pop(L, 1);
      continue;
    }
    const char *key = lua_tostring(L, -1);
    const int field = mok_reader_field(name, key);
    if (field < 0) {
      mok_reader_unknown_key(reader, field_loc(&site, key), name, key, record);
      lua_pop(L, 1);
      continue;
    }
    check_twice(reader, &site, name, key);
    const mok_source_field *literal = literal_field(&site, key, 0, NULL);
    mok_raw *raw = &record->fields[field];
    raw->loc = literal ? mok_source_field_loc(site.source, literal) : site.loc;
    if (!literal && places) raw->loc = places->fields[field].file ? places->fields[field] : places->call;
    lua_rawget(L, 1);
    copy_value(L, -1, site.source, literal ? literal->child : -1, raw);
    lua_settop(L, 2);
  }
  note_nils(record, &site, name);
  return 0;
}

/* Notes where the overrides at `index` (nil or a table) were written, by field. */
static void override_places(lua_State *L, int index, const call_site *site, mok_loc *fields) {
  if (lua_type(L, index) != LUA_TTABLE) return;
  const table_places *places = places_of(L, index);
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (strcmp(mok_fields[i].table, "model") != 0) continue;
    lua_pushstring(L, mok_fields[i].name);
    if (lua_rawget(L, index) != LUA_TNIL) {
      const mok_source_field *literal = literal_field(site, mok_fields[i].name, 0, NULL);
      if (literal) fields[i] = mok_source_field_loc(site->source, literal);
      else fields[i] = places && places->fields[i].file ? places->fields[i] : site->loc;
    }
    lua_pop(L, 1);
  }
}

static void check_overrides(lua_State *L, const call_site *site) {
  mok_reader *reader = mok_reader_of(L);
  const lua_Integer count = mok_sorted_keys(L, 1, true);
  for (lua_Integer i = 1; i <= count && reader->reports < MOK_MAX_REPORTS; i++) {
    lua_rawgeti(L, -1, i);
    if (lua_type(L, -1) != LUA_TSTRING) {
      report_item(reader, site, "model", L);
    } else {
      const char *key = lua_tostring(L, -1);
      if (mok_reader_field("model", key) < 0) mok_reader_unknown_key(reader, field_loc(site, key), "model", key, NULL);
      else check_twice(reader, site, "model", key);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Call of what preset { ... } returned. upvalue 1: the defaults. Stack: 1 the overrides. */
static int preset_call(lua_State *L) {
  mok_reader *reader = mok_reader_of(L);
  const call_site site = find_site(L, NULL);
  if (lua_gettop(L) > 1 || (!lua_isnoneornil(L, 1) && lua_type(L, 1) != LUA_TTABLE)) {
    mok_reader_error(reader, site.loc, "write kimi { experts = 16 }, or kimi() for the preset as it is",
                     "a preset takes one table of overrides, not %s", describe_arguments(L));
    lua_settop(L, 0);
  }
  lua_settop(L, 1);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, lua_upvalueindex(1));) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 2);
  }
  table_places *places = attach_places(L, 2);
  places->call = site.loc;
  if (lua_type(L, 1) != LUA_TTABLE) return 1;
  check_overrides(L, &site);
  override_places(L, 1, &site, places->fields);
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (!places->fields[i].file) continue;
    lua_pushstring(L, mok_fields[i].name);
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    lua_rawset(L, 2);
  }
  return 1;
}

/* preset { ... }: a function from overrides to a model table. */
static int preset(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_pushcclosure(L, preset_call, 1);
  return 1;
}

/* Call of a preset that is a Lua function: fields that it passes through keep the places of the overrides. upvalue 1: the
 * function. */
static int wrapped_call(lua_State *L) {
  const call_site site = find_site(L, NULL);
  const int count = lua_gettop(L);
  mok_loc fields[MOK_NUM_FIELDS] = {{0}};
  luaL_checkstack(L, count + 8, NULL);
  if (count >= 1) override_places(L, 1, &site, fields);
  lua_pushvalue(L, lua_upvalueindex(1));
  for (int i = 1; i <= count; i++) lua_pushvalue(L, i);
  lua_call(L, count, LUA_MULTRET);
  const int results = lua_gettop(L) - count;
  luaL_checkstack(L, 8, NULL);
  if (results < 1 || lua_type(L, count + 1) != LUA_TTABLE || places_of(L, count + 1)) return results;
  table_places *places = attach_places(L, count + 1);
  places->call = site.loc;
  for (int i = 0; i < MOK_NUM_FIELDS; i++) {
    if (!fields[i].file) continue;
    lua_pushstring(L, mok_fields[i].name);
    lua_rawget(L, 1);
    lua_pushstring(L, mok_fields[i].name);
    lua_rawget(L, count + 1);
    if (lua_rawequal(L, -1, -2)) places->fields[i] = fields[i];
    lua_pop(L, 2);
  }
  return results;
}

int mok_preset_wrap(lua_State *L) {
  lua_pushcclosure(L, wrapped_call, 1);
  return 1;
}

void mok_construct_open(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &places_key);
  for (size_t i = 0; i < mok_constructor_count; i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, construct, 1);
    lua_setglobal(L, mok_constructors[i]);
  }
  lua_pushcfunction(L, preset);
  lua_setglobal(L, "preset");
}
