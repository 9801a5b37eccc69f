/* Shared by file.c and folder.c. */
#ifndef MOK_BASE_FILE_IMPL_H
#define MOK_BASE_FILE_IMPL_H

#include <stddef.h>

#include "status.h"
#include "temp.h"

/* Writes all of data; `path` is for the message. */
MOK_MUST_USE mok_status mok_fd_write(int fd, const char *path, const void *data, size_t size);
/* fsync (unless status is an error already) and close; returns the first error. */
MOK_MUST_USE mok_status mok_fd_sync_close(int fd, const char *path, mok_status status);
/* The folder that holds `path`, "." if it names none, "/" for a child of the root written as "". */
MOK_MUST_USE mok_status mok_parent_of(const char *path, char folder[MOK_TEMP_PATH]);

#endif
