/* Registry of the temporaries of this process. What is still registered at exit(), or when a second signal ends the process, is
 * removed: a file, or a folder with the files in it. A forked child that has its own registry entries from the parent leaves
 * them. */
#ifndef MOK_BASE_TEMP_H
#define MOK_BASE_TEMP_H

#include <stddef.h>

#include "status.h"

enum { MOK_TEMP_PATH = 4096 };

/* Picks an unused name "<folder>/.mokgen-<pid>-<n>" and registers it; the caller creates it. folder "" is the current one.
 * MOK_ERR_IO if the path is too long or too many temporaries are open. */
MOK_MUST_USE mok_status mok_temp_register(const char *folder, char path[MOK_TEMP_PATH]);
void mok_temp_forget(const char *path);

/* Removes all that is registered; async-signal-safe. */
void mok_temp_remove_all(void);

/* Removes a file, or a folder that holds only files; async-signal-safe. 0, or -1 with errno. */
int mok_temp_remove_flat(const char *path);

#endif
