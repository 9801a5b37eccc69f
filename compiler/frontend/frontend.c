#include "frontend.h"

#include <locale.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "reader.h"

/* Folder part of a path, "." if it has none. */
static const char *folder_of(mok_arena *arena, const char *path) {
  const char *base = mok_path_base(path);
  if (base == path) return ".";
  size_t size = (size_t)(base - path);
  while (size > 1 && path[size - 1] == '/') size--;
  return mok_arena_strndup(arena, path, size);
}

static const char *stem_of(mok_arena *arena, const char *path) {
  if (strcmp(path, "-") == 0) return "stdin";
  const char *base = mok_path_base(path);
  const char *dot = strrchr(base, '.');
  return mok_arena_strndup(arena, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

/* Reports what ended the evaluation. */
static void report_error(mok_reader *reader) {
  if (reader->give_up) return;
  if (!reader->error_loc.file) reader->error_loc.file = reader->sources[0]->file;
  /* An unknown name that was called or indexed: said when it was read. */
  if (strstr(reader->error_text, "(global '") && mok_reader_unknown_on(reader, &reader->error_loc)) return;
  mok_reader_error(reader, reader->error_loc, reader->error_hint, "%s", reader->error_text);
}

/* Evaluates the description; false if an error ended it. */
static bool evaluate(mok_reader *reader) {
  lua_State *L = reader->L;
  const int rc = mok_sandbox_load(reader, reader->sources[0], 0);
  bool ok = rc == LUA_OK;
  if (!ok) mok_sandbox_error(reader, rc);
  ok = ok && mok_sandbox_call(reader, 0);
  if (!ok) report_error(reader);
  lua_settop(L, 0);
  return ok;
}

static mok_status read_text(mok_reader *reader, const char *shown, const char *stem, const mok_blob *blob,
                            const mok_override *overrides, size_t override_count, const mok_model **out) {
  mok_diag *diag = reader->diag;
  reader->source_bytes = blob->size;
  mok_reader_add_source(reader, shown, blob->data, blob->size);
  if (mok_source_is_compiled(reader->sources[0])) {
    mok_reader_error(reader, (mok_loc){.file = shown}, "give the Lua source", "compiled Lua: a description is text");
    return mok_diag_status(diag, MOK_ERR_DESCRIPTION);
  }
  lua_State *L = mok_sandbox_open(reader);
  if (!L) return MOK_ERROR(MOK_ERR_IO, "out of memory for the Lua state");
  const bool complete = evaluate(reader);
  lua_close(L);
  for (size_t i = 0; i < override_count; i++) mok_override_apply(reader, overrides[i].text);
  mok_model *model = MOK_NEW(reader->arena, mok_model);
  mok_fields_read(reader, shown, complete, model);
  mok_model_finish(model, stem, diag);
  MOK_TRY(mok_diag_status(diag, MOK_ERR_DESCRIPTION));
  *out = model;
  return MOK_OK;
}

mok_status mok_frontend_read(mok_arena *arena, mok_diag *diag, const char *path, const mok_override *overrides,
                             size_t override_count, const mok_model **out) {
  *out = NULL;
  const bool is_stdin = strcmp(path, "-") == 0;
  mok_blob blob;
  MOK_TRY_CTX(mok_file_read(arena, path, MOK_LUA_SOURCE_LIMIT, &blob), "reading the description");
  mok_reader *reader = MOK_NEW(arena, mok_reader);
  reader->arena = arena;
  reader->diag = diag;
  reader->folder = is_stdin ? "." : folder_of(arena, path);
  /* Numbers and letters mean the same in every host program. */
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = plain ? uselocale(plain) : (locale_t)0;
  const mok_status status =
      read_text(reader, is_stdin ? "<stdin>" : path, stem_of(arena, path), &blob, overrides, override_count, out);
  if (plain) {
    uselocale(before);
    freelocale(plain);
  }
  return status;
}
