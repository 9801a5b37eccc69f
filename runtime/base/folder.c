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

/* MOK_OK if what stands at `path` may be replaced. */
static mok_status check_replaceable(const char *path, const char *marker) {
  DIR *folder = opendir(path);
  if (!folder) {
    return MOK_ERROR(MOK_ERR_IO, "%s exists and %s: left untouched", path,
                     errno == ENOTDIR ? "is not a folder" : strerror(errno));
  }
  bool marked = false;
  const char *other = NULL;
  char name[NAME_MAX + 1];
  const struct dirent *entry;
  while ((entry = readdir(folder))) {
    struct stat info;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    bool regular = fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    if (regular && strcmp(entry->d_name, marker) == 0) marked = true;
    if (!regular && !other) {
      snprintf(name, sizeof name, "%s", entry->d_name);
      other = name;
    }
  }
  closedir(folder);
  if (!marked) {
    return MOK_ERROR(MOK_ERR_IO, "%s exists and holds no %s, so mokgen did not make it: left untouched; name another folder",
                     path, marker);
  }
  if (other) return MOK_ERROR(MOK_ERR_IO, "%s holds %s, which mokgen did not make: left untouched", path, other);
  return MOK_OK;
}

static mok_status write_files(const char *temp, const char *path, const mok_blob *files, size_t count) {
  int folder = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  mok_status status = MOK_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const char *name = files[i].name;
    char shown[MOK_TEMP_PATH];
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

/* Puts `temp` at `path`; what stood there ends up at `temp`. */
static int exchange(const char *temp, const char *path) {
  if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return -1;
  /* A file system without exchange: two renames, undone if the second fails. */
  char aside[MOK_TEMP_PATH + 4];
  snprintf(aside, sizeof aside, "%s.old", temp);
  if (rename(path, aside) != 0) return -1;
  if (rename(temp, path) != 0) {
    int reason = errno;
    (void)rename(aside, path);
    errno = reason;
    return -1;
  }
  return rename(aside, temp);
}

static mok_status put_in_place(const char *temp, const char *path, bool replace) {
  /* No signal may end the process between the exchange and the removal of the old folder. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  mok_status status = MOK_OK;
  if (replace) {
    if (exchange(temp, path) != 0) status = MOK_ERROR(MOK_ERR_IO, "cannot replace %s: %s", path, strerror(errno));
    else if (mok_temp_remove_flat(temp) != 0) {
      status =
          MOK_ERROR(MOK_ERR_IO, "%s is written, but the old one, now %s, cannot be removed: %s", path, temp, strerror(errno));
    }
  } else if (rename(temp, path) != 0) {
    status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

static mok_status folder_write(const char *path, bool replace, const mok_blob *files, size_t count) {
  char parent[MOK_TEMP_PATH], temp[MOK_TEMP_PATH];
  MOK_TRY(mok_parent_of(path, parent));
  MOK_TRY(mok_temp_register(parent, temp));
  mok_status status = MOK_OK;
  if (mkdir(temp, 0777) != 0) {
    status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  } else {
    status = write_files(temp, path, files, count);
    if (!status) status = put_in_place(temp, path, replace);
    if (status) (void)mok_temp_remove_flat(temp);
  }
  mok_temp_forget(temp);
  return status;
}

mok_status mok_folder_write(const char *path, const mok_blob *files, size_t count, const char *marker) {
  char name[MOK_TEMP_PATH];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  if (length == 0) return MOK_ERROR(MOK_ERR_IO, "the name of the folder to write is empty");
  if (length >= sizeof name) return MOK_ERROR(MOK_ERR_IO, "path too long: %.80s...", path);
  memcpy(name, path, length);
  name[length] = 0;
  struct stat info;
  if (lstat(name, &info) != 0) {
    if (errno != ENOENT) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", name, strerror(errno));
    return folder_write(name, false, files, count);
  }
  MOK_TRY(check_replaceable(name, marker));
  char *real = realpath(name, NULL); /* the folder behind a link is replaced, not the link */
  if (!real) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", name, strerror(errno));
  mok_status status = folder_write(real, true, files, count);
  free(real);
  return status;
}
