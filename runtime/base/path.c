#include <string.h>

#include "file.h"

const char *mok_path_join(mok_arena *arena, const char *folder, const char *name) {
  size_t length = strlen(folder);
  return mok_arena_printf(arena, "%s%s%s", folder, length && folder[length - 1] != '/' ? "/" : "", name);
}

const char *mok_path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}
