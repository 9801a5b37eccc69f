/* Compiles one kernel folder for a target and checks what ptxas and the PTX say of it.
 *
 *   compile_case [--twice] [--image FILE] TARGET FOLDER MAX_REGISTERS [INSTRUCTION...]
 *
 * --twice: the same bytes come out again, with another folder for temporary files. --image: the code goes to FILE. Target host
 * has
 * no registers and no PTX.
 * FOLDER holds kernel.cu, mok_plan.h and mok_layout.h; templates are those built into mokgen. Each INSTRUCTION must occur in the
 * PTX; one with a leading '!' must not. Spills and stack frames fail inside mok_jit_compile. Exit code 77 if the compiler is not
 * installed, 1 if CI=true: there it must be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/jit/jit.h"
#include "../../runtime/base/file.h"

enum { SKIPPED = 77, SOURCE_LIMIT = 16 << 20 };

static int fail(mok_status status) {
  fprintf(stderr, "%s\n", mok_status_text(status));
  const int code = mok_status_exit_code(status);
  mok_status_free(status);
  const char *ci = getenv("CI");
  if (code != MOK_ERR_IO || (ci && strcmp(ci, "true") == 0)) return 1;
  printf("skipped: the compiler is not installed\n");
  return SKIPPED;
}

static mok_status read_sources(mok_arena *arena, const char *folder, mok_sources *out) {
  MOK_TRY(mok_file_read(arena, mok_path_join(arena, folder, "kernel.cu"), SOURCE_LIMIT, &out->kernel));
  MOK_TRY(mok_file_read(arena, mok_path_join(arena, folder, "mok_plan.h"), SOURCE_LIMIT, &out->plan_h));
  MOK_TRY(mok_file_read(arena, mok_path_join(arena, folder, "mok_layout.h"), SOURCE_LIMIT, &out->layout_h));
  out->kernel.name = "kernel.cu";
  out->plan_h.name = "mok_plan.h";
  out->layout_h.name = "mok_layout.h";
  return MOK_OK;
}

static int check_resources(const mok_image *image, long max_registers) {
  int wrong = 0;
  printf("%s: %lld registers, %lld bytes spilled, %lld bytes stack, %lld bytes static shared, %zu bytes of code\n",
         image->compiler, (long long)image->registers, (long long)image->spill_bytes, (long long)image->stack_bytes,
         (long long)image->shared_bytes, image->code.size);
  if (image->registers <= 0 || image->registers > max_registers) {
    printf("FAIL: at most %ld registers are allowed\n", max_registers);
    wrong = 1;
  }
  if (image->spill_bytes != 0 || image->stack_bytes != 0 || image->shared_bytes != 0) {
    printf("FAIL: no spill, stack frame or static shared memory is allowed\n");
    wrong = 1;
  }
  return wrong;
}

static int check_instructions(const mok_image *image, char **instructions) {
  int wrong = 0;
  for (; *instructions; instructions++) {
    const int forbidden = **instructions == '!';
    if ((strstr(image->ptx.data, *instructions + forbidden) != NULL) == !forbidden) continue;
    printf("FAIL: the PTX has %s %s\n", forbidden ? "a forbidden" : "no", *instructions + forbidden);
    wrong = 1;
  }
  return wrong;
}

/* Compiles again, with temporary files elsewhere. */
static mok_status check_twice(mok_arena *arena, const mok_sources *sources, const mok_jit_options *options,
                              const mok_image *first, int *wrong) {
  const char *folder = NULL;
  mok_image second;
  MOK_TRY(mok_temp_folder_create(arena, NULL, &folder));
  setenv("TMPDIR", folder, 1);
  mok_status status = mok_jit_compile(arena, sources, options, &second);
  mok_temp_folder_remove(folder);
  if (status) return status;
  *wrong = second.code.size != first->code.size || memcmp(second.code.data, first->code.data, first->code.size) != 0 ||
           second.ptx.size != first->ptx.size || memcmp(second.ptx.data, first->ptx.data, first->ptx.size) != 0;
  if (*wrong) printf("FAIL: compiled twice, the bytes differ\n");
  return MOK_OK;
}

int main(int argc, char **argv) {
  const int twice = argc > 1 && strcmp(argv[1], "--twice") == 0;
  argv += twice;
  argc -= twice;
  const char *file = argc > 2 && strcmp(argv[1], "--image") == 0 ? argv[2] : NULL;
  argv += file ? 2 : 0;
  argc -= file ? 2 : 0;
  if (argc < 4) {
    fprintf(stderr, "usage: compile_case [--twice] [--image FILE] TARGET FOLDER MAX_REGISTERS [INSTRUCTION...]\n");
    return 2;
  }
  mok_arena *arena = mok_arena_create();
  mok_sources sources;
  mok_status status = read_sources(arena, argv[2], &sources);
  if (status) {
    fprintf(stderr, "%s\n", mok_status_text(status));
    return 1;
  }
  mok_jit_options options = {.target = mok_target_find(argv[1])};
  if (!options.target) {
    fprintf(stderr, "unknown target %s\n", argv[1]);
    return 2;
  }
  options.want_ptx = !options.target->native;
  mok_image image;
  int wrong = 0;
  status = mok_jit_compile(arena, &sources, &options, &image);
  if (status) return fail(status);
  if (image.code.size < 4 || memcmp(image.code.data, "\177ELF", 4) != 0) {
    printf("FAIL: the code is no ELF file\n");
    wrong = 1;
  }
  if (options.want_ptx) wrong |= check_resources(&image, strtol(argv[3], NULL, 10)) | check_instructions(&image, argv + 4);
  if (twice) {
    int differs = 0;
    status = check_twice(arena, &sources, &options, &image, &differs);
    if (status) return fail(status);
    wrong |= differs;
  }
  if (file && (status = mok_file_write(file, image.code.data, image.code.size)) != MOK_OK) return fail(status);
  mok_arena_destroy(arena);
  return wrong;
}
