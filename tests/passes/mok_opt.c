/* mok-opt: reads or builds a module, runs passes, prints it. For the tests of the passes.
 *
 *   mok-opt (FILE | --build) [--set FIELD=VALUE]... [--passes=A,B | --until=PASS | --all] [--no-check] [--round-trip]
 *
 * A FILE without mok.plan gets the one of tiny_plan.h's model with the settings. Exit codes as of mokgen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/ir/ir_impl.h"
#include "../../compiler/passes/pass.h"
#include "../../runtime/base/file.h"
#include "tiny_plan.h"

typedef struct command {
  const char *file;
  bool build, all, check_warns, round_trip;
  const char *passes, *until;
  mok_model *model;
} command;

static const char *value_of(const char *arg, const char *name) {
  const size_t n = strlen(name);
  return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

static mok_status parse_args(mok_arena *arena, int argc, char **argv, command *c) {
  c->model = mok_tiny_model(arena);
  for (int i = 1; i < argc; ++i) {
    const char *arg = argv[i], *value = NULL;
    if (strcmp(arg, "--build") == 0) {
      c->build = true;
    } else if (strcmp(arg, "--all") == 0) {
      c->all = true;
    } else if (strcmp(arg, "--no-check") == 0) {
      c->check_warns = true;
    } else if (strcmp(arg, "--round-trip") == 0) {
      c->round_trip = true;
    } else if ((value = value_of(arg, "--passes="))) {
      c->passes = value;
    } else if ((value = value_of(arg, "--until="))) {
      c->until = value;
    } else if (strcmp(arg, "--set") == 0 && i + 1 < argc) {
      if (!mok_tiny_set(arena, c->model, argv[++i])) return MOK_ERROR(MOK_ERR_USAGE, "no such setting: %s", argv[i]);
    } else if ((arg[0] != '-' || !arg[1]) && !c->file) {
      c->file = arg;
    } else {
      return MOK_ERROR(MOK_ERR_USAGE, "unknown argument: %s", arg);
    }
  }
  if (c->build == (c->file != NULL)) return MOK_ERROR(MOK_ERR_USAGE, "either FILE or --build");
  return MOK_OK;
}

/* The plan comes from the module if it states one. */
static mok_status get_module(mok_arena *arena, mok_diag *diag, mok_ir *ir, const command *c, const mok_plan **plan,
                             mok_module **out) {
  if (c->build) {
    MOK_TRY(mok_tiny_plan(arena, diag, c->model, plan));
    return mok_ir_build(ir, *plan, out);
  }
  mok_blob text;
  MOK_TRY(mok_file_read(arena, c->file, 1 << 24, &text));
  MOK_TRY(mok_ir_parse(ir, mok_path_base(c->file), text.data, text.size, out));
  if (!mlirAttributeIsNull(mok_op_get(mlirModuleGetOperation((*out)->module), "mok.plan")))
    return mok_ir_plan(ir, *out, arena, plan);
  MOK_TRY(mok_tiny_plan(arena, diag, c->model, plan));
  mok_module_set_plan(*out, *plan);
  return MOK_OK;
}

static mok_status run_passes(mok_arena *arena, mok_ir *ir, const command *c, mok_module *module, const mok_plan *plan) {
  mok_pipeline_options options = {.stop_after = c->until, .check_warns = c->check_warns};
  const mok_pass *list[32];
  if (c->passes) {
    char *names = mok_arena_strdup(arena, c->passes);
    for (char *name = strtok(names, ","); name && options.only_count < 32; name = strtok(NULL, ",")) {
      const mok_pass *pass = mok_pass_find(name);
      if (!pass) return MOK_ERROR(MOK_ERR_USAGE, "no pass is named '%s'", name);
      list[options.only_count++] = pass;
    }
    options.only = list;
  } else if (!c->all && !c->until) {
    return MOK_OK;
  }
  return mok_pipeline_run(ir, module, plan, &options);
}

static mok_status run(mok_arena *arena, mok_diag *diag, mok_ir *ir, int argc, char **argv) {
  command c = {.file = NULL};
  MOK_TRY(parse_args(arena, argc, argv, &c));
  const mok_plan *plan = NULL;
  mok_module *module = NULL;
  MOK_TRY(get_module(arena, diag, ir, &c, &plan, &module));
  MOK_TRY(run_passes(arena, ir, &c, module, plan));
  mok_buf text = mok_buf_make(arena);
  mok_ir_print(module, &text);
  if (c.round_trip) {
    mok_module *again = NULL;
    MOK_TRY(mok_ir_parse(ir, "printed", text.data, text.size, &again));
    mok_buf second = mok_buf_make(arena);
    mok_ir_print(again, &second);
    if (strcmp(text.data, second.data) != 0)
      return MOK_ERROR(MOK_ERR_CODEGEN, "printing, parsing and printing gives another text");
  }
  fwrite(text.data, 1, text.size, stdout);
  return MOK_OK;
}

int main(int argc, char **argv) {
  mok_arena *arena = mok_arena_create();
  mok_diag *diag = mok_diag_create(arena);
  mok_ir *ir = mok_ir_create(diag);
  mok_status status = run(arena, diag, ir, argc, argv);
  mok_diag_print(diag, stderr, false);
  if (status && !mok_status_is_reported(status)) fprintf(stderr, "mok-opt: error: %s\n", mok_status_text(status));
  const int code = mok_status_exit_code(status);
  mok_status_free(status);
  mok_ir_destroy(ir);
  mok_arena_destroy(arena);
  return code;
}
