#include "manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/sha256.h"

static const char magic[] = "mok-package ";

/* Keys that a package of this format always has. */
static const char *const required_keys[] = {
    "mokgen", "name", "gpu",     "target",          "args_abi",    "plan_sha256",
    "ranks",  "grid", "threads", "symmetric_bytes", "local_bytes", "shared_bytes_per_cta"};
/* Keys of which there may be several lines. */
static const char *const repeated_keys[] = {"region", "kernel", "map", "counter", "barrier", "wait"};

static bool is_one_of(const char *key, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(key, list[i]) == 0) return true;
  return false;
}

bool mok_is_package_name(const char *name) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  const size_t size = strlen(name);
  return size >= 1 && size <= MOK_MAX_FILE_NAME && name[0] != '.' && strspn(name, letters) == size &&
         strcmp(name, MOK_MANIFEST_NAME) != 0;
}

const char *mok_manifest_value(const mok_manifest *manifest, const char *key) {
  for (size_t i = 0; i < manifest->line_count; i++)
    if (strcmp(manifest->lines[i].key, key) == 0) return manifest->lines[i].value;
  return NULL;
}

static bool is_sha256(const char *text) { return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64; }

/* A count without sign, blanks or leading zeros; -1 otherwise. */
static int64_t parse_count(const char *text) {
  if (strspn(text, "0123456789") != strlen(text) || !text[0] || (text[0] == '0' && text[1])) return -1;
  errno = 0;
  const long long value = strtoll(text, NULL, 10);
  return errno ? -1 : (int64_t)value;
}

/* "NAME BYTES SHA256", cut in place. */
static mok_status parse_file(const char *place, int line, char *value, mok_manifest *out) {
  char *bytes = strchr(value, ' ');
  char *sum = bytes ? strchr(bytes + 1, ' ') : NULL;
  if (!sum) return MOK_ERROR(MOK_ERR_IO, "%s:%d: 'file %s' is not 'file NAME BYTES SHA256'", place, line, value);
  *bytes++ = *sum++ = '\0';
  mok_manifest_file file = {.name = value, .bytes = parse_count(bytes), .sha256 = sum};
  if (!mok_is_package_name(file.name))
    return MOK_ERROR(MOK_ERR_IO, "%s:%d: '%s' is no file name: a package has no folders and no paths", place, line, file.name);
  if (file.bytes < 0 || file.bytes > MOK_PACKAGE_BYTES_LIMIT)
    return MOK_ERROR(MOK_ERR_IO, "%s:%d: size '%s' of %s is no number from 0 to %lld", place, line, bytes, file.name,
                     (long long)MOK_PACKAGE_BYTES_LIMIT);
  if (!is_sha256(file.sha256))
    return MOK_ERROR(MOK_ERR_IO, "%s:%d: '%s' is no SHA-256 of 64 hex digits", place, line, file.sha256);
  for (size_t i = 0; i < out->file_count; i++)
    if (strcmp(out->files[i].name, file.name) == 0)
      return MOK_ERROR(MOK_ERR_IO, "%s:%d: second line for file %s", place, line, file.name);
  if (out->file_count == MOK_MAX_PACKAGE_FILES)
    return MOK_ERROR(MOK_ERR_IO, "%s:%d: more than %d files", place, line, MOK_MAX_PACKAGE_FILES);
  out->files[out->file_count++] = file;
  return MOK_OK;
}

static mok_status check_format(const char *place, const char *text) {
  if (strncmp(text, magic, sizeof magic - 1) != 0)
    return MOK_ERROR(MOK_ERR_IO, "%s: not the manifest of a package: the first line is not '%s%d'", place, magic,
                     MOK_PACKAGE_FORMAT);
  const char *number = text + sizeof magic - 1;
  const size_t digits = strspn(number, "0123456789");
  if (digits == 1 && number[0] == '0' + MOK_PACKAGE_FORMAT && number[1] == '\n') return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "%s: package format '%.*s', but mokgen %s reads format %d: rebuild with mokgen %s", place,
                   (int)strcspn(number, "\n") > 20 ? 20 : (int)strcspn(number, "\n"), number, MOKGEN_VERSION, MOK_PACKAGE_FORMAT,
                   MOKGEN_VERSION);
}

/* The last line holds the checksum of what is before it. Sets *body to the size of that. */
static mok_status check_end(const char *place, const char *text, size_t size, size_t *body) {
  static const char start[] = "\nend ";
  enum { END_BYTES = sizeof start - 2 + 64 + 1 }; /* "end ", digits, newline */
  if (size <= END_BYTES || text[size - 1] != '\n' || strncmp(text + size - END_BYTES - 1, start, sizeof start - 1) != 0)
    return MOK_ERROR(MOK_ERR_IO, "%s is truncated: the last line is not 'end SHA256'", place);
  *body = size - END_BYTES;
  char hex[65];
  mok_sha256_of(text, *body, hex);
  if (strncmp(hex, text + *body + 4, 64) != 0) return MOK_ERROR(MOK_ERR_IO, "%s is damaged: its checksum does not match", place);
  return MOK_OK;
}

static mok_status parse_line(const char *place, int number, char *line, mok_manifest *out) {
  char *value = strchr(line, ' ');
  if (!value || value == line || !value[1])
    return MOK_ERROR(MOK_ERR_IO, "%s:%d: '%.80s' is not 'key value'", place, number, line);
  *value++ = '\0';
  if (strcmp(line, "end") == 0) return MOK_ERROR(MOK_ERR_IO, "%s:%d: 'end' before the end", place, number);
  if (strcmp(line, "file") == 0) return parse_file(place, number, value, out);
  if (!is_one_of(line, repeated_keys, sizeof repeated_keys / sizeof repeated_keys[0]) && mok_manifest_value(out, line))
    return MOK_ERROR(MOK_ERR_IO, "%s:%d: second line for '%s'", place, number, line);
  out->lines[out->line_count++] = (mok_manifest_line){.key = line, .value = value};
  return MOK_OK;
}

mok_status mok_manifest_parse(mok_arena *arena, const char *place, const char *text, size_t size, mok_manifest *out) {
  memset(out, 0, sizeof *out);
  MOK_TRY(check_format(place, text));
  size_t body = 0;
  MOK_TRY(check_end(place, text, size, &body));
  size_t lines = 0;
  for (size_t i = 0; i < body; i++) {
    if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
      return MOK_ERROR(MOK_ERR_IO, "%s: byte 0x%02x at offset %zu is no printable character", place, (unsigned char)text[i], i);
    lines += text[i] == '\n';
  }
  out->lines = MOK_NEW_ARRAY(arena, lines, mok_manifest_line);
  char *at = mok_arena_strndup(arena, text, body);
  int number = 0;
  while (*at) {
    char *end = strchr(at, '\n');
    *end = '\0'; /* the body ends with a newline: check_end */
    if (++number > 1) MOK_TRY(parse_line(place, number, at, out));
    at = end + 1;
  }
  for (size_t i = 0; i < sizeof required_keys / sizeof required_keys[0]; i++)
    if (!mok_manifest_value(out, required_keys[i])) return MOK_ERROR(MOK_ERR_IO, "%s has no line '%s'", place, required_keys[i]);
  return MOK_OK;
}
