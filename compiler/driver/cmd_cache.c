#include <inttypes.h>
#include <string.h>

#include "../../runtime/base/json.h"
#include "../jit/jit.h"
#include "commands.h"

static mok_status list(mok_session *session, const char *folder) {
  mok_cache_entry *entries = NULL;
  size_t count = 0;
  MOK_TRY(mok_cache_list(session->arena, &entries, &count));
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) {
    mok_json json = mok_json_make(&text);
    mok_json_begin_object(&json);
    mok_json_key(&json, "schema");
    mok_json_int(&json, 1);
    mok_json_key(&json, "folder");
    mok_json_string(&json, folder);
    mok_json_key(&json, "entries");
    mok_json_begin_array(&json);
    for (size_t i = 0; i < count; ++i) {
      mok_json_begin_object(&json);
      mok_json_key(&json, "key");
      mok_json_string(&json, entries[i].key);
      mok_json_key(&json, "what");
      mok_json_string(&json, entries[i].what);
      mok_json_key(&json, "bytes");
      mok_json_int(&json, entries[i].bytes);
      mok_json_key(&json, "age_s");
      mok_json_int(&json, entries[i].age_s);
      mok_json_key(&json, "damaged");
      mok_json_bool(&json, entries[i].damaged);
      mok_json_end_object(&json);
    }
    mok_json_end_array(&json);
    mok_json_end_object(&json);
    mok_json_finish(&json);
    return mok_session_print(&text);
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    bytes += entries[i].bytes;
    mok_buf_printf(&text, "%.12s  %9" PRId64 " bytes  used %6" PRId64 " s ago  %s%s\n", entries[i].key, entries[i].bytes,
                   entries[i].age_s, entries[i].what, entries[i].damaged ? "  (damaged: will be rebuilt)" : "");
  }
  mok_buf_printf(&text, "%zu kernels, %" PRId64 " bytes in %s\n", count, bytes,
                 folder ? folder : "no folder (set MOKGEN_CACHE_DIR or HOME)");
  return mok_session_print(&text);
}

static mok_status clear(mok_session *session, const char *folder) {
  size_t removed = 0;
  int64_t bytes = 0;
  MOK_TRY(mok_cache_clear(session->arena, &removed, &bytes));
  mok_buf text = mok_buf_make(session->arena);
  if (session->options.json.given) {
    mok_json json = mok_json_make(&text);
    mok_json_begin_object(&json);
    mok_json_key(&json, "schema");
    mok_json_int(&json, 1);
    mok_json_key(&json, "folder");
    mok_json_string(&json, folder);
    mok_json_key(&json, "removed");
    mok_json_int(&json, (int64_t)removed);
    mok_json_key(&json, "bytes");
    mok_json_int(&json, bytes);
    mok_json_end_object(&json);
    mok_json_finish(&json);
  } else {
    mok_buf_printf(&text, "removed %zu kernels, %" PRId64 " bytes\n", removed, bytes);
  }
  return mok_session_print(&text);
}

mok_status mok_cmd_cache(mok_session *session) {
  const char *action = session->options.operands[0];
  const char *folder = mok_cache_folder(session->arena);
  if (strcmp(action, "list") == 0) return list(session, folder);
  if (strcmp(action, "clear") == 0) return clear(session, folder);
  return MOK_ERROR(MOK_ERR_USAGE, "cache: '%s' is neither list nor clear", action);
}
