/* Packages: NAME.mok/ with manifest.txt first among equals. Format: design page 02, "The package". */
#ifndef MOK_PACKAGE_H
#define MOK_PACKAGE_H

#include "../jit/jit.h"

#define MOK_PACKAGE_FORMAT 1
#define MOK_MANIFEST_NAME "manifest.txt"

/* Writes the package to `folder` by rename. Overwrites only a folder that holds a manifest. */
MOK_MUST_USE mok_status mok_package_write(mok_arena *arena, const char *folder, const mok_plan *plan, const mok_target *target,
                                          const mok_sources *sources, const mok_image *image);

/* A package read back, every length and checksum verified before use; sizes bounded; no path inside it is followed. */
typedef struct mok_package {
  const mok_blob *files; /* manifest first */
  size_t file_count;
  const char *target;
  const char *(*lookup)(const struct mok_package *package, const char *key); /* value of a `key value` line, NULL if absent */
  const void *lines;     /* parsed manifest; private */
} mok_package;
MOK_MUST_USE mok_status mok_package_read(mok_arena *arena, const char *folder, mok_package *out);
const mok_blob *mok_package_file(const mok_package *package, const char *name); /* NULL if absent */

#endif
