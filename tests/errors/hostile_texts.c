#include <stdio.h>
#include <string.h>

#include "../../runtime/base/buf.h"
#include "../../runtime/base/file.h"
#include "error_case.h"

static void repeat(mok_buf *out, const char *text, int times) {
  for (int i = 0; i < times; i++) mok_buf_puts(out, text);
}

static void make_parentheses(mok_buf *out) {
  mok_buf_puts(out, "local x = ");
  repeat(out, "(", 10000);
  mok_buf_puts(out, "1");
  repeat(out, ")", 10000);
}

static void make_braces(mok_buf *out) {
  mok_buf_puts(out, "model {");
  repeat(out, "{", 500000);
}

static void make_calls(mok_buf *out) { repeat(out, "f{f={f={f={", 90000); }

static void make_blocks(mok_buf *out) { repeat(out, "do ", 300000); }

static void make_unary(mok_buf *out) {
  mok_buf_puts(out, "local x = ");
  repeat(out, "not ", 200000);
}

/* Lua's parser compares every label with every pending goto. */
static void make_gotos(mok_buf *out) {
  for (int i = 0; i < 32000; i++) mok_buf_printf(out, "goto a%d\n", i);
  for (int i = 0; i < 32000; i++) mok_buf_printf(out, "::a%d:: do end\n", i);
}

static void make_bytecode(mok_buf *out) { mok_buf_write(out, "\x1bLua\x54\x00\x19\x93\r\n\x1a\n", 12); }

static void make_marked_bytecode(mok_buf *out) { mok_buf_write(out, "\xEF\xBB\xBF\x1bLua\x54\x00\x19\x93\r\n\x1a\n", 15); }

static void make_nul(mok_buf *out) { mok_buf_write(out, "model {\n  hidden = \0 8\n}\n", 25); }

static void make_noise(mok_buf *out) {
  mok_buf_puts(out, "model { @\n");
  unsigned state = 1;
  for (int i = 0; i < 100000; i++) {
    state = state * 1664525u + 1013904223u;
    mok_buf_putc(out, (char)(state >> 24));
  }
}

static void make_long_line(mok_buf *out) {
  mok_buf_puts(out, "model { ");
  for (int i = 0; i < 60000; i++) mok_buf_printf(out, "k%d = %d, ", i, i);
  mok_buf_puts(out, "}");
}

static void make_numerals(mok_buf *out) {
  mok_buf_puts(out, "model { hidden = ");
  repeat(out, "9", 900000);
  mok_buf_puts(out, " }");
}

static void make_large(mok_buf *out) { repeat(out, "-- ten bytes\n", 100000); }

static void make_unfinished(mok_buf *out) {
  mok_buf_puts(out, "local x = [==[");
  repeat(out, "]=", 400000);
}

static void make_utf8(mok_buf *out) {
  mok_buf_puts(out, "\xEF\xBB\xBF#!/usr/bin/env mokgen\nlocal s = \"\xff\xfe\" model { hiden\xC3\xA9 = 1 }\n");
}

static void make_unknown_keys(mok_buf *out) {
  mok_buf_puts(out, "local t = {}\nfor i = 1, 100000 do t['key' .. i] = i end\nmodel(t)\n");
}

static void make_preset_keys(mok_buf *out) {
  mok_buf_puts(out, "local kimi = require 'kimi-k2'\nfor i = 1, 1e9 do kimi { ['key' .. i] = i } end\n");
}

static void make_file_of_errors(mok_buf *out) {
  for (int i = 0; i < 40000; i++) mok_buf_printf(out, "a = unknown%d\n", i);
}

#define IN(name) name ".lua:"
#define TOO_DEEP(name) IN(name) " error: brackets, blocks or calls are nested too deeply\n"
#define COMPILED(name) IN(name) " error: compiled Lua: a description is text\nhint: give the Lua source\n"
#define NO_CONSTRUCTORS(name) \
  IN(name) " error: there is no model { ... }\nhint: it must give hidden, intermediate, experts, top_k\n" \
  IN(name) " error: there is no topology { ... }\nhint: it must give gpu, gpus\n"                         \
  IN(name) " error: there is no workload { ... }\nhint: it must give tokens_per_gpu\n"

static const struct {
  const char *name;
  void (*make)(mok_buf *out);
  int exit_code;
  bool only_last;
  const char *expected;
} texts[] = {
    {"parentheses", make_parentheses, 1, false, TOO_DEEP("parentheses")},
    {"braces", make_braces, 1, false, TOO_DEEP("braces")},
    {"calls", make_calls, 1, false, TOO_DEEP("calls")},
    {"blocks", make_blocks, 1, false, TOO_DEEP("blocks")},
    {"unary", make_unary, 1, false, TOO_DEEP("unary")},
    {"gotos", make_gotos, 1, false, NO_CONSTRUCTORS("gotos")},
    {"bytecode", make_bytecode, 1, false, COMPILED("bytecode")},
    {"marked_bytecode", make_marked_bytecode, 1, false, COMPILED("marked_bytecode")},
    {"nul", make_nul, 1, false, IN("nul") "2: error: unexpected symbol\n    hidden = \\x00 8\n"},
    {"noise", make_noise, 1, false, IN("noise") "1:9: error: unexpected symbol near '@'\n  model { @\n          ^\n"},
    {"long_line", make_long_line, 1, true, "192 more errors are not shown\n"},
    {"numerals", make_numerals, 1, true, "^~~~~~\n"},
    {"large", make_large, 8, false, "mokgen: error: large.lua is larger than 1048576 bytes\n  while reading the description\n"},
    {"unfinished", make_unfinished, 1, true, "]=]=]=]=...\n"},
    {"utf8", make_utf8, 1, true, "hiden\xC3\xA9 = 1 }\n                                    ^\n"},
    {"unknown_keys", make_unknown_keys, 1, true, "192 more errors are not shown\n"},
    {"preset_keys", make_preset_keys, 1, true, "192 more errors are not shown\n"},
    {"file_of_errors", make_file_of_errors, 1, true, "192 more errors are not shown\n"},
};

bool hostile_text_make(mok_arena *arena, const char *name, const char *path, error_case *test) {
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (strcmp(texts[i].name, name) != 0) continue;
    mok_buf text = mok_buf_make(arena);
    texts[i].make(&text);
    mok_status status = mok_file_write(path, text.data, text.size);
    if (status) {
      fprintf(stderr, "%s\n", mok_status_text(status));
      mok_status_free(status);
      return false;
    }
    *test = (error_case){
        .path = path, .expected = texts[i].expected, .only_last = texts[i].only_last, .exit_code = texts[i].exit_code};
    return true;
  }
  fprintf(stderr, "unknown text '%s'\n", name);
  return false;
}
