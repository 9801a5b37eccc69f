#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mok_status_record {
  mok_code code;
  int reported;
  char *text;     /* owned */
  char place[96]; /* base name and line */
};

/* Stands in when a record cannot be allocated; never written, never freed. */
static struct mok_status_record no_memory = {MOK_ERR_IO, 0, "out of memory", "status.c"};

static char *format(const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int size = vsnprintf(NULL, 0, fmt, args);
  char *text = size < 0 ? NULL : malloc((size_t)size + 1);
  if (text) vsnprintf(text, (size_t)size + 1, fmt, again);
  va_end(again);
  return text;
}

mok_status mok_status_make(const char *file, int line, mok_code code, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char *text = format(fmt, args);
  va_end(args);
  struct mok_status_record *record = text ? malloc(sizeof *record) : NULL;
  if (!record) {
    free(text);
    return &no_memory;
  }
  const char *slash = strrchr(file, '/');
  *record = (struct mok_status_record){.code = code, .text = text};
  snprintf(record->place, sizeof record->place, "%s:%d", slash ? slash + 1 : file, line);
  return record;
}

mok_status mok_status_context(mok_status status, const char *fmt, ...) {
  if (!status || status == &no_memory) return status;
  va_list args;
  va_start(args, fmt);
  char *context = format(fmt, args);
  va_end(args);
  static const char separator[] = "\n  while ";
  size_t old = strlen(status->text), added = context ? strlen(context) : 0;
  char *text = context ? malloc(old + sizeof separator + added) : NULL;
  if (text) {
    memcpy(text, status->text, old);
    memcpy(text + old, separator, sizeof separator - 1);
    memcpy(text + old + sizeof separator - 1, context, added + 1);
    free(status->text);
    status->text = text;
  }
  free(context);
  return status;
}

mok_status mok_status_mark_reported(mok_status status) {
  if (status && status != &no_memory) status->reported = 1;
  return status;
}

int mok_status_is_reported(mok_status status) { return status && status->reported; }

int mok_status_exit_code(mok_status status) { return status ? (int)status->code : 0; }

const char *mok_status_text(mok_status status) { return status ? status->text : ""; }

const char *mok_status_place(mok_status status) { return status ? status->place : ""; }

const char *mok_code_meaning(mok_code code) {
  switch (code) {
#define MOK_STATUS_CODE(name, exit_code, meaning) \
  case MOK_ERR_##name:                            \
    return meaning;
#include "status_codes.def"
#undef MOK_STATUS_CODE
  }
  return NULL;
}

void mok_status_free(mok_status status) {
  if (!status || status == &no_memory) return;
  free(status->text);
  free(status);
}
