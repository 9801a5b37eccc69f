/* Runs one description in a child process and compares all that it says, its exit code and what it cost. */
#ifndef MOK_ERROR_CASE_H
#define MOK_ERROR_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "../../compiler/frontend/frontend.h"
#include "../../runtime/base/arena.h"

typedef struct error_case {
  const char *path;     /* of the description; it is read from its own folder, under its name */
  const char *expected; /* what it must print, to the letter */
  bool only_last;       /* `expected` is the end of what it prints */
  int exit_code;
  const mok_override *overrides;
  size_t override_count;
} error_case;

/* 0: as expected; 1: prints what differs. `said` gets what it printed, in the arena. */
int error_case_run(mok_arena *arena, const error_case *test, const char **said);

/* hostile_texts.c: descriptions too odd to be files of the repository. Writes `name` to `path` and completes the case; false if
 * that failed, or the name is unknown. */
bool hostile_text_make(mok_arena *arena, const char *name, const char *path, error_case *test);

#endif
