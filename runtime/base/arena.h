/* Arena: compilation data lives in one and is freed with it, never singly.
 *
 * Growth that fails calls the out-of-memory hook and does not return, so allocation is no error path of its callers. The
 * default hook prints one line and exits with 8; a library gives its own (longjmp).
 */
#ifndef MOK_BASE_ARENA_H
#define MOK_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "status.h"

typedef struct mok_arena mok_arena;
typedef void (*mok_oom_hook)(void *user, size_t bytes); /* must not return */

mok_arena *mok_arena_create(void);
/* For a library: NULL if there is no memory for it, and a hook of its own from the start. */
mok_arena *mok_arena_try_create(mok_oom_hook hook, void *user);
void mok_arena_destroy(mok_arena *arena); /* accepts NULL */
void mok_arena_set_oom_hook(mok_arena *arena, mok_oom_hook hook, void *user);
size_t mok_arena_bytes(const mok_arena *arena); /* handed out so far */
/* Handing out more than `bytes` in all counts as out of memory; 0 lifts the limit. */
void mok_arena_set_limit(mok_arena *arena, size_t bytes);

/* Zeroed, aligned to 16 bytes. bytes = 0 gives a valid pointer. */
void *mok_arena_alloc(mok_arena *arena, size_t bytes);
/* count * size with overflow check (overflow counts as out of memory). */
void *mok_arena_array(mok_arena *arena, size_t count, size_t size);
char *mok_arena_strdup(mok_arena *arena, const char *text);
char *mok_arena_strndup(mok_arena *arena, const char *text, size_t bytes);
char *mok_arena_printf(mok_arena *arena, const char *fmt, ...) MOK_PRINTF(2, 3);
char *mok_arena_vprintf(mok_arena *arena, const char *fmt, va_list args);

#define MOK_NEW(arena, type) ((type *)mok_arena_alloc((arena), sizeof(type)))
#define MOK_NEW_ARRAY(arena, count, type) ((type *)mok_arena_array((arena), (count), sizeof(type)))

#endif
