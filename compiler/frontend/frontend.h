/* Stage 1, read: Lua text -> description with a place on every field. */
#ifndef MOK_FRONTEND_H
#define MOK_FRONTEND_H

#include "../model/model.h"

/* One `-D table.key=value`, in command-line order. `value` is a Lua constant: number, word (quotes optional), true/false, nil,
 * or { "a", "b" }. A later one wins. It replaces the field after evaluation; its place is "-D table.key=value". */
typedef struct mok_override {
  const char *text; /* "table.key=value" as given */
} mok_override;

/* Bounds on an untrusted description. */
enum {
  MOK_LUA_MEMORY_LIMIT = 16 << 20,      /* bytes of the Lua state */
  MOK_LUA_INSTRUCTION_LIMIT = 20000000, /* VM instructions */
  MOK_LUA_SOURCE_LIMIT = 1 << 20        /* bytes of one file */
};

/* Reads `path` ("-": stdin, shown as <stdin>) and evaluates it in the sandbox. All mistakes are reported to `diag`; on any error
 * *out is NULL and the status is MOK_ERR_DESCRIPTION, marked as reported. A file that cannot be read is MOK_ERR_IO.
 * If the arena's out-of-memory hook jumps away, the Lua state (at most MOK_LUA_MEMORY_LIMIT) is lost. */
MOK_MUST_USE mok_status mok_frontend_read(mok_arena *arena, mok_diag *diag, const char *path, const mok_override *overrides,
                                          size_t override_count, const mok_model **out);

/* The presets embedded in the binary (dsl/presets). */
typedef struct mok_preset {
  const char *name; /* "kimi-k2" */
  const char *text; /* Lua source, NUL-terminated */
  size_t size;
} mok_preset;
extern const mok_preset mok_presets[];
extern const size_t mok_preset_count;

#endif
