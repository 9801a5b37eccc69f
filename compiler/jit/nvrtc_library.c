#include "nvrtc_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/base/file.h"

enum {
  MAX_PLACES = 64,
  LEAST_MAJOR =
      13, /* what the templates are compiled with in the tests; an older one might refuse their PTX, or take it and err */
};

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.12"}; /* the last to name it */
enum { NUM_NAMES = sizeof library_names / sizeof library_names[0] };

typedef struct places {
  mok_arena *arena;
  mok_nvrtc_place *at;
  size_t count;
} places;

static void add_folder(places *p, const char *folder) {
  for (size_t i = 0; i < p->count; i++)
    if (p->at[i].folder && strcmp(p->at[i].folder, folder) == 0) return;
  if (p->count < MAX_PLACES) p->at[p->count++] = (mok_nvrtc_place){.folder = mok_arena_strdup(p->arena, folder)};
}

/* A folder that holds the library itself, a toolkit, or an unpacked wheel. */
static void add_prefix(places *p, const char *prefix) {
  static const char *const inside[] = {"lib64", "lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib"};
  add_folder(p, prefix);
  for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) add_folder(p, mok_path_join(p->arena, prefix, inside[i]));
}

/* Folders that match, the highest version first. */
static void add_pattern(places *p, const char *pattern) {
  glob_t found;
  if (glob(pattern, 0, NULL, &found) != 0) return;
  for (size_t i = found.gl_pathc; i > 0; i--) add_folder(p, found.gl_pathv[i - 1]);
  globfree(&found);
}

static const char *executable_folder(mok_arena *arena) {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size <= 0) return NULL;
  path[size] = '\0';
  char *slash = strrchr(path, '/');
  if (!slash || slash == path) return NULL;
  *slash = '\0';
  return mok_arena_strdup(arena, path);
}

const mok_nvrtc_place *mok_nvrtc_places(mok_arena *arena, size_t *count) {
  places p = {.arena = arena, .at = MOK_NEW_ARRAY(arena, MAX_PLACES, mok_nvrtc_place)};

  const char *named = getenv("MOKGEN_NVRTC");
  if (named && named[0]) {
    if (mok_folder_exists(named)) {
      add_prefix(&p, named);
    } else {
      const char *base = mok_path_base(named);
      const char *folder = base == named ? "." : mok_arena_strndup(arena, named, (size_t)(base - named));
      p.at[p.count++] = (mok_nvrtc_place){.folder = folder, .name = mok_arena_strdup(arena, base)};
    }
    *count = p.count;
    return p.at;
  }

  p.at[p.count++] = (mok_nvrtc_place){.folder = NULL};
  const char *toolkit = getenv("CUDA_PATH");
  if (toolkit && toolkit[0]) {
    add_folder(&p, mok_path_join(arena, toolkit, "lib64"));
    add_folder(&p, mok_path_join(arena, toolkit, "lib"));
  }
  add_folder(&p, "/usr/local/cuda/lib64");
  add_pattern(&p, "/usr/local/cuda-*/lib64");
  add_folder(&p, "/opt/cuda/lib64");
  add_folder(&p, "/usr/lib/x86_64-linux-gnu");
  add_folder(&p, "/usr/lib64");
  const char *own = executable_folder(arena);
  if (own) {
    add_prefix(&p, mok_path_join(arena, own, "nvrtc"));
    char *slash = strrchr(own, '/');
    if (slash && slash != own) add_prefix(&p, mok_arena_printf(arena, "%.*s/nvrtc", (int)(slash - own), own));
  }
  *count = p.count;
  return p.at;
}

/* NVRTC opens its builtins by name, and has no search path of its own: outside the loader's path it would not find them, or find
 * those of another installation. Opened here first, from its own folder, they are the ones that the name means. */
static void open_builtins(const mok_nvrtc *nvrtc) {
  struct link_map *map = NULL;
  int major = 0, minor = 0;
  if (dlinfo(nvrtc->library, RTLD_DI_LINKMAP, &map) != 0 || !map || nvrtc->nvrtcVersion(&major, &minor) != 0) return;
  const int folder = (int)(mok_path_base(map->l_name) - map->l_name);
  char path[PATH_MAX];
  const int size = snprintf(path, sizeof path, "%.*slibnvrtc-builtins.so.%d.%d", folder, map->l_name, major, minor);
  if (folder > 0 && size < (int)sizeof path) (void)dlopen(path, RTLD_NOW | RTLD_LOCAL); /* absent: NVRTC says so */
}

bool mok_nvrtc_open(const char *path, mok_nvrtc *out, const char **why) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *why = dlerror();
    return false;
  }
  out->library = library;
  const char *missing = NULL;
  /* Through a pointer to the member: ISO C has no cast from object to function pointer. */
#define MOK_NVRTC_FUNCTION(name, parameters)            \
  *(void **)(void *)&out->name = dlsym(library, #name); \
  if (!out->name) missing = #name;
#include "nvrtc_api.def"
#undef MOK_NVRTC_FUNCTION
  *(void **)(void *)&out->nvrtcGetErrorString = dlsym(library, "nvrtcGetErrorString");
  if (!out->nvrtcGetErrorString) missing = "nvrtcGetErrorString";
  if (missing) {
    *why = "too old, or not NVRTC: a function is missing";
    dlclose(library);
    return false;
  }
  open_builtins(out);
  return true;
}

static bool compiles_for(mok_arena *arena, const mok_nvrtc *nvrtc, int arch) {
  int count = 0;
  if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0 || count > 1000) return false;
  int *archs = MOK_NEW_ARRAY(arena, (size_t)count, int);
  if (nvrtc->nvrtcGetSupportedArchs(archs) != 0) return false;
  for (int i = 0; i < count; i++)
    if (archs[i] == arch) return true;
  return false;
}

static bool open_path(mok_arena *arena, const char *path, int arch, mok_nvrtc *out, const char **why) {
  if (!mok_nvrtc_open(path, out, why)) return false;
  int major = 0, minor = 0;
  out->nvrtcVersion(&major, &minor);
  const bool new_enough = major >= LEAST_MAJOR;
  if (new_enough && compiles_for(arena, out, arch)) return true;
  *why = new_enough ? mok_arena_printf(arena, "NVRTC %d.%d does not compile for sm_%d", major, minor, arch)
                    : mok_arena_printf(arena, "NVRTC %d.%d; it must be %d.0 or newer", major, minor, LEAST_MAJOR);
  dlclose(out->library);
  return false;
}

static const char *resolved_path(mok_arena *arena, const mok_nvrtc *nvrtc, const char *fallback) {
  struct link_map *map = NULL;
  if (dlinfo(nvrtc->library, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name[0]) return fallback;
  return mok_arena_strdup(arena, map->l_name);
}

bool mok_nvrtc_open_first(mok_arena *arena, int arch, mok_nvrtc *out, const char **path, mok_buf *tried) {
  size_t count = 0;
  const mok_nvrtc_place *places_at = mok_nvrtc_places(arena, &count);
  for (size_t i = 0; i < count; i++) {
    const mok_nvrtc_place *place = &places_at[i];
    const char *why = NULL;
    if (!place->folder) {
      for (int n = 0; n < NUM_NAMES; n++) {
        const char *reason = NULL;
        if (open_path(arena, library_names[n], arch, out, &reason)) {
          *path = resolved_path(arena, out, library_names[n]);
          return true;
        }
        if (!why || !strstr(reason, "No such file")) why = mok_arena_strdup(arena, reason);
      }
      mok_buf_printf(tried, "\n  the loader's path: %s", why);
      continue;
    }
    if (place->name) {
      const char *file = mok_path_join(arena, place->folder, place->name);
      const bool exists = mok_file_exists(file);
      if (exists && open_path(arena, file, arch, out, &why)) {
        *path = file;
        return true;
      }
      mok_buf_printf(tried, "\n  %s: %s", file, exists ? why : "no such file");
      continue;
    }
    if (!mok_folder_exists(place->folder)) {
      mok_buf_printf(tried, "\n  %s: no such folder", place->folder);
      continue;
    }
    for (int n = 0; n < NUM_NAMES; n++) {
      const char *file = mok_path_join(arena, place->folder, library_names[n]);
      if (!mok_file_exists(file)) continue;
      const char *reason = NULL;
      if (open_path(arena, file, arch, out, &reason)) {
        *path = file;
        return true;
      }
      why = mok_arena_strdup(arena, reason);
    }
    mok_buf_printf(tried, "\n  %s: %s", place->folder, why ? why : "no libnvrtc.so.13, libnvrtc.so, libnvrtc.so.12");
  }
  return false;
}

typedef struct build_id_search {
  mok_arena *arena;
  const struct link_map *map;
  const char *hex;
} build_id_search;

static int find_build_id(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  build_id_search *search = user;
  if (info->dlpi_addr != search->map->l_addr || strcmp(info->dlpi_name, search->map->l_name) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_NOTE) continue;
    const char *at = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    const char *end = at + info->dlpi_phdr[i].p_memsz;
    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof note);
      const char *name = at + sizeof note;
      const size_t name_bytes = (note.n_namesz + 3u) & ~(size_t)3, desc_bytes = (note.n_descsz + 3u) & ~(size_t)3;
      if ((size_t)(end - name) < name_bytes + desc_bytes) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        mok_buf hex = mok_buf_make(search->arena);
        for (size_t b = 0; b < note.n_descsz; b++) mok_buf_printf(&hex, "%02x", (unsigned char)name[name_bytes + b]);
        search->hex = hex.data;
        return 1;
      }
      at = name + name_bytes + desc_bytes;
    }
  }
  return 0;
}

const char *mok_nvrtc_identity(mok_arena *arena, const mok_nvrtc *nvrtc) {
  int major = 0, minor = 0;
  nvrtc->nvrtcVersion(&major, &minor);
  build_id_search search = {.arena = arena, .hex = "unknown"};
  struct link_map *map = NULL;
  if (dlinfo(nvrtc->library, RTLD_DI_LINKMAP, &map) == 0 && map) {
    search.map = map;
    dl_iterate_phdr(find_build_id, &search);
  }
  return mok_arena_printf(arena, "%d.%d build %s", major, minor, search.hex);
}
