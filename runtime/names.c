#include "names.h"

#include <stdlib.h>
#include <string.h>

/* What a line has behind its key: a number and so many names. */
static const struct {
  const char *key;
  int names;
} forms[] = {{"counter", 1}, {"barrier", 1}, {"wait", 2}};
enum { NUM_FORMS = sizeof forms / sizeof forms[0], MOST_DIGITS = 9 };

static int form_of(const char *key) {
  for (int i = 0; i < NUM_FORMS; i++)
    if (strcmp(key, forms[i].key) == 0) return i;
  return -1;
}

static bool has_form(const char *value, int names) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  const size_t digits = strspn(value, "0123456789");
  if (digits == 0 || digits > MOST_DIGITS) return false;
  value += digits;
  for (; names > 0; names--) {
    const size_t size = *value == ' ' ? strspn(value + 1, letters) : 0;
    if (size == 0) return false;
    value += 1 + size;
  }
  return *value == '\0';
}

mok_status mok_names_read(const mok_manifest *manifest, char **out) {
  size_t size = 0;
  *out = NULL;
  for (size_t i = 0; i < manifest->line_count; i++) {
    const mok_manifest_line *line = &manifest->lines[i];
    const int form = form_of(line->key);
    if (form < 0) continue;
    if (!has_form(line->value, forms[form].names))
      return MOK_ERROR(MOK_ERR_IO, "the package's manifest says '%s %s', which names nothing", line->key, line->value);
    size += strlen(line->key) + 1 + strlen(line->value) + 1;
  }
  if (size == 0) return MOK_OK;
  char *at = *out = malloc(size + 1);
  if (!at) return MOK_ERROR(MOK_ERR_IO, "out of memory");
  for (size_t i = 0; i < manifest->line_count; i++) {
    const mok_manifest_line *line = &manifest->lines[i];
    if (form_of(line->key) >= 0) at += sprintf(at, "%s %s\n", line->key, line->value);
  }
  return MOK_OK;
}

/* Copies the next word of *at. */
static void take_word(const char **at, char *out, size_t size) {
  const size_t length = strcspn(*at, " \n");
  snprintf(out, size, "%.*s", (int)length, *at);
  *at += length + (*(*at + length) == ' ');
}

/* What stands behind "KEY NUMBER " in the line of that number; NULL: there is none. */
static const char *find(const char *lines, const char *key, uint32_t number) {
  char start[32];
  const int size = snprintf(start, sizeof start, "%s %u ", key, number);
  for (const char *line = lines; line && *line; line = strchr(line, '\n') + 1)
    if (strncmp(line, start, (size_t)size) == 0) return line + size;
  return NULL;
}

void mok_names_find(const char *lines, const uint32_t *record, mok_record_names *out) {
  memset(out, 0, sizeof *out);
  const bool counts = record[MOK_WAIT_KIND] == MOK_WAIT_IS_COUNTER;
  const bool meets = record[MOK_WAIT_KIND] == MOK_WAIT_IS_RANK_BARRIER || record[MOK_WAIT_KIND] == MOK_WAIT_IS_POISONED;
  const char *name = counts || meets ? find(lines, counts ? "counter" : "barrier", record[MOK_WAIT_COUNTER]) : NULL;
  const char *waiter = counts ? find(lines, "wait", record[MOK_WAIT_LINE]) : NULL;
  if (name) {
    take_word(&name, out->counter, sizeof out->counter);
    out->fault.counter = out->counter;
  }
  if (waiter) {
    take_word(&waiter, out->worker, sizeof out->worker);
    take_word(&waiter, out->task, sizeof out->task);
    out->fault.worker = out->worker;
    out->fault.task = out->task;
  }
}
