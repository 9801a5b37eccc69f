/* annotations META FUNCTION...: META is Lua, and defines exactly these functions and nothing else. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  lua_State *L = luaL_newstate();
  if (!L) return 2;
  int failed = 0, defined = 0;
  if (luaL_dofile(L, argv[1]) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    failed = 1;
  }
  for (int i = 2; i < argc && !failed; i++) {
    if (lua_getglobal(L, argv[i]) != LUA_TFUNCTION) {
      fprintf(stderr, "%s: no function %s\n", argv[1], argv[i]);
      failed = 1;
    }
    lua_pop(L, 1);
  }
  lua_pushglobaltable(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) defined++;
  if (!failed && defined != argc - 2) {
    fprintf(stderr, "%s defines %d names, expected %d\n", argv[1], defined, argc - 2);
    failed = 1;
  }
  lua_close(L);
  return failed;
}
