#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_impl.h"
#include "temp.h"

static mok_status read_all(mok_arena *arena, int fd, const char *path, size_t expected, size_t limit, mok_blob *out) {
  mok_buf text = mok_buf_make(arena);
  size_t capacity = expected < limit ? expected + 1 : 1; /* one byte more, to see the end without growing */
  capacity = capacity < 4096 ? 4096 : capacity;
  char *chunk = mok_arena_alloc(arena, capacity);
  for (;;) {
    ssize_t got = read(fd, chunk, capacity);
    if (got < 0 && errno == EINTR) {
      MOK_TRY(mok_interrupt_check());
      continue;
    }
    if (got < 0) return MOK_ERROR(MOK_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    if ((size_t)got > limit - text.size) return MOK_ERROR(MOK_ERR_IO, "%s is larger than %zu bytes", path, limit);
    if (got == 0) break;
    mok_buf_write(&text, chunk, (size_t)got);
  }
  out->data = text.data;
  out->size = text.size;
  return MOK_OK;
}

/* What is wrong with a file that will be executed; NULL: nothing. */
static const char *not_own(const struct stat *info) {
  if (!S_ISREG(info->st_mode)) return "it is no regular file";
  if (info->st_uid != geteuid() && info->st_uid != 0) return "it belongs to another user";
  return NULL;
}

static mok_status read_file(mok_arena *arena, const char *path, bool own, size_t limit, mok_blob *out) {
  *out = (mok_blob){.name = mok_arena_strdup(arena, mok_path_base(path))};
  int fd = open(path, O_RDONLY | O_CLOEXEC | (own ? O_NOFOLLOW | O_NONBLOCK : 0)); /* a pipe without a writer would block */
  if (fd < 0) return MOK_ERROR(MOK_ERR_IO, "cannot open %s: %s", path, strerror(errno));
  struct stat info;
  mok_status status = MOK_OK;
  const char *objection = NULL;
  if (fstat(fd, &info) != 0) status = MOK_ERROR(MOK_ERR_IO, "cannot read %s: %s", path, strerror(errno));
  else if (S_ISDIR(info.st_mode)) status = MOK_ERROR(MOK_ERR_IO, "cannot read %s: it is a folder", path);
  else if (own && (objection = not_own(&info))) status = MOK_ERROR(MOK_ERR_IO, "%s is not read: %s", path, objection);
  else if (info.st_size > 0 && (uintmax_t)info.st_size > limit) {
    status = MOK_ERROR(MOK_ERR_IO, "%s is larger than %zu bytes", path, limit);
  } else {
    status = read_all(arena, fd, path, (size_t)info.st_size, limit, out);
  }
  close(fd);
  return status;
}

mok_status mok_file_read(mok_arena *arena, const char *path, size_t limit, mok_blob *out) {
  if (strcmp(path, "-") != 0) return read_file(arena, path, false, limit, out);
  *out = (mok_blob){.name = mok_arena_strdup(arena, path)};
  return read_all(arena, STDIN_FILENO, "standard input", 0, limit, out);
}

mok_status mok_file_read_own(mok_arena *arena, const char *path, size_t limit, mok_blob *out) {
  return read_file(arena, path, true, limit, out);
}

mok_status mok_fd_write(int fd, const char *path, const void *data, size_t size) {
  const char *bytes = data;
  while (size) {
    ssize_t wrote = write(fd, bytes, size < SSIZE_MAX ? size : SSIZE_MAX);
    if (wrote < 0 && errno == EINTR) {
      MOK_TRY(mok_interrupt_check());
      continue;
    }
    if (wrote < 0) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    bytes += wrote;
    size -= (size_t)wrote;
  }
  return MOK_OK;
}

mok_status mok_fd_sync_close(int fd, const char *path, mok_status status) {
  /* File systems without fsync say EINVAL or ENOTSUP. */
  if (!status && fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) {
    status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  }
  if (close(fd) != 0 && !status) status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  return status;
}

/* A device, pipe or socket is written in place: a rename would replace it. */
static mok_status write_special(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  mok_status status = mok_fd_write(fd, path, data, size);
  if (close(fd) != 0 && !status) status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  return status;
}

static mok_status write_through_temporary(const char *path, mode_t mode, const void *data, size_t size) {
  char folder[MOK_TEMP_PATH], temp[MOK_TEMP_PATH];
  MOK_TRY(mok_parent_of(path, folder));
  MOK_TRY(mok_temp_register(folder, temp));
  int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  mok_status status = MOK_OK;
  if (fd < 0) {
    status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  } else {
    if (mode) (void)fchmod(fd, mode);
    status = mok_fd_sync_close(fd, path, mok_fd_write(fd, path, data, size));
    if (!status) status = mok_interrupt_check();
    if (!status && rename(temp, path) != 0) status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    if (status) unlink(temp);
  }
  mok_temp_forget(temp);
  return status;
}

mok_status mok_file_write(const char *path, const void *data, size_t size) {
  if (strcmp(path, "-") == 0) {
    fflush(stdout);
    return mok_fd_write(STDOUT_FILENO, "standard output", data, size);
  }
  struct stat info;
  if (!path[0]) return MOK_ERROR(MOK_ERR_IO, "the name of the file to write is empty");
  if (stat(path, &info) != 0) return write_through_temporary(path, 0, data, size);
  if (S_ISDIR(info.st_mode)) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: it is a folder", path);
  if (!S_ISREG(info.st_mode)) return write_special(path, data, size);
  char *real = realpath(path, NULL); /* the file behind a link is replaced, not the link */
  if (!real) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  mok_status status = write_through_temporary(real, info.st_mode & 0777, data, size);
  free(real);
  return status;
}

mok_status mok_file_check(const char *path) {
  struct stat info;
  if (strcmp(path, "-") == 0) return MOK_OK;
  if (!path[0]) return MOK_ERROR(MOK_ERR_IO, "the name of the file to write is empty");
  const bool there = stat(path, &info) == 0;
  if (there && S_ISDIR(info.st_mode)) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: it is a folder", path);
  if (there && !S_ISREG(info.st_mode)) return MOK_OK; /* to open a pipe would be to wait for its reader */
  if (!there && path[strlen(path) - 1] == '/') return MOK_ERROR(MOK_ERR_IO, "cannot write %s: no such folder", path);
  char folder[MOK_TEMP_PATH], temp[MOK_TEMP_PATH];
  char *real = there ? realpath(path, NULL) : NULL;
  mok_status status = mok_parent_of(real ? real : path, folder);
  free(real);
  if (status) return status;
  MOK_TRY(mok_temp_register(folder, temp));
  const int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) status = MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  if (fd >= 0) {
    close(fd);
    unlink(temp);
  }
  mok_temp_forget(temp);
  return status;
}

bool mok_file_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool mok_folder_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}
