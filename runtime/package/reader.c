#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/file.h"
#include "../base/sha256.h"
/* Reads a regular file of the open folder; never through a link. limit: most bytes it may have. */
static mok_status read_member(mok_arena *arena, int folder, const char *place, const char *name, int64_t limit, mok_blob *out) {
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return errno == ELOOP ? MOK_ERROR(MOK_ERR_IO, "%s/%s is a link: a package holds its files itself", place, name)
                          : MOK_ERROR(MOK_ERR_IO, "cannot read %s/%s: %s", place, name, strerror(errno));
  struct stat info;
  mok_status status = MOK_OK;
  if (fstat(fd, &info) != 0) status = MOK_ERROR(MOK_ERR_IO, "cannot read %s/%s: %s", place, name, strerror(errno));
  else if (!S_ISREG(info.st_mode)) status = MOK_ERROR(MOK_ERR_IO, "%s/%s is no regular file", place, name);
  else if (info.st_size > limit)
    status = MOK_ERROR(MOK_ERR_IO, "%s/%s has %lld bytes, but may have at most %lld: changed, or no package of ours", place, name,
                       (long long)info.st_size, (long long)limit);
  if (status) {
    close(fd);
    return status;
  }
  char *data = mok_arena_alloc(arena, (size_t)info.st_size + 1);
  size_t size = 0;
  while (size < (size_t)info.st_size) {
    const ssize_t got = read(fd, data + size, (size_t)info.st_size - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = MOK_ERROR(MOK_ERR_IO, "cannot read %s/%s: %s", place, name, strerror(errno));
    if (got <= 0) break;
    size += (size_t)got;
  }
  close(fd);
  *out = (mok_blob){.name = mok_arena_strdup(arena, name), .data = data, .size = size};
  return status;
}

static mok_status check_file(const char *place, const mok_manifest_file *file, const mok_blob *blob) {
  if ((int64_t)blob->size != file->bytes)
    return MOK_ERROR(MOK_ERR_IO, "%s/%s has %zu bytes, but the manifest says %lld: truncated or changed; rebuild the package",
                     place, file->name, blob->size, (long long)file->bytes);
  char hex[65];
  mok_sha256_of(blob->data, blob->size, hex);
  if (strcmp(hex, file->sha256) == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "%s/%s does not match its checksum in the manifest: damaged or changed; rebuild the package",
                   place, file->name);
}

static const char *lookup(const mok_package *package, const char *key) { return mok_manifest_value(package->manifest, key); }

/* Where the files of a package come from. */
typedef struct source {
  const char *place;
  int folder;              /* -1: memory */
  const unsigned char *at; /* next byte in memory */
  const unsigned char *end;
} source;

static uint64_t little_endian(const unsigned char *bytes, int count) {
  uint64_t value = 0;
  while (count-- > 0) value = value << 8 | bytes[count];
  return value;
}

/* The next file in memory, which must be the one called `name`. */
static mok_status next_in_memory(source *from, const char *name, int64_t limit, mok_blob *out) {
  const size_t left = (size_t)(from->end - from->at), name_size = strlen(name);
  if (left < MOK_PACKAGE_HEAD_BYTES) return MOK_ERROR(MOK_ERR_IO, "%s ends before %s: truncated", from->place, name);
  const uint64_t name_bytes = little_endian(from->at, 4), bytes = little_endian(from->at + 4, 8);
  const unsigned char *text = from->at + MOK_PACKAGE_HEAD_BYTES;
  if (name_bytes != name_size || left - MOK_PACKAGE_HEAD_BYTES < name_size || memcmp(text, name, name_size) != 0)
    return MOK_ERROR(MOK_ERR_IO, "%s: the next file is not %s, which the manifest names", from->place, name);
  if (bytes > (uint64_t)limit)
    return MOK_ERROR(MOK_ERR_IO, "%s: %s has %llu bytes, but may have at most %lld", from->place, name, (unsigned long long)bytes,
                     (long long)limit);
  if (bytes > left - MOK_PACKAGE_HEAD_BYTES - name_size)
    return MOK_ERROR(MOK_ERR_IO, "%s ends inside %s: truncated", from->place, name);
  *out = (mok_blob){.name = name, .data = text + name_size, .size = (size_t)bytes};
  from->at = text + name_size + bytes;
  return MOK_OK;
}

static mok_status next_file(mok_arena *arena, source *from, const char *name, int64_t limit, mok_blob *out) {
  if (from->folder >= 0) return read_member(arena, from->folder, from->place, name, limit, out);
  return next_in_memory(from, name, limit, out);
}

static mok_status read_files(mok_arena *arena, source *from, mok_package *out) {
  mok_blob *files = MOK_NEW_ARRAY(arena, MOK_MAX_PACKAGE_FILES + 1, mok_blob);
  mok_manifest *manifest = MOK_NEW(arena, mok_manifest);
  MOK_TRY(next_file(arena, from, MOK_MANIFEST_NAME, MOK_MANIFEST_LIMIT, &files[0]));
  MOK_TRY(
      mok_manifest_parse(arena, mok_path_join(arena, from->place, MOK_MANIFEST_NAME), files[0].data, files[0].size, manifest));
  int64_t left = MOK_PACKAGE_BYTES_LIMIT;
  for (size_t i = 0; i < manifest->file_count; i++) {
    const mok_manifest_file *file = &manifest->files[i];
    if (file->bytes > left)
      return MOK_ERROR(MOK_ERR_IO, "%s: its files have more than %lld bytes together", from->place,
                       (long long)MOK_PACKAGE_BYTES_LIMIT);
    left -= file->bytes;
    MOK_TRY(next_file(arena, from, file->name, file->bytes, &files[i + 1]));
    MOK_TRY(check_file(from->place, file, &files[i + 1]));
  }
  *out = (mok_package){.files = files,
                       .file_count = manifest->file_count + 1,
                       .target = mok_manifest_value(manifest, "target"),
                       .lookup = lookup,
                       .manifest = manifest};
  const char *code = strcmp(out->target, "host") == 0 ? "kernel.host.so" : "forward.cubin";
  if (!mok_package_file(out, code))
    return MOK_ERROR(MOK_ERR_IO, "%s: a package for target %s has no %s", from->place, out->target, code);
  return MOK_OK;
}

mok_status mok_package_read(mok_arena *arena, const char *folder, mok_package *out) {
  memset(out, 0, sizeof *out);
  source from = {.place = folder, .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (from.folder < 0) return MOK_ERROR(MOK_ERR_IO, "cannot open package %s: %s", folder, strerror(errno));
  mok_status status = read_files(arena, &from, out);
  close(from.folder);
  if (status) memset(out, 0, sizeof *out);
  return status;
}

mok_status mok_package_read_memory(mok_arena *arena, const void *memory, size_t size, mok_package *out) {
  memset(out, 0, sizeof *out);
  static const char place[] = "<package in memory>";
  if (size < MOK_PACKAGE_MAGIC_BYTES || memcmp(memory, MOK_PACKAGE_MAGIC, MOK_PACKAGE_MAGIC_BYTES) != 0)
    return MOK_ERROR(MOK_ERR_IO, "%s does not start with '%s': no package, or one of another format", place, MOK_PACKAGE_MAGIC);
  source from = {.place = place,
                 .folder = -1,
                 .at = (const unsigned char *)memory + MOK_PACKAGE_MAGIC_BYTES,
                 .end = (const unsigned char *)memory + size};
  mok_status status = read_files(arena, &from, out);
  if (!status && from.at != from.end)
    status = MOK_ERROR(MOK_ERR_IO, "%s has %lld bytes behind its last file", place, (long long)(from.end - from.at));
  if (status) memset(out, 0, sizeof *out);
  return status;
}

const mok_blob *mok_package_file(const mok_package *package, const char *name) {
  for (size_t i = 0; i < package->file_count; i++)
    if (strcmp(package->files[i].name, name) == 0) return &package->files[i];
  return NULL;
}
