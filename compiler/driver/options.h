/* The command line: parsed strictly from options.def. */
#ifndef MOK_DRIVER_OPTIONS_H
#define MOK_DRIVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../runtime/base/arena.h"
#include "../../runtime/base/buf.h"
#include "../../runtime/base/status.h"

typedef enum mok_command_id {
#define MOK_COMMAND(id, name, operand, min, max, hidden, summary) MOK_COMMAND_##id,
#include "options.def"
  MOK_NUM_COMMANDS
} mok_command_id;

enum {
#define MOK_COMMAND(id, name, operand, min, max, hidden, summary) MOK_FOR_##id = 1 << MOK_COMMAND_##id,
#include "options.def"
  MOK_FOR_ALL = (1 << MOK_NUM_COMMANDS) - 1
};

typedef enum mok_option_id {
#define MOK_OPTION(id, name, letter, argument, kind, min, max, commands, help) MOK_OPTION_##id,
#include "options.def"
  MOK_NUM_OPTIONS
} mok_option_id;

typedef enum mok_option_kind { MOK_OPTION_FLAG, MOK_OPTION_TEXT, MOK_OPTION_INT, MOK_OPTION_LIST } mok_option_kind;

typedef struct mok_command_info {
  const char *name, *operand;
  int min_operands, max_operands;
  bool hidden;
  const char *summary;
} mok_command_info;
extern const mok_command_info mok_commands[MOK_NUM_COMMANDS];

typedef struct mok_option_info {
  const char *name;
  char letter; /* 0: none */
  const char *argument;
  mok_option_kind kind;
  int64_t min, max; /* of an INT */
  unsigned commands;
  const char *help;
} mok_option_info;
extern const mok_option_info mok_option_infos[MOK_NUM_OPTIONS];

typedef struct mok_option_value {
  bool given;
  const char *text;        /* TEXT: the last one given */
  int64_t number;          /* INT */
  const char *const *list; /* LIST, in order */
  size_t count;
} mok_option_value;

typedef struct mok_options {
  mok_command_id command;
  bool command_given; /* false: the default command */
  const char *const *operands;
  size_t operand_count;
#define MOK_OPTION(id, name, letter, argument, kind, min, max, commands, help) mok_option_value id;
#include "options.def"
} mok_options;

/* Parses argv[1..]. Nothing is abbreviated or guessed: MOK_ERR_USAGE names the word and the nearest known one. With --help or
 * --version the operands are not checked. Values point into argv. */
MOK_MUST_USE mok_status mok_options_parse(mok_arena *arena, int argc, char **argv, mok_options *out);

/* A whole decimal integer within min..max, nothing else; else MOK_ERR_USAGE naming `what`. */
MOK_MUST_USE mok_status mok_parse_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *out);
/* A finite decimal number within min..max; locale-free. */
MOK_MUST_USE mok_status mok_parse_number(const char *text, double min, double max, const char *what, double *out);

/* Help of the tool, or of one command. */
void mok_options_help(const mok_options *options, mok_buf *out);

#endif
