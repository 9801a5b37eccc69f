/* Files: whole-file reads, and output that appears by rename or not at all.
 *
 * Every failure is MOK_ERR_IO with the path and the system's reason, or MOK_ERR_INTERRUPTED. Temporary names start with
 * ".mokgen-" beside the target. All temporaries are registered and removed when the process is interrupted (mok_interrupt_*), and
 * on failure.
 */
#ifndef MOK_BASE_FILE_H
#define MOK_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "buf.h"
#include "status.h"

/* Reads a whole file into the arena (NUL after the last byte). path "-" is stdin. Larger than `limit` bytes is an error. */
MOK_MUST_USE mok_status mok_file_read(mok_arena *arena, const char *path, size_t limit, mok_blob *out);

/* The same for what will be executed: a regular file, not behind a link, that belongs to the effective user or to root. */
MOK_MUST_USE mok_status mok_file_read_own(mok_arena *arena, const char *path, size_t limit, mok_blob *out);

/* Writes `data` to `path` through a temporary, fsync and rename; into a device, pipe or socket directly. path "-" is stdout. */
MOK_MUST_USE mok_status mok_file_write(const char *path, const void *data, size_t size);

/* Writes a folder with `count` files through a private folder and rename. When `path` exists:
 * - it is a folder whose file `marker` begins with the same word as the new one, and whose other files all stand in that marker
 *   as a line "file NAME" or "file NAME ...": replaced (by exchange, the old one removed after);
 * - anything else: MOK_ERR_IO, untouched.
 * Several processes may write the same folder at once: the last one wins, none fails for it. */
MOK_MUST_USE mok_status mok_folder_write(const char *path, const mok_blob *files, size_t count, const char *marker);

/* Whether the two would get as far as writing, for a caller who has long work to do before: what stands there may be replaced,
 * and a temporary can be made beside it (one is, and removed). `word` is what the new marker begins with. */
MOK_MUST_USE mok_status mok_file_check(const char *path);
MOK_MUST_USE mok_status mok_folder_check(const char *path, const char *marker, const char *word);

/* A private folder ".mokgen-..." in `parent` (NULL: $TMPDIR or /tmp), registered until mok_temp_folder_remove. May hold files
 * only, if an abrupt end is to leave nothing. */
MOK_MUST_USE mok_status mok_temp_folder_create(mok_arena *arena, const char *parent, const char **out);
void mok_temp_folder_remove(const char *path); /* with what it holds */

bool mok_file_exists(const char *path);
bool mok_folder_exists(const char *path);
MOK_MUST_USE mok_status mok_folder_create_all(const char *path); /* mkdir -p, mode 0700 for what it makes */
MOK_MUST_USE mok_status mok_folder_remove_all(const char *path); /* rm -r; a missing path is fine; follows no links */
const char *mok_path_join(mok_arena *arena, const char *folder, const char *name);
const char *mok_path_base(const char *path); /* part after the last '/'; borrowed */

/* SIGINT, SIGTERM and SIGHUP set a flag; long stages poll it and return MOK_ERR_INTERRUPTED. A second one ends the process at
 * once with 130, temporaries removed. Install once, from the tool only. */
void mok_interrupt_install(void);
void mok_interrupt_ends(int child); /* which the second signal kills as well, as kill() names it: < 0 its group; 0: none */
bool mok_interrupt_pending(void);
MOK_MUST_USE mok_status mok_interrupt_check(void); /* MOK_OK or MOK_ERR_INTERRUPTED */

#endif
