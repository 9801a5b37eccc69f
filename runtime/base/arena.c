#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20 };

typedef struct chunk {
  struct chunk *next;
  size_t size, used; /* of data */
  _Alignas(ALIGNMENT) unsigned char data[];
} chunk;

struct mok_arena {
  chunk *chunks; /* newest first */
  size_t bytes, limit, next_size;
  mok_oom_hook hook;
  void *hook_user;
};

static void exit_hook(void *user, size_t bytes) {
  (void)user;
  fprintf(stderr, "mokgen: error: out of memory (%zu bytes more were needed)\n", bytes);
  exit(MOK_ERR_IO);
}

_Noreturn static void out_of_memory(const mok_arena *arena, size_t bytes) {
  arena->hook(arena->hook_user, bytes);
  abort(); /* the hook broke its contract */
}

mok_arena *mok_arena_try_create(mok_oom_hook hook, void *user) {
  mok_arena *arena = malloc(sizeof *arena);
  if (arena) *arena = (mok_arena){.next_size = FIRST_CHUNK, .hook = hook, .hook_user = user};
  return arena;
}

mok_arena *mok_arena_create(void) {
  mok_arena *arena = mok_arena_try_create(exit_hook, NULL);
  if (!arena) exit_hook(NULL, sizeof *arena);
  return arena;
}

void mok_arena_destroy(mok_arena *arena) {
  if (!arena) return;
  for (chunk *c = arena->chunks; c;) {
    chunk *next = c->next;
    free(c);
    c = next;
  }
  free(arena);
}

void mok_arena_set_oom_hook(mok_arena *arena, mok_oom_hook hook, void *user) {
  arena->hook = hook ? hook : exit_hook;
  arena->hook_user = user;
}

size_t mok_arena_bytes(const mok_arena *arena) { return arena->bytes; }

void mok_arena_set_limit(mok_arena *arena, size_t bytes) { arena->limit = bytes; }

/* The new chunk goes first, unless it is filled by one large block and the present first one still has room. */
static chunk *grow(mok_arena *arena, size_t need) {
  size_t size = need > arena->next_size ? need : arena->next_size;
  chunk *c = size > SIZE_MAX - sizeof *c ? NULL : malloc(sizeof *c + size);
  if (!c) out_of_memory(arena, need);
  c->size = size;
  c->used = 0;
  if (arena->chunks && size == need) {
    c->next = arena->chunks->next;
    arena->chunks->next = c;
  } else {
    c->next = arena->chunks;
    arena->chunks = c;
  }
  if (arena->next_size < LARGEST_CHUNK) arena->next_size *= 2;
  return c;
}

void *mok_arena_alloc(mok_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT) out_of_memory(arena, bytes);
  size_t need = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
  if (arena->limit && (need > arena->limit || arena->bytes > arena->limit - need)) out_of_memory(arena, bytes);
  chunk *c = arena->chunks;
  if (!c || c->size - c->used < need) c = grow(arena, need);
  void *block = c->data + c->used;
  c->used += need;
  arena->bytes += need;
  return memset(block, 0, need);
}

void *mok_arena_array(mok_arena *arena, size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) out_of_memory(arena, SIZE_MAX);
  return mok_arena_alloc(arena, count * size);
}

char *mok_arena_strdup(mok_arena *arena, const char *text) { return mok_arena_strndup(arena, text, strlen(text)); }

char *mok_arena_strndup(mok_arena *arena, const char *text, size_t bytes) {
  if (bytes == SIZE_MAX) out_of_memory(arena, bytes);
  char *copy = mok_arena_alloc(arena, bytes + 1);
  if (bytes) memcpy(copy, text, bytes);
  return copy;
}

char *mok_arena_printf(mok_arena *arena, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char *text = mok_arena_vprintf(arena, fmt, args);
  va_end(args);
  return text;
}

char *mok_arena_vprintf(mok_arena *arena, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int size = vsnprintf(NULL, 0, fmt, args);
  if (size < 0) out_of_memory(arena, SIZE_MAX); /* longer than INT_MAX */
  char *text = mok_arena_alloc(arena, (size_t)size + 1);
  vsnprintf(text, (size_t)size + 1, fmt, again);
  va_end(again);
  return text;
}
