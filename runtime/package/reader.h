/* A package read back: from its folder, or from memory. Format: manifest.h. */
#ifndef MOK_PACKAGE_READER_H
#define MOK_PACKAGE_READER_H

#include <stdint.h>

#include "../base/buf.h"
#include "manifest.h"

/* In memory: this magic, then file after file, the manifest first and the others in its order: u32 length of the name, u64 bytes
 * of the file (both little endian), name, file. */
#define MOK_PACKAGE_MAGIC "mokpack1"
enum { MOK_PACKAGE_MAGIC_BYTES = 8, MOK_PACKAGE_HEAD_BYTES = 12 };

typedef struct mok_package {
  const mok_blob *files; /* manifest first */
  size_t file_count;
  const char *target;
  const char *(*lookup)(const struct mok_package *package, const char *key); /* value of a `key value` line, NULL if absent */
  const mok_manifest *manifest;
} mok_package;

/* Every length and checksum is verified before use; sizes are bounded; no path inside a package is followed. Errors are
 * MOK_ERR_IO. `memory` must outlive *out. */
MOK_MUST_USE mok_status mok_package_read(mok_arena *arena, const char *folder, mok_package *out);
MOK_MUST_USE mok_status mok_package_read_memory(mok_arena *arena, const void *memory, size_t size, mok_package *out);

const mok_blob *mok_package_file(const mok_package *package, const char *name); /* NULL if absent */

#endif
