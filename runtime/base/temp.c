#include "temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOTS = 32 };
enum { FREE, CLAIMED, LIVE };

static struct {
  atomic_int state;
  pid_t owner;
  char path[MOK_TEMP_PATH];
} slots[SLOTS];
static atomic_uint counter;
static atomic_flag at_exit_set = ATOMIC_FLAG_INIT;

mok_status mok_temp_register(const char *folder, char path[MOK_TEMP_PATH]) {
  if (!atomic_flag_test_and_set(&at_exit_set)) atexit(mok_temp_remove_all);
  int length;
  struct stat info;
  do {
    length = snprintf(path, MOK_TEMP_PATH, "%s%s.mokgen-%ld-%u", folder, folder[0] ? "/" : "", (long)getpid(),
                      atomic_fetch_add(&counter, 1));
  } while (length < MOK_TEMP_PATH && lstat(path, &info) == 0); /* left by an earlier process of this number */
  if (length >= MOK_TEMP_PATH) return MOK_ERROR(MOK_ERR_IO, "path too long: %.80s...", folder);
  for (int i = 0; i < SLOTS; i++) {
    int expected = FREE;
    if (!atomic_compare_exchange_strong(&slots[i].state, &expected, CLAIMED)) continue;
    memcpy(slots[i].path, path, (size_t)length + 1);
    slots[i].owner = getpid();
    atomic_store(&slots[i].state, LIVE);
    return MOK_OK;
  }
  return MOK_ERROR(MOK_ERR_IO, "more than %d temporary files at once", SLOTS);
}

void mok_temp_forget(const char *path) {
  for (int i = 0; i < SLOTS; i++) {
    if (atomic_load(&slots[i].state) == LIVE && strcmp(slots[i].path, path) == 0) atomic_store(&slots[i].state, FREE);
  }
}

void mok_temp_remove_all(void) {
  /* One folder may lie in another, mostly in a later slot: the second pass finds the outer one empty whatever the order was. */
  for (int i = 2 * SLOTS - 1; i >= 0; i--) {
    const int slot = i % SLOTS;
    if (atomic_load(&slots[slot].state) == LIVE && slots[slot].owner == getpid()) mok_temp_remove_flat(slots[slot].path);
  }
}

/* Head of the kernel's struct linux_dirent64; readdir() may allocate, so a signal handler cannot use it. */
struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[];
};

int mok_temp_remove_flat(const char *path) {
  if (unlink(path) == 0 || errno == ENOENT) return 0;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  _Alignas(8) char buffer[2048];
  long size;
  while ((size = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < size;) {
      const struct entry *entry = (const struct entry *)(buffer + at);
      if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0) (void)unlinkat(fd, entry->name, 0);
      at += entry->size;
    }
  }
  close(fd);
  return rmdir(path);
}
