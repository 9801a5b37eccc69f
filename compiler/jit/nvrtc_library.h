/* libnvrtc: where it is searched, and its functions. Used in child processes only: it is large, and a crash of it is not ours. */
#ifndef MOK_NVRTC_LIBRARY_H
#define MOK_NVRTC_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "../../runtime/base/buf.h"

typedef struct mok_nvrtc {
  void *library;
  const char *(*nvrtcGetErrorString)(int result);
#define MOK_NVRTC_FUNCTION(name, parameters) int(*name) parameters;
#include "nvrtc_api.def"
#undef MOK_NVRTC_FUNCTION
} mok_nvrtc;

/* One place: a folder with the names searched in it, or a name for the loader. */
typedef struct mok_nvrtc_place {
  const char *folder; /* NULL: the loader's path */
  const char *name;   /* one file name; NULL: the usual ones */
} mok_nvrtc_place;

/* In order: MOKGEN_NVRTC (file or folder; then nothing else), the loader's path, CUDA_PATH, the usual toolkit prefixes, and the
 * copy that the set-up script fetched beside the executable. */
const mok_nvrtc_place *mok_nvrtc_places(mok_arena *arena, size_t *count);

/* Opens the first library that has all functions and compiles for `arch` (90 of "sm_90a"). Else false, and why for each place. */
bool mok_nvrtc_open_first(mok_arena *arena, int arch, mok_nvrtc *out, const char **path, mok_buf *tried);
bool mok_nvrtc_open(const char *path, mok_nvrtc *out, const char **why);

/* "13.0 build 65be0d..." of an open library. The build id tells apart what the version does not. */
const char *mok_nvrtc_identity(mok_arena *arena, const mok_nvrtc *nvrtc);

#endif
