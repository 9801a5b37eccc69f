#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../diag/diag.h"

const mok_command_info mok_commands[MOK_NUM_COMMANDS] = {
#define MOK_COMMAND(id, name, operand, min, max, hidden, summary) {name, operand, min, max, hidden, summary},
#include "options.def"
};

const mok_option_info mok_option_infos[MOK_NUM_OPTIONS] = {
#define MOK_OPTION(id, name, letter, argument, kind, min, max, commands, help) \
  {name, letter, argument, MOK_OPTION_##kind, min, max, commands, help},
#include "options.def"
};

static const struct {
  const char *name, *help;
} variables[] = {
#define MOK_VARIABLE(name, help) {name, help},
#include "options.def"
};

/* The values of mok_options by option id. */
static const size_t value_offsets[MOK_NUM_OPTIONS] = {
#define MOK_OPTION(id, name, letter, argument, kind, min, max, commands, help) offsetof(mok_options, id),
#include "options.def"
};

static mok_option_value *value_of(mok_options *options, size_t id) {
  return (mok_option_value *)((char *)options + value_offsets[id]);
}

mok_status mok_parse_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *out) {
  const char *digits = text + (*text == '-');
  const bool whole = *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
  errno = 0;
  const long long value = whole ? strtoll(text, NULL, 10) : 0;
  if (!whole || errno == ERANGE || value < min || value > max)
    return MOK_ERROR(MOK_ERR_USAGE, "%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, what, text, min, max);
  *out = value;
  return MOK_OK;
}

mok_status mok_parse_number(const char *text, double min, double max, const char *what, double *out) {
  /* The tool never calls setlocale, so strtod reads the C locale's point. */
  char *end = NULL;
  const bool plain = *text != '\0' && strspn(text, "0123456789.eE+-") == strlen(text);
  const double value = plain ? strtod(text, &end) : 0;
  if (!plain || *end != '\0' || !isfinite(value) || value < min || value > max)
    return MOK_ERROR(MOK_ERR_USAGE, "%s: '%s' is not a number from %g to %g", what, text, min, max);
  *out = value;
  return MOK_OK;
}

/* "; did you mean '...'?" or "". */
static const char *did_you_mean(mok_arena *arena, const char *word, const char *const *words, size_t count, const char *dashes) {
  const char *near = mok_nearest_word(word, words, count);
  return near ? mok_arena_printf(arena, "; did you mean '%s%s'?", dashes, near) : "";
}

static const char *spelled(mok_arena *arena, size_t id) { return mok_arena_printf(arena, "--%s", mok_option_infos[id].name); }

static mok_status set_value(mok_arena *arena, mok_options *options, size_t id, const char *shown, const char *text) {
  const mok_option_info *info = &mok_option_infos[id];
  mok_option_value *value = value_of(options, id);
  if (info->kind == MOK_OPTION_INT) MOK_TRY(mok_parse_int(text, info->min, info->max, shown, &value->number));
  if (info->kind == MOK_OPTION_LIST) {
    const char **list = MOK_NEW_ARRAY(arena, value->count + 1, const char *);
    if (value->count > 0) memcpy(list, value->list, value->count * sizeof list[0]);
    list[value->count++] = text;
    value->list = list;
  }
  value->text = text;
  value->given = true;
  return MOK_OK;
}

/* One word that starts with '-'. `next` is the word after it or NULL; *used says how many words were taken. */
static mok_status parse_flag(mok_arena *arena, mok_options *options, const char *word, const char *next, int *used) {
  *used = 1;
  const bool is_long = word[1] == '-';
  const char *equals = is_long ? strchr(word, '=') : NULL;
  const char *name =
      is_long ? mok_arena_strndup(arena, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2)) : word + 1;
  size_t id = 0;
  for (; id < MOK_NUM_OPTIONS; ++id)
    if (is_long ? strcmp(mok_option_infos[id].name, name) == 0 : mok_option_infos[id].letter == word[1]) break;
  if (id == MOK_NUM_OPTIONS) {
    const char *names[MOK_NUM_OPTIONS];
    for (size_t i = 0; i < MOK_NUM_OPTIONS; ++i) names[i] = mok_option_infos[i].name;
    return MOK_ERROR(MOK_ERR_USAGE, "unknown flag '%s'%s", word, did_you_mean(arena, name, names, MOK_NUM_OPTIONS, "--"));
  }
  const mok_option_info *info = &mok_option_infos[id];
  const char *shown = is_long ? spelled(arena, id) : mok_arena_strndup(arena, word, 2);
  const char *attached = is_long ? (equals ? equals + 1 : NULL) : (word[2] != '\0' ? word + 2 : NULL);
  if (info->kind == MOK_OPTION_FLAG) {
    if (attached) return MOK_ERROR(MOK_ERR_USAGE, "flag '%s' takes no value, but '%s' gives one", shown, word);
    return set_value(arena, options, id, shown, "");
  }
  if (!attached) {
    if (!next) return MOK_ERROR(MOK_ERR_USAGE, "flag '%s' needs a value: %s %s", shown, shown, info->argument);
    attached = next;
    *used = 2;
  }
  return set_value(arena, options, id, shown, attached);
}

static size_t visible_commands(const char *names[MOK_NUM_COMMANDS]) {
  size_t count = 0;
  for (size_t i = 0; i < MOK_NUM_COMMANDS; ++i)
    if (!mok_commands[i].hidden) names[count++] = mok_commands[i].name;
  return count;
}

/* The first operand is a command, or the file of the default command: then it exists, or looks like a path. */
static mok_status choose_command(mok_arena *arena, mok_options *options) {
  options->command = MOK_COMMAND_BUILD;
  if (options->operand_count == 0) return MOK_OK;
  const char *word = options->operands[0];
  for (size_t i = 0; i < MOK_NUM_COMMANDS; ++i) {
    if (strcmp(word, mok_commands[i].name) != 0) continue;
    options->command = (mok_command_id)i;
    options->command_given = true;
    options->operands += 1;
    options->operand_count -= 1;
    return MOK_OK;
  }
  if (strpbrk(word, "./") || strcmp(word, "-") == 0 || access(word, F_OK) == 0) return MOK_OK;
  const char *names[MOK_NUM_COMMANDS];
  const size_t count = visible_commands(names);
  return MOK_ERROR(MOK_ERR_USAGE, "unknown command '%s'%s", word, did_you_mean(arena, word, names, count, ""));
}

static mok_status check_operands(const mok_options *options) {
  const mok_command_info *command = &mok_commands[options->command];
  if (options->operand_count < (size_t)command->min_operands)
    return MOK_ERROR(MOK_ERR_USAGE, "%s needs %s; see mokgen %s --help", command->name, command->operand, command->name);
  if (options->operand_count > (size_t)command->max_operands)
    return MOK_ERROR(MOK_ERR_USAGE, "%s: unexpected '%s'", command->name, options->operands[command->max_operands]);
  return MOK_OK;
}

mok_status mok_options_parse(mok_arena *arena, int argc, char **argv, mok_options *out) {
  memset(out, 0, sizeof *out);
  const char **operands = MOK_NEW_ARRAY(arena, (size_t)argc + 1, const char *);
  out->operands = operands;
  bool flags = true;
  for (int i = 1; i < argc;) {
    if (flags && strcmp(argv[i], "--") == 0) {
      flags = false;
      ++i;
    } else if (flags && argv[i][0] == '-' && argv[i][1] != '\0') {
      int used = 0;
      MOK_TRY(parse_flag(arena, out, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used));
      i += used;
    } else {
      operands[out->operand_count++] = argv[i++];
    }
  }
  MOK_TRY(choose_command(arena, out));
  for (size_t id = 0; id < MOK_NUM_OPTIONS; ++id)
    if (value_of(out, id)->given && !(mok_option_infos[id].commands & (1u << out->command)))
      return MOK_ERROR(MOK_ERR_USAGE, "flag '%s' does not apply to command '%s'", spelled(arena, id),
                       mok_commands[out->command].name);
  if (out->help.given || out->version.given) return MOK_OK;
  return check_operands(out);
}

/* Text behind a column of 26, folded at 100. */
static void help_row(mok_buf *out, const char *left, const char *text) {
  enum { COLUMN = 26, WIDTH = 100 };
  mok_buf_puts(out, left);
  if (strlen(left) + 1 > COLUMN) mok_buf_putc(out, '\n');
  mok_buf_pad_to(out, COLUMN);
  size_t column = COLUMN;
  while (*text) {
    const size_t word = strcspn(text, " ");
    if (column > COLUMN && column + word + 1 > WIDTH) {
      mok_buf_putc(out, '\n');
      mok_buf_pad_to(out, COLUMN);
      column = COLUMN;
    } else if (column > COLUMN) {
      mok_buf_putc(out, ' ');
      ++column;
    }
    mok_buf_write(out, text, word);
    column += word;
    text += word + (text[word] == ' ');
  }
  mok_buf_putc(out, '\n');
}

static void option_rows(mok_buf *out, mok_command_id command) {
  for (size_t id = 0; id < MOK_NUM_OPTIONS; ++id) {
    const mok_option_info *info = &mok_option_infos[id];
    if (!(info->commands & (1u << command))) continue;
    const char *left = info->letter ? mok_arena_printf(out->arena, "  -%c, --%s", info->letter, info->name)
                                    : mok_arena_printf(out->arena, "      --%s", info->name);
    if (info->argument[0]) left = mok_arena_printf(out->arena, "%s=%s", left, info->argument);
    help_row(out, left, info->help);
  }
}

void mok_options_help(const mok_options *options, mok_buf *out) {
  if (options->command_given) {
    const mok_command_info *command = &mok_commands[options->command];
    mok_buf_printf(out, "usage: mokgen %s [flags]%s%s\n\n%s\n\nflags:\n", command->name, command->operand[0] ? " " : "",
                   command->operand, command->summary);
    option_rows(out, options->command);
  } else {
    mok_buf_puts(out,
                 "usage: mokgen [COMMAND] [flags] MODEL.lua\n\n"
                 "Compiles a mixture-of-experts layer described in Lua into one megakernel.\n\ncommands:\n");
    for (size_t i = 0; i < MOK_NUM_COMMANDS; ++i) {
      const mok_command_info *command = &mok_commands[i];
      if (command->hidden) continue;
      help_row(out, mok_arena_printf(out->arena, "  %s %s", command->name, command->operand), command->summary);
    }
    mok_buf_puts(out, "\nflags of build (mokgen COMMAND --help for the others):\n");
    option_rows(out, MOK_COMMAND_BUILD);
  }
  mok_buf_puts(out, "\nenvironment:\n");
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i)
    help_row(out, mok_arena_printf(out->arena, "  %s", variables[i].name), variables[i].help);
  if (options->command_given) return;
  mok_buf_puts(out, "\nexit codes:\n");
  help_row(out, "  0", "fine");
  static const int codes[] = {
#define MOK_STATUS_CODE(name, exit_code, meaning) exit_code,
#include "../../runtime/base/status_codes.def"
#undef MOK_STATUS_CODE
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i)
    help_row(out, mok_arena_printf(out->arena, "  %d", codes[i]), mok_code_meaning((mok_code)codes[i]));
}
