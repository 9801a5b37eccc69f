/* require "name": a preset in the binary, or name.lua beside the description. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../runtime/base/file.h"
#include "reader.h"

static const char loaded_key = 0, loading_mark = 0; /* their addresses count */

int mok_reader_add_source(mok_reader *reader, const char *file, const char *text, size_t size) {
  if (reader->source_count == MOK_MAX_SOURCES) return -1;
  mok_source *source = mok_source_index(reader->arena, file, text, size);
  mok_diag_add_source(reader->diag, file, source->text, source->size);
  reader->sources[reader->source_count] = source;
  return reader->source_count++;
}

static const mok_preset *find_preset(const char *name) {
  for (size_t i = 0; i < mok_preset_count; i++) {
    if (strcmp(mok_presets[i].name, name) == 0) return &mok_presets[i];
  }
  return NULL;
}

/* A regular file in the folder itself, links out of it not followed. */
static bool is_beside(const char *folder, const char *path) {
  char real_folder[PATH_MAX], real_path[PATH_MAX];
  struct stat status;
  if (!realpath(folder, real_folder) || !realpath(path, real_path)) return false;
  if (stat(real_path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const char *base = mok_path_base(real_path);
  const size_t size = strlen(real_folder);
  const size_t lead = (size_t)(base - real_path); /* with the '/' */
  if (size == 1) return lead == 1;
  return lead == size + 1 && memcmp(real_path, real_folder, size) == 0;
}

static int fail_unknown(lua_State *L, const char *name, const char *path, const char *why) {
  mok_reader *reader = mok_reader_of(L);
  const char *names[64];
  size_t count = 0;
  mok_buf known = mok_buf_make(reader->arena);
  for (; count < mok_preset_count && count < 64; count++) {
    names[count] = mok_presets[count].name;
    mok_buf_printf(&known, "%s%s", count ? ", " : "presets: ", names[count]);
  }
  const char *near = mok_reader_nearest(name, names, count);
  reader->error_hint = near ? mok_arena_printf(reader->arena, "did you mean '%s'?", near) : known.data;
  return luaL_error(L, "no preset '%s', and %s %s", name, path, why);
}

/* Pushes the chunk of `name`, or raises. */
static void load_named(lua_State *L, const char *name) {
  mok_reader *reader = mok_reader_of(L);
  const mok_preset *known = find_preset(name);
  const char *file, *text;
  size_t size;
  if (known) {
    file = mok_arena_printf(reader->arena, "<preset %s>", name);
    text = known->text;
    size = known->size;
  } else {
    const char *leaf = mok_arena_printf(reader->arena, "%s.lua", name);
    file = strcmp(reader->folder, ".") == 0 ? leaf : mok_path_join(reader->arena, reader->folder, leaf);
    if (!mok_file_exists(file)) fail_unknown(L, name, file, "does not exist");
    if (!is_beside(reader->folder, file)) fail_unknown(L, name, file, "is not a file of that folder");
    mok_blob blob;
    mok_status status = mok_file_read(reader->arena, file, MOK_LUA_SOURCE_LIMIT, &blob);
    if (status) {
      lua_pushfstring(L, "%s", mok_status_text(status));
      mok_status_free(status);
      luaL_error(L, "%s", lua_tostring(L, -1));
    }
    reader->source_bytes += blob.size;
    if (reader->source_bytes > MOK_LUA_SOURCE_LIMIT)
      luaL_error(L, "the files of this description are larger than 1 MiB together");
    text = blob.data;
    size = blob.size;
  }
  const int id = mok_reader_add_source(reader, file, text, size);
  if (id < 0) luaL_error(L, "a description has at most %d files", MOK_MAX_SOURCES);
  if (mok_source_is_compiled(reader->sources[id])) luaL_error(L, "%s is compiled Lua: a description is text", file);
  if (mok_sandbox_load(reader, reader->sources[id], id) != LUA_OK) lua_error(L);
}

static int require(lua_State *L) {
  mok_reader *reader = mok_reader_of(L);
  if (lua_type(L, 1) != LUA_TSTRING)
    return luaL_error(L, "require takes the name of a preset or of a file, not a %s", luaL_typename(L, 1));
  size_t size;
  const char *name = lua_tolstring(L, 1, &size);
  if (strlen(name) != size || !mok_model_name_ok(name) || name[0] == '.') {
    reader->error_hint = "require \"name\" reads a preset, or name.lua beside the description";
    return luaL_error(L, "require '%s': a name has letters, digits, '.', '_' and '-' only",
                      mok_arena_strndup(reader->arena, name, strlen(name) < 64 ? strlen(name) : 64));
  }
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &loaded_key);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, 2) == LUA_TLIGHTUSERDATA) return luaL_error(L, "'%s' requires itself, directly or through others", name);
  if (!lua_isnil(L, -1)) return 1;
  lua_pop(L, 1);
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, (void *)&loading_mark);
  lua_rawset(L, 2);
  load_named(L, name);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
  } else if (lua_type(L, -1) == LUA_TFUNCTION && !lua_iscfunction(L, -1)) {
    mok_preset_wrap(L);
  }
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, 2);
  return 1;
}

void mok_require_open(lua_State *L) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &loaded_key);
  lua_pushcfunction(L, require);
  lua_setglobal(L, "require");
}
