/* Shared by the files of the front end: one reading of one description. Not for others. */
#ifndef MOK_READER_H
#define MOK_READER_H

#include <lauxlib.h>
#include <lua.h>
#include <time.h>

#include "frontend.h"
#include "source.h"

/* A value as the description gave it, copied out of Lua: what a field may hold, and enough of the rest to name it. */
typedef enum mok_raw_kind {
  MOK_RAW_NIL,
  MOK_RAW_BOOL,
  MOK_RAW_INT,
  MOK_RAW_FLOAT,
  MOK_RAW_STRING,
  MOK_RAW_TABLE,
  MOK_RAW_OTHER
} mok_raw_kind;

typedef struct mok_raw mok_raw;
typedef struct mok_raw_item {
  const char *key; /* NULL: positional */
  int index;       /* from 1 */
  mok_raw *value;
} mok_raw_item;

struct mok_raw {
  mok_raw_kind kind;
  mok_loc loc;
  int64_t integer;  /* INT, BOOL */
  double number;    /* FLOAT */
  const char *text; /* STRING (cut at MAX_RAW_STRING bytes and at a NUL); OTHER: the type's name */
  bool odd;         /* STRING: cut, or with a NUL inside. TABLE: more items or other keys than a field may have */
  mok_raw_item *items;
  size_t count;
};
enum { MAX_RAW_STRING = 4096, MAX_RAW_ITEMS = 64 };

/* What a constructor was called with. */
typedef struct mok_record {
  bool called;
  mok_loc loc; /* the call */
  mok_raw fields[MOK_NUM_FIELDS];
  bool excused[MOK_NUM_FIELDS];   /* absent, but a misspelt key of it was reported */
  bool nil_given[MOK_NUM_FIELDS]; /* written with a value of nil */
} mok_record;

enum { MOK_MAX_SOURCES = 64, MOK_NUM_RECORDS = 4, MOK_MAX_REPORTS = 256, MOK_HOOK_INSTRUCTIONS = 100 };

typedef struct mok_reader {
  mok_arena *arena;
  mok_diag *diag;
  lua_State *L;
  const char *folder; /* of the description */
  mok_source *sources[MOK_MAX_SOURCES];
  int source_count;
  size_t source_bytes; /* of the user's files */
  size_t lua_bytes;
  int refusals; /* allocations the memory limit refused */
  int64_t instructions;
  struct timespec start; /* CPU time of this thread */
  int reports;
  bool give_up;                        /* more mistakes than anyone reads: evaluation ends without another message */
  mok_record records[MOK_NUM_RECORDS]; /* in the order of mok_constructors */
  /* The error that ended the evaluation. */
  mok_loc error_loc;
  const char *error_text;
  const char *error_hint;
  mok_loc memory_loc;                     /* of the last refusal: Lua does not say where memory ran out */
  mok_loc unknown_names[MOK_MAX_REPORTS]; /* read in the text: what follows from one is not said again */
  int unknown_count;
} mok_reader;

static inline mok_reader *mok_reader_of(lua_State *L) { return *(mok_reader **)lua_getextraspace(L); }

/* sandbox.c: a state with bounded memory and instructions, with the safe part of the libraries. NULL: no memory. */
lua_State *mok_sandbox_open(mok_reader *reader);
/* Counts work of a C function against the limits, and raises a Lua error past them. */
void mok_sandbox_charge(lua_State *L, size_t steps);
/* Loads a source as a function onto the stack: LUA_OK or an error with its message. */
int mok_sandbox_load(mok_reader *reader, const mok_source *source, int id);
/* Calls the function on the stack; an error is left in reader->error_*. Returns false after an error. */
bool mok_sandbox_call(mok_reader *reader, int results);
void mok_sandbox_error(mok_reader *reader, int rc); /* turns the error message on the stack into reader->error_* */

/* What a name that a description does not have was probably meant to do; NULL if unknown. */
const char *mok_absent_name_hint(const char *name, size_t size);

/* library.c: base, math, string and table without what is unbounded, random or prints addresses. */
void mok_library_open(lua_State *L);
/* Pushes an array of the keys of the table at `index`: numbers ascending, then strings by bytes, then false and true. Other keys
 * are an error, unless `skip_others`. Returns its length. */
lua_Integer mok_sorted_keys(lua_State *L, int index, bool skip_others);

/* construct.c: model, topology, workload, schedule, preset; and calls of presets. */
void mok_construct_open(lua_State *L);
int mok_preset_wrap(lua_State *L); /* replaces the Lua function on the stack by one that keeps places */

/* require.c */
void mok_require_open(lua_State *L);
/* Registers a text: id of the source, -1 if there are too many. */
int mok_reader_add_source(mok_reader *reader, const char *file, const char *text, size_t size);

/* place.c */
mok_loc mok_call_site(lua_State *L, const char *name, const mok_source **source, const mok_source_call **call);
mok_loc mok_caller_line(lua_State *L, const mok_source **source); /* line of the innermost Lua function */
const mok_source *mok_source_of_chunk(const mok_reader *reader, const char *chunk);

/* reader.c: reports count, so that a loop of mistakes ends. */
void mok_reader_error(mok_reader *reader, mok_loc loc, const char *hint, const char *fmt, ...) MOK_PRINTF(4, 5);
void mok_reader_unknown_key(mok_reader *reader, mok_loc loc, const char *table, const char *key, mok_record *record);
bool mok_reader_unknown_on(const mok_reader *reader, const mok_loc *line); /* an unknown name was reported on this line */
int mok_reader_field(const char *table, const char *key);                  /* mok_field_id, -1 if unknown */
/* The word meant: equal but for case, near by letters, or the only one that begins so; NULL if there is none. */
const char *mok_reader_nearest(const char *word, const char *const *words, size_t count);

/* override.c: puts one `-D` into the records; a wrong one is reported. */
void mok_override_apply(mok_reader *reader, const char *text);

/* fields.c: records -> model; reports every wrong field. `file` is the place of what is missing altogether. */
void mok_fields_read(mok_reader *reader, const char *file, bool complete, mok_model *model);

#endif
