/* manifest.txt: what is in a package, and all that the runtime reads.
 *
 *   mok-package 1
 *   mokgen 0.1.0                         `key value` lines, each key once
 *   ...
 *   region heap x 1024 117440512         a region of the heap or of the local workspace: offset and bytes
 *   map up.gate bf16 weight gate 2048 7168 box 128 64 swizzle 128 promotion 256     a tensor map: runtime/cuda/tensor_map.h
 *   counter 12 COUNTER_H_READY           names of an abort record's numbers: runtime/names.h
 *   file forward.cubin 24744 <sha256>
 *   kernel forward registers 168 spill_bytes 0 stack_bytes 0 shared_bytes 0      (static shared memory)
 *   end <sha256 of all bytes before this line>
 */
#ifndef MOK_MANIFEST_H
#define MOK_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/buf.h"
#include "../base/status.h"

enum {
  MOK_MANIFEST_LIMIT = 1 << 20, /* bytes of a manifest */
  MOK_MAX_PACKAGE_FILES = 32,
  MOK_MAX_FILE_NAME = 64
};
#define MOK_PACKAGE_FORMAT 1
#define MOK_MANIFEST_NAME "manifest.txt"
#define MOK_PACKAGE_BYTES_LIMIT (INT64_C(1) << 30) /* of all files together */

typedef struct mok_manifest_line {
  const char *key, *value;
} mok_manifest_line;

typedef struct mok_manifest_file {
  const char *name;
  int64_t bytes;
  const char *sha256;
} mok_manifest_file;

typedef struct mok_manifest {
  mok_manifest_line *lines; /* all but file and end lines */
  size_t line_count;
  mok_manifest_file files[MOK_MAX_PACKAGE_FILES];
  size_t file_count;
} mok_manifest;

/* A name that can stand in a package: letters, digits, '.', '_', '-', no '.' in front, and not the manifest's. */
bool mok_is_package_name(const char *name);

/* Parses and checks a manifest; `place` names it in messages. Values of plain keys are left to who looks them up. */
MOK_MUST_USE mok_status mok_manifest_parse(mok_arena *arena, const char *place, const char *text, size_t size, mok_manifest *out);
const char *mok_manifest_value(const mok_manifest *manifest, const char *key); /* NULL if absent */

#endif
