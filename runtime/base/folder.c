#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "file_impl.h"
#include "temp.h"

mok_status mok_parent_of(const char *path, char folder[MOK_TEMP_PATH]) {
  size_t length = (size_t)(mok_path_base(path) - path);
  if (length >= MOK_TEMP_PATH) return MOK_ERROR(MOK_ERR_IO, "path too long: %.80s...", path);
  while (length > 1 && path[length - 1] == '/') length--;
  if (length == 0) {
    memcpy(folder, ".", 2);
  } else {
    memcpy(folder, path, length);
    folder[length == 1 && path[0] == '/' ? 0 : length] = 0;
    if (!folder[0]) memcpy(folder, "/.", 3); /* so that "<folder>/<name>" holds for the root too */
  }
  return MOK_OK;
}

mok_status mok_temp_folder_create(mok_arena *arena, const char *parent, const char **out) {
  *out = NULL;
  if (!parent) parent = getenv("TMPDIR");
  if (!parent || !parent[0]) parent = "/tmp";
  char path[MOK_TEMP_PATH];
  MOK_TRY(mok_temp_register(parent, path));
  if (mkdir(path, 0700) != 0) {
    mok_status status = MOK_ERROR(MOK_ERR_IO, "cannot create a folder in %s: %s", parent, strerror(errno));
    mok_temp_forget(path);
    return status;
  }
  *out = mok_arena_strdup(arena, path);
  return MOK_OK;
}

void mok_temp_folder_remove(const char *path) {
  if (!path) return;
  mok_status_free(mok_folder_remove_all(path)); /* nothing a caller could do about it */
  mok_temp_forget(path);
}

mok_status mok_folder_create_all(const char *path) {
  char part[MOK_TEMP_PATH];
  size_t length = strlen(path);
  if (length >= sizeof part) return MOK_ERROR(MOK_ERR_IO, "path too long: %.80s...", path);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != 0) continue;
    char end = part[i];
    part[i] = 0;
    if (mkdir(part, 0700) != 0) {
      int reason = errno; /* on a read-only file system an existing folder may give EROFS */
      if (!mok_folder_exists(part)) return MOK_ERROR(MOK_ERR_IO, "cannot create folder %s: %s", part, strerror(reason));
    }
    part[i] = end;
  }
  return MOK_OK;
}

static int remove_tree(int parent, const char *name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder) {
    if (fd >= 0) close(fd);
    return -1;
  }
  int failed = 0, reason = 0;
  const struct dirent *entry;
  while (!failed && (entry = readdir(folder))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    failed = remove_tree(fd, entry->d_name);
    reason = errno;
  }
  closedir(folder);
  if (failed) {
    errno = reason;
    return -1;
  }
  return unlinkat(parent, name, AT_REMOVEDIR);
}

mok_status mok_folder_remove_all(const char *path) {
  if (remove_tree(AT_FDCWD, path) == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "cannot remove %s: %s", path, strerror(errno));
}

/* What a folder is to be: its files, of which `marker` says in every folder of this kind what it is. */
typedef struct contents {
  const mok_blob *files;
  size_t count;
  const char *marker;
} contents;

enum {
  MARKER_LIMIT = 1 << 20,
  TRIES = 100, /* several processes may write the same folder at once; each try lost is one that another won */
};

/* Whether the text of an old marker begins with the word the new one begins with. */
static bool same_kind(const contents *wanted, const mok_blob *old) {
  for (size_t i = 0; i < wanted->count; i++) {
    const mok_blob *file = &wanted->files[i];
    if (strcmp(file->name, wanted->marker) != 0) continue;
    const char *was = old->data, *is = file->data;
    size_t word = 0;
    while (word < file->size && is[word] != ' ' && is[word] != '\n') word++;
    return word > 0 && old->size > word && memcmp(was, is, word) == 0 && (was[word] == ' ' || was[word] == '\n');
  }
  return false;
}

/* Whether the marker has a line "file NAME" or "file NAME ...". */
static bool lists(const mok_blob *marker, const char *name) {
  const size_t length = strlen(name);
  for (const char *line = marker->data; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, "file ", 5) == 0 && strncmp(line + 5, name, length) == 0 && strchr(" \n", line[5 + length])) return true;
  }
  return false;
}

/* Looks for an entry that is no regular file, or that the marker does not list. */
static bool find_foreign(DIR *folder, const contents *wanted, const mok_blob *marker, char name[NAME_MAX + 1]) {
  const struct dirent *entry;
  while ((entry = readdir(folder))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    struct stat info;
    const bool regular = fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    if (regular && (strcmp(entry->d_name, wanted->marker) == 0 || lists(marker, entry->d_name))) continue;
    snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
    return true;
  }
  return false;
}

/* MOK_OK if what stands at `path` may be replaced: a folder of the same kind with no file but those that its marker lists. */
static mok_status check_replaceable(const char *path, const contents *wanted) {
  DIR *folder = opendir(path);
  if (!folder && errno == ENOTDIR) return MOK_ERROR(MOK_ERR_IO, "%s exists and is not a folder: left untouched", path);
  if (!folder) return MOK_ERROR(MOK_ERR_IO, "%s exists and cannot be read (%s): left untouched", path, strerror(errno));
  mok_arena *arena = mok_arena_create();
  struct stat info;
  mok_blob marker;
  char name[NAME_MAX + 1];
  mok_status status = MOK_OK, unread = MOK_OK;
  if (fstatat(dirfd(folder), wanted->marker, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
      (unread = mok_file_read(arena, mok_path_join(arena, path, wanted->marker), MARKER_LIMIT, &marker)) ||
      !same_kind(wanted, &marker)) {
    status = MOK_ERROR(MOK_ERR_IO,
                       "%s exists and holds no %s of mokgen's, so mokgen did not make it: left untouched; name another folder",
                       path, wanted->marker);
  } else if (find_foreign(folder, wanted, &marker, name)) {
    status = MOK_ERROR(MOK_ERR_IO, "%s holds %s, which mokgen did not make: left untouched", path, name);
  }
  mok_status_free(unread);
  mok_arena_destroy(arena);
  closedir(folder);
  return status;
}

static mok_status write_files(const char *temp, const char *path, const mok_blob *files, size_t count) {
  int folder = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  mok_status status = MOK_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const char *name = files[i].name;
    char shown[MOK_TEMP_PATH + NAME_MAX + 2];
    snprintf(shown, sizeof shown, "%s/%s", path, name);
    if (!name[0] || name[0] == '.' || strchr(name, '/')) {
      status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: not a plain file name", shown);
      break;
    }
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
      status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", shown, strerror(errno));
      break;
    }
    status = mok_fd_sync_close(fd, shown, mok_fd_write(fd, shown, files[i].data, files[i].size));
    if (!status) status = mok_interrupt_check();
  }
  return mok_fd_sync_close(folder, path, status);
}

static bool is_taken(int error) { return error == EEXIST || error == ENOTEMPTY || error == ENOTDIR; }

/* The same on a file system without exchange: a rename each way, undone if the second fails. */
static int exchange_by_renames(const char *temp, const char *path) {
  char aside[MOK_TEMP_PATH + 4];
  snprintf(aside, sizeof aside, "%s.old", temp);
  if (rename(path, aside) != 0) return -1;
  if (rename(temp, path) != 0) {
    /* Taken: another process used the gap, and its folder is what has to be looked at now, or the old one again if theirs has
     * moved aside meanwhile. */
    const int reason = is_taken(errno) ? ENOENT : errno;
    if (rename(aside, path) != 0 && is_taken(errno)) (void)mok_temp_remove_flat(aside); /* replaced, by theirs */
    errno = reason;
    return -1;
  }
  if (rename(aside, temp) != 0) (void)mok_temp_remove_flat(aside);
  return 0;
}

/* Puts `temp` at `path`; what stood there ends up at `temp`, or nowhere. */
static int exchange(const char *temp, const char *path) {
  if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return -1;
  return exchange_by_renames(temp, path);
}

/* *moved: nobody else put something at `path`, or took it away, since it was looked at; false: look again. */
static mok_status put_in_place(const char *temp, const char *path, bool replace, bool *moved) {
  /* No signal may end the process between the exchange and the removal of the old folder. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  mok_status status = MOK_OK;
  *moved = true;
  if ((replace ? exchange(temp, path) : rename(temp, path)) != 0) {
    *moved = replace ? errno != ENOENT : errno != EEXIST && errno != ENOTEMPTY;
    if (*moved) status = MOK_ERROR(MOK_ERR_IO, "cannot %s %s: %s", replace ? "replace" : "write", path, strerror(errno));
  } else if (replace && mok_temp_remove_flat(temp) != 0) {
    status = MOK_ERROR(MOK_ERR_IO, "%s is written, but the old one, now %s, cannot be removed: %s", path, temp, strerror(errno));
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

static bool same_folder(const char *path, const struct stat *before) {
  struct stat now;
  return stat(path, &now) == 0 && now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
         now.st_ctim.tv_sec == before->st_ctim.tv_sec && now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/* Whether something stands at `path`, which is then something that may be replaced. */
static mok_status look(const char *path, const contents *wanted, bool *replace) {
  for (int i = 0;; i++) {
    struct stat before = {0}, entry;
    (void)stat(path, &before);
    *replace = lstat(path, &entry) == 0;
    if (!*replace) return errno == ENOENT ? MOK_OK : MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    mok_status status = check_replaceable(path, wanted);
    if (!status || same_folder(path, &before) || i == TRIES) return status;
    mok_status_free(status); /* it was looked into while another process replaced it */
  }
}

static mok_status folder_write(const char *path, bool replace, const contents *wanted) {
  char parent[MOK_TEMP_PATH], temp[MOK_TEMP_PATH];
  MOK_TRY(mok_parent_of(path, parent));
  MOK_TRY(mok_temp_register(parent, temp));
  mok_status status = MOK_OK;
  if (mkdir(temp, 0777) != 0) {
    status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  } else {
    status = write_files(temp, path, wanted->files, wanted->count);
    bool moved = false;
    for (int i = 0; i < TRIES && !status && !moved; i++) {
      if (i > 0) status = look(path, wanted, &replace);
      if (!status) status = put_in_place(temp, path, replace, &moved);
    }
    if (!status && !moved) status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: other processes keep replacing it", path);
    if (status) (void)mok_temp_remove_flat(temp);
  }
  mok_temp_forget(temp);
  return status;
}

/* What mok_folder_write will write for `path`: the folder behind a link is replaced, not the link. */
static mok_status place(const char *path, const contents *wanted, char real[MOK_TEMP_PATH], bool *replace) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  if (length == 0) return MOK_ERROR(MOK_ERR_IO, "the name of the folder to write is empty");
  if (length >= MOK_TEMP_PATH) return MOK_ERROR(MOK_ERR_IO, "path too long: %.80s...", path);
  memcpy(real, path, length);
  real[length] = 0;
  MOK_TRY(look(real, wanted, replace));
  if (!*replace) return MOK_OK;
  char *behind = realpath(real, NULL);
  if (!behind && errno == ENOENT) return MOK_OK; /* another process is replacing it; folder_write looks again */
  if (!behind || strlen(behind) >= MOK_TEMP_PATH) {
    mok_status status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", real, behind ? "path too long" : strerror(errno));
    free(behind);
    return status;
  }
  strcpy(real, behind);
  free(behind);
  return MOK_OK;
}

mok_status mok_folder_write(const char *path, const mok_blob *files, size_t count, const char *marker) {
  const contents wanted = {files, count, marker};
  char real[MOK_TEMP_PATH];
  bool replace;
  MOK_TRY(place(path, &wanted, real, &replace));
  return folder_write(real, replace, &wanted);
}

mok_status mok_folder_check(const char *path, const char *marker, const char *word) {
  const mok_blob file = {marker, word, strlen(word)};
  const contents wanted = {&file, 1, marker};
  char real[MOK_TEMP_PATH], parent[MOK_TEMP_PATH], temp[MOK_TEMP_PATH];
  bool replace;
  MOK_TRY(place(path, &wanted, real, &replace));
  MOK_TRY(mok_parent_of(real, parent));
  MOK_TRY(mok_temp_register(parent, temp));
  mok_status status = MOK_OK;
  if (mkdir(temp, 0700) != 0) status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  else (void)rmdir(temp);
  mok_temp_forget(temp);
  return status;
}
