/* Kernel cache: one file per kernel, named by its key, in one folder.
 *
 *   mokgen-cache 2
 *   sha256 <of all bytes after this line>
 *   key <its name>                       a good entry under another's name is none
 *   what sm_90a Megakernel forward of kimi-k2 on 2 x H200
 *   registers 168 0 0 0                  registers, spill, stack and static shared bytes
 *   sizes 24744 0 412                    code, PTX, log
 *   <code><PTX><log>
 *
 * Files appear by rename, so a reader sees a whole entry or none; when two processes build the same kernel, both write the same
 * bytes. Code that somebody else has put there is never loaded: whose file it is counts, and the folder may be shared. The time
 * of last use is the file's modification time; one in the future is a clock's fault and counts as long ago. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "compile.h"

static const char magic[] = "mokgen-cache 2\n";
static const char temporary_prefix[] = ".mokgen-";

enum {
  KEY_DIGITS = 64,
  ENTRY_LIMIT = 256 << 20,
  STALE_S = 3600, /* older: a temporary of a process that was killed; as far in the future: written by a wrong clock */
};
static const int64_t default_bound = INT64_C(1) << 30; /* bytes of all entries */

static void note(bool verbose, const char *what, mok_status status) {
  if (verbose) fprintf(stderr, "mokgen: note: kernel cache: %s: %s\n", what, mok_status_text(status));
  mok_status_free(status);
}

const char *mok_cache_folder(mok_arena *arena) {
  const char *own = getenv("MOKGEN_CACHE_DIR");
  if (own && own[0]) return mok_arena_strdup(arena, own);
  const char *shared = getenv("XDG_CACHE_HOME");
  if (shared && shared[0] == '/') return mok_path_join(arena, shared, "mokgen"); /* the standard: a relative one is invalid */
  const char *home = getenv("HOME");
  if (home && home[0] == '/') return mok_path_join(arena, home, ".cache/mokgen");
  return NULL;
}

mok_status mok_cache_bound(int64_t *bytes) {
  *bytes = default_bound;
  const char *text = getenv("MOKGEN_CACHE_BYTES");
  if (!text || !text[0]) return MOK_OK;
  char *end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  const bool digits_first = text[0] >= '0' && text[0] <= '9'; /* strtoll takes spaces and signs too */
  if (!digits_first || errno || (*end && (!shift || end[1])) || value > (INT64_MAX >> shift))
    return MOK_ERROR(MOK_ERR_USAGE,
                     "MOKGEN_CACHE_BYTES is '%s'; it must be a number of bytes, or of K, M or G of them, like 512M", text);
  *bytes = (int64_t)value << shift;
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ key */

static void field(mok_sha256 *sha, const char *text) { mok_sha256_field(sha, text, strlen(text)); }

void mok_cache_key(const mok_compilation *c, char key[65]) {
  mok_sha256 sha;
  mok_sha256_init(&sha);
  field(&sha, magic);
  field(&sha, MOKGEN_VERSION);
  field(&sha, c->target->name);
  field(&sha, c->identity);
  field(&sha, c->want_ptx ? "ptx" : "code");
  field(&sha, c->kernel.name);
  mok_sha256_field(&sha, c->kernel.data, c->kernel.size);
  char count[32];
  snprintf(count, sizeof count, "%zu %zu", c->argument_count, c->header_count);
  field(&sha, count);
  for (size_t i = 0; i < c->argument_count; i++) field(&sha, c->arguments[i]);
  for (size_t i = 0; i < c->header_count; i++) {
    field(&sha, c->headers[i].name);
    mok_sha256_field(&sha, c->headers[i].data, c->headers[i].size);
  }
  uint8_t digest[32];
  mok_sha256_final(&sha, digest);
  mok_sha256_hex(digest, key);
}

/* ------------------------------------------------------------------------------------------------ one entry */

/* Takes the line "<word> <rest>\n" at *at. NULL if it is not there. The rest is ended by a NUL in place. */
static char *take_line(char **at, const char *word) {
  const size_t size = strlen(word);
  if (strncmp(*at, word, size) != 0 || (*at)[size] != ' ') return NULL;
  char *rest = *at + size + 1;
  char *end = strchr(rest, '\n');
  if (!end) return NULL;
  *end = '\0';
  *at = end + 1;
  return rest;
}

/* Parses the entry of `key` in place. False: damaged. `what` and the blobs point into the text. */
static bool parse_entry(char *text, size_t size, const char *key, const char **what, mok_image *image) {
  char *at = text;
  if (size < sizeof magic || memcmp(at, magic, sizeof magic - 1) != 0) return false;
  at += sizeof magic - 1;
  const char *sum = take_line(&at, "sha256");
  if (!sum) return false;
  char hex[65];
  mok_sha256_of(at, size - (size_t)(at - text), hex);
  if (strcmp(hex, sum) != 0) return false;
  const char *own_key = take_line(&at, "key");
  if (!own_key || strcmp(own_key, key) != 0) return false;
  *what = take_line(&at, "what");
  const char *registers = take_line(&at, "registers");
  const char *sizes = take_line(&at, "sizes");
  int64_t code = 0, ptx = 0, log = 0;
  if (!*what || !registers || !sizes ||
      sscanf(registers, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &image->registers, &image->spill_bytes,
             &image->stack_bytes, &image->shared_bytes) != 4 ||
      sscanf(sizes, "%" SCNd64 " %" SCNd64 " %" SCNd64, &code, &ptx, &log) != 3)
    return false;
  const int64_t left = (int64_t)(size - (size_t)(at - text));
  if (code <= 0 || ptx < 0 || log < 0 || code > left || ptx > left || log > left || code + ptx + log != left) return false;
  image->code = (mok_blob){.data = at, .size = (size_t)code};
  image->ptx = (mok_blob){.data = at + code, .size = (size_t)ptx};
  image->log = at + code + ptx; /* the reader of the file has put a NUL after it */
  return true;
}

static const char *entry_path(mok_arena *arena, const char *folder, const char *key) { return mok_path_join(arena, folder, key); }

static bool read_entry(mok_arena *arena, const char *path, const char **what, mok_image *image, int64_t *bytes,
                       mok_status *status) {
  mok_blob file;
  *status = mok_file_read_own(arena, path, ENTRY_LIMIT, &file);
  if (*status) return false;
  *bytes = (int64_t)file.size;
  return parse_entry((char *)(uintptr_t)file.data, file.size, mok_path_base(path), what, image);
}

bool mok_cache_load(mok_arena *arena, const char *key, bool verbose, mok_image *out) {
  const char *folder = mok_cache_folder(arena);
  if (!folder) return false;
  const char *path = entry_path(arena, folder, key);
  if (!mok_file_exists(path)) return false;
  const char *what = NULL;
  mok_image image = *out;
  int64_t bytes = 0;
  mok_status status = MOK_OK;
  if (read_entry(arena, path, &what, &image, &bytes, &status)) {
    *out = image;
    utimensat(AT_FDCWD, path, NULL, 0); /* last use; a read-only cache keeps the old time */
    return true;
  }
  if (!status) {
    status = MOK_ERROR(MOK_ERR_IO, "%s is damaged and will be rebuilt", path);
    unlink(path); /* fails on a read-only cache: then the next run notes it again */
  }
  note(verbose, "reading", status);
  return false;
}

/* ------------------------------------------------------------------------------------------------ all entries */

typedef struct found {
  char name[KEY_DIGITS + 1];
  int64_t bytes;
  struct timespec used;
} found;

static bool is_key(const char *name) { return strlen(name) == KEY_DIGITS && strspn(name, "0123456789abcdef") == KEY_DIGITS; }

/* Regular files of the folder whose name is a key; none if there is no folder. Removes temporaries that nobody owns. */
static mok_status scan(mok_arena *arena, const char *folder, found **out, size_t *count) {
  *out = NULL;
  *count = 0;
  DIR *dir = opendir(folder);
  if (!dir)
    return errno == ENOENT ? MOK_OK : MOK_ERROR(MOK_ERR_IO, "cannot read the kernel cache %s: %s", folder, strerror(errno));
  const time_t now = time(NULL);
  size_t capacity = 0;
  struct dirent *entry;
  while ((entry = readdir(dir))) {
    const bool temporary = strncmp(entry->d_name, temporary_prefix, sizeof temporary_prefix - 1) == 0;
    struct stat info;
    if (!temporary && !is_key(entry->d_name)) continue;
    if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
    if (temporary) {
      if (now - info.st_mtime > STALE_S || info.st_mtime - now > STALE_S) unlinkat(dirfd(dir), entry->d_name, 0);
      continue;
    }
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      found *grown = MOK_NEW_ARRAY(arena, capacity, found);
      if (*count) memcpy(grown, *out, *count * sizeof **out);
      *out = grown;
    }
    found *f = &(*out)[(*count)++];
    memcpy(f->name, entry->d_name, sizeof f->name);
    f->bytes = info.st_size;
    f->used = info.st_mtim;
  }
  closedir(dir);
  return MOK_OK;
}

static int by_key(const void *a, const void *b) { return strcmp(((const found *)a)->name, ((const found *)b)->name); }

static int least_recent_first(const void *a, const void *b) {
  const struct timespec *x = &((const found *)a)->used, *y = &((const found *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  if (x->tv_nsec != y->tv_nsec) return x->tv_nsec < y->tv_nsec ? -1 : 1;
  return by_key(a, b);
}

/* Removes entries until all fit the bound; never `key`, which has just been written. */
static void make_room(mok_arena *arena, const char *folder, const char *key, int64_t bound) {
  found *entries = NULL;
  size_t count = 0;
  mok_status status = scan(arena, folder, &entries, &count);
  int64_t total = 0;
  const time_t now = time(NULL);
  for (size_t i = 0; i < count; i++) {
    total += entries[i].bytes;
    if (entries[i].used.tv_sec - now > STALE_S) entries[i].used = (struct timespec){0};
  }
  if (count) qsort(entries, count, sizeof entries[0], least_recent_first);
  for (size_t i = 0; i < count && total > bound; i++) {
    if (strcmp(entries[i].name, key) == 0) continue;
    if (unlink(entry_path(arena, folder, entries[i].name)) == 0 || errno == ENOENT) total -= entries[i].bytes;
  }
  mok_status_free(status);
}

/* A pipe in an entry's place would be written to, and wait for a reader for ever; a link, through to wherever it points. */
static mok_status clear_the_way(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0 || S_ISREG(info.st_mode)) return MOK_OK;
  if ((S_ISDIR(info.st_mode) ? rmdir(path) : unlink(path)) == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "%s is no regular file and cannot be removed: %s", path, strerror(errno));
}

void mok_cache_store(mok_arena *arena, const char *key, const char *what, int64_t bound, bool verbose, const mok_image *image) {
  const char *folder = mok_cache_folder(arena);
  if (!folder) {
    note(verbose, "not used", MOK_ERROR(MOK_ERR_IO, "none of MOKGEN_CACHE_DIR, XDG_CACHE_HOME and HOME is set"));
    return;
  }
  mok_buf body = mok_buf_make(arena);
  mok_buf_printf(&body, "key %s\n", key);
  mok_buf_printf(&body, "what %s\n", what);
  mok_buf_printf(&body, "registers %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", image->registers, image->spill_bytes,
                 image->stack_bytes, image->shared_bytes);
  mok_buf_printf(&body, "sizes %zu %zu %zu\n", image->code.size, image->ptx.size, strlen(image->log));
  mok_buf_write(&body, image->code.data, image->code.size);
  mok_buf_write(&body, image->ptx.data, image->ptx.size);
  mok_buf_puts(&body, image->log);
  char hex[65];
  mok_sha256_of(body.data, body.size, hex);
  mok_buf text = mok_buf_make(arena);
  mok_buf_printf(&text, "%ssha256 %s\n", magic, hex);
  mok_buf_write(&text, body.data, body.size);

  mok_status status = mok_folder_create_all(folder);
  const char *path = entry_path(arena, folder, key);
  if (!status) status = clear_the_way(path);
  if (!status) status = mok_file_write(path, text.data, text.size);
  if (status) {
    note(verbose, "the kernel is not kept", status);
    return;
  }
  make_room(arena, folder, key, bound);
}

mok_status mok_cache_list(mok_arena *arena, mok_cache_entry **entries, size_t *count) {
  *entries = NULL;
  *count = 0;
  const char *folder = mok_cache_folder(arena);
  if (!folder) return MOK_OK;
  found *all = NULL;
  MOK_TRY(scan(arena, folder, &all, count));
  if (!*count) return MOK_OK;
  qsort(all, *count, sizeof all[0], by_key);
  *entries = MOK_NEW_ARRAY(arena, *count, mok_cache_entry);
  const time_t now = time(NULL);
  for (size_t i = 0; i < *count; i++) {
    mok_cache_entry *e = &(*entries)[i];
    const char *what = NULL;
    mok_image image = {0};
    int64_t bytes = all[i].bytes;
    mok_status status = MOK_OK;
    /* Contents are read to tell damage: in an arena of its own, for a full cache is larger than what a list should hold. */
    mok_arena *scratch = mok_arena_create();
    e->damaged = !read_entry(scratch, entry_path(arena, folder, all[i].name), &what, &image, &bytes, &status);
    e->what = mok_arena_strdup(arena, e->damaged ? "" : what);
    mok_arena_destroy(scratch);
    mok_status_free(status);
    e->key = mok_arena_strdup(arena, all[i].name);
    e->bytes = all[i].bytes;
    e->age_s = now > all[i].used.tv_sec ? (int64_t)(now - all[i].used.tv_sec) : 0;
  }
  return MOK_OK;
}

mok_status mok_cache_clear(mok_arena *arena, size_t *removed, int64_t *bytes) {
  *removed = 0;
  *bytes = 0;
  const char *folder = mok_cache_folder(arena);
  if (!folder) return MOK_OK;
  found *all = NULL;
  size_t count = 0;
  MOK_TRY(scan(arena, folder, &all, &count));
  for (size_t i = 0; i < count; i++) {
    const char *path = entry_path(arena, folder, all[i].name);
    if (unlink(path) != 0) {
      if (errno == ENOENT) continue; /* somebody else cleared it */
      return MOK_ERROR(MOK_ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    }
    ++*removed;
    *bytes += all[i].bytes;
  }
  return MOK_OK;
}
