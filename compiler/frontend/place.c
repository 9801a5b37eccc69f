/* From a run-time call to its place in the text. */
#include <stdlib.h>
#include <string.h>

#include "reader.h"

const mok_source *mok_source_of_chunk(const mok_reader *reader, const char *chunk) {
  if (chunk[0] == '=') chunk++;
  if (chunk[0] != '#') return NULL;
  char *end;
  const long id = strtol(chunk + 1, &end, 10);
  if (end == chunk + 1 || (*end != '\0' && *end != ':')) return NULL;
  return id >= 0 && id < reader->source_count ? reader->sources[id] : NULL;
}

mok_loc mok_caller_line(lua_State *L, const mok_source **source) {
  const mok_reader *reader = mok_reader_of(L);
  lua_Debug frame;
  *source = NULL;
  for (int level = 0; level < 64 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0) continue;
    *source = mok_source_of_chunk(reader, frame.source);
    if (*source) return mok_source_line(*source, frame.currentline);
  }
  return (mok_loc){.file = reader->source_count ? reader->sources[0]->file : NULL};
}

mok_loc mok_call_site(lua_State *L, const char *name, const mok_source **source, const mok_source_call **call) {
  mok_loc loc = mok_caller_line(L, source);
  *call = NULL;
  if (!*source) return loc;
  *call = mok_source_find_call(*source, name, loc.line);
  if (*call && (*call)->callee_size > 0) {
    return (mok_loc){.file = loc.file, .line = (*call)->line, .column = (*call)->column, .length = (*call)->callee_size};
  }
  return loc;
}
