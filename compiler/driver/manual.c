/* The man page. No date in it: the same sources give the same bytes. */
#include <string.h>

#include "../frontend/frontend.h"
#include "../target/target.h"
#include "texts.h"

static const struct {
  const char *name, *help;
} variables[] = {
#define MOK_VARIABLE(name, help) {name, help},
#include "options.def"
};

static const int codes[] = {
#define MOK_STATUS_CODE(name, exit_code, meaning) exit_code,
#include "../../runtime/base/status_codes.def"
#undef MOK_STATUS_CODE
};

/* Text as roff: nothing in it is a request or an escape; `code` is bold. */
static void put(mok_buf *out, const char *text) {
  bool bold = false;
  for (const char *c = text; *c; ++c) {
    const bool starts_line = out->size == 0 || out->data[out->size - 1] == '\n';
    if (starts_line && (*c == '.' || *c == '\'')) mok_buf_puts(out, "\\&");
    switch (*c) {
      case '\\':
        mok_buf_puts(out, "\\e");
        break;
      case '-':
        mok_buf_puts(out, "\\-");
        break;
      case '\'':
        mok_buf_puts(out, "\\(aq");
        break;
      case '^':
        mok_buf_puts(out, "\\(ha");
        break;
      case '~':
        mok_buf_puts(out, "\\(ti");
        break;
      case '`':
        bold = !bold;
        mok_buf_puts(out, bold ? "\\fB" : "\\fR");
        break;
      default:
        mok_buf_putc(out, *c);
    }
  }
}

static void section(mok_buf *out, const char *name) { mok_buf_printf(out, ".SH %s\n", name); }

/* A paragraph with a tag: the tag in bold, its argument in italics. */
static void tag(mok_buf *out, const char *bold, const char *between, const char *argument) {
  mok_buf_puts(out, ".TP\n\\fB");
  put(out, bold);
  mok_buf_puts(out, "\\fR");
  put(out, between);
  if (argument[0]) {
    mok_buf_puts(out, "\\fI");
    put(out, argument);
    mok_buf_puts(out, "\\fR");
  }
  mok_buf_putc(out, '\n');
}

static void sentence(mok_buf *out, const char *text) {
  put(out, text);
  mok_buf_puts(out, ".\n");
}

static void commands(mok_buf *out) {
  section(out, "COMMANDS");
  for (size_t i = 0; i < MOK_NUM_COMMANDS; ++i) {
    const mok_command_info *command = &mok_commands[i];
    if (command->hidden) continue;
    tag(out, command->name, command->operand[0] ? " " : "", command->operand);
    sentence(out, command->summary);
  }
}

/* "build, run" unless all of the commands that are shown take it. */
static const char *users(mok_arena *arena, unsigned bits) {
  mok_buf names = mok_buf_make(arena);
  bool all = true;
  for (size_t i = 0; i < MOK_NUM_COMMANDS; ++i) {
    if (mok_commands[i].hidden) continue;
    if (!(bits >> i & 1)) all = false;
    else mok_buf_printf(&names, "%s%s", names.size ? ", " : "", mok_commands[i].name);
  }
  return all ? "" : names.data;
}

static void options(mok_buf *out) {
  section(out, "OPTIONS");
  put(out,
      "A value follows its flag behind '=' or as the next word. Flags and operands may stand in any order; what follows `--` is "
      "an operand.\n");
  for (size_t id = 0; id < MOK_NUM_OPTIONS; ++id) {
    const mok_option_info *info = &mok_option_infos[id];
    const char *name = info->letter ? mok_arena_printf(out->arena, "-%c, --%s", info->letter, info->name)
                                    : mok_arena_printf(out->arena, "--%s", info->name);
    tag(out, name, info->argument[0] ? "=" : "", info->argument);
    sentence(out, info->help);
    const char *who = users(out->arena, info->commands);
    if (who[0]) put(out, mok_arena_printf(out->arena, "(%s)\n", who));
  }
}

static void field(mok_buf *out, const mok_field_info *info) {
  tag(out, info->name, "", "");
  sentence(out, info->doc);
  if (info->words[0]) {
    const char *rest = info->words;
    put(out, "One of");
    bool first = true;
    for (const char *word; (word = mok_next_word(&rest, out->arena, '|')); first = false)
      put(out, mok_arena_printf(out->arena, "%s\"%s\"", first ? " " : ", ", word));
    put(out, ".\n");
  } else if (info->max > 0 && info->kind != MOK_K_NUMBER) {
    put(out, mok_arena_printf(out->arena, "%.0f to %.0f%s%s.\n", info->min, info->max, info->unit[0] ? " " : "", info->unit));
  } else if (info->max > 0) {
    put(out, mok_arena_printf(out->arena, "%g to %g.\n", info->min, info->max));
  }
  if (!info->fallback[0]) put(out, "Required.\n");
  else if (strcmp(info->fallback, "derived") != 0) put(out, mok_arena_printf(out->arena, "Default: %s.\n", info->fallback));
}

static void description(mok_buf *out) {
  section(out, "THE DESCRIPTION");
  put(out,
      "A sandboxed Lua program that calls `model`, `topology`, `workload` and optionally `schedule`, each with one table. "
      "`require` reads a preset of the binary or a file beside the description; a preset is a function from overrides to a "
      "model.\n");
  const char *table = "";
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
    if (strcmp(table, mok_fields[i].table) != 0) {
      table = mok_fields[i].table;
      mok_buf_printf(out, ".SS %s\n", table);
    }
    field(out, &mok_fields[i]);
  }
}

static void names(mok_buf *out) {
  mok_buf_puts(out, ".SS Presets\n");
  for (size_t i = 0; i < mok_preset_count; ++i)
    put(out, mok_arena_printf(out->arena, "%s%s", i ? ", " : "", mok_presets[i].name));
  mok_buf_puts(out, ".\n.SS GPU rows\n");
  for (size_t i = 0; i < mok_gpu_count; ++i) put(out, mok_arena_printf(out->arena, "%s%s", i ? ", " : "", mok_gpus[i].name));
  mok_buf_puts(out, ".\n");
}

void mok_text_manual(mok_buf *out) {
  mok_buf_puts(out,
               ".\\\" Generated by `mokgen reference man`.\n"
               ".TH MOKGEN 1 \"\" \"mokgen " MOKGEN_VERSION
               "\" \"User Commands\"\n"
               ".SH NAME\nmokgen \\- compile a mixture\\-of\\-experts layer into one GPU kernel\n"
               ".SH SYNOPSIS\n\\fBmokgen\\fR [\\fICOMMAND\\fR] [\\fIflags\\fR] \\fIMODEL.lua\\fR\n");
  section(out, "DESCRIPTION");
  put(out,
      "Reads a Lua description of one mixture-of-experts layer and of the GPUs that it runs on, plans every size, and writes a "
      "package: "
      "one persistent CUDA kernel that routes tokens, fetches their rows from the other GPUs, runs the experts and sums the "
      "results. "
      "libmok loads and launches it. Standard output carries data, standard error talk; output appears by rename, so nothing "
      "partial "
      "is left behind.\n");
  commands(out);
  options(out);
  description(out);
  names(out);
  section(out, "EXIT STATUS");
  tag(out, "0", "", "");
  sentence(out, "fine");
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    tag(out, mok_arena_printf(out->arena, "%d", codes[i]), "", "");
    sentence(out, mok_code_meaning((mok_code)codes[i]));
  }
  section(out, "ENVIRONMENT");
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
    tag(out, variables[i].name, "", "");
    sentence(out, variables[i].help);
  }
  section(out, "EXAMPLES");
  put(out, "What a layer costs on two H200s, and its package:\n");
  mok_buf_puts(out, ".PP\n.nf\n.RS\nmokgen explain kimi\\-k2\\-2xh200.lua\nmokgen kimi\\-k2\\-2xh200.lua\n.RE\n.fi\n.PP\n");
  put(out, "The same with one field replaced, on the CPU, against the reference:\n");
  mok_buf_puts(out, ".PP\n.nf\n.RS\nmokgen run small.lua \\-D model.top_k=4 \\-\\-target=host\n.RE\n.fi\n");
}
