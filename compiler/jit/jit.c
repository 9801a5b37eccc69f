#include "jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "compile.h"

void mok_compilation_argument(mok_compilation *c, const char *argument) {
  if (c->argument_count + 1 < MOK_MAX_ARGUMENTS) c->arguments[c->argument_count++] = argument;
}

static int by_name(const void *a, const void *b) { return strcmp(((const mok_blob *)a)->name, ((const mok_blob *)b)->name); }

void mok_compilation_headers(mok_arena *arena, mok_compilation *c, const mok_sources *sources) {
  mok_blob *headers = MOK_NEW_ARRAY(arena, mok_template_count + 2, mok_blob);
  headers[c->header_count++] = sources->plan_h;
  headers[c->header_count++] = sources->layout_h;
  const size_t folder_size = strlen(c->templates);
  for (size_t i = 0; i < mok_template_count; i++) {
    const mok_template *t = &mok_templates[i];
    const char *slash = strchr(t->name, '/');
    if (slash && ((size_t)(slash - t->name) != folder_size || strncmp(t->name, c->templates, folder_size) != 0)) continue;
    /* NVRTC looks names up in a list; a C++ compiler in folders, so there they stay where they are. */
    headers[c->header_count++] =
        (mok_blob){.name = slash && !c->target->native ? slash + 1 : t->name, .data = t->text, .size = t->size};
  }
  qsort(headers, c->header_count, sizeof headers[0], by_name);
  c->headers = headers;
}

static mok_status write_file(const char *path, const mok_blob *file) {
  FILE *out = fopen(path, "wxe");
  if (!out) return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  const bool written = fwrite(file->data, 1, file->size, out) == file->size;
  const int reason = errno;
  if (fclose(out) == 0 && written) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "cannot write %s: %s", path, strerror(written ? errno : reason));
}

mok_status mok_compilation_write(mok_arena *arena, const mok_compilation *c, const char *folder, const char *subfolder) {
  MOK_TRY(write_file(mok_path_join(arena, folder, c->kernel.name), &c->kernel));
  for (size_t i = 0; i < c->header_count; i++) {
    const char *plain = mok_path_base(c->headers[i].name);
    const char *parent = plain != c->headers[i].name && subfolder ? subfolder : folder;
    MOK_TRY(write_file(mok_path_join(arena, parent, plain), &c->headers[i]));
  }
  return MOK_OK;
}

/* "sm_90a Megakernel forward of kimi-k2 on 2 x H200": target and the first sentence of the kernel's first line. */
static const char *describe(mok_arena *arena, const mok_compilation *c) {
  const char *text = mok_arena_strndup(arena, c->kernel.data, c->kernel.size);
  text += strspn(text, "/* ");
  const size_t line = strcspn(text, "\n");
  size_t size = 0;
  while (size < line && strncmp(text + size, "  ", 2) != 0 && strncmp(text + size, ". ", 2) != 0) size++;
  while (size > 0 && strchr(" .*/\r", text[size - 1])) size--;
  if (size > 100) size = 100;
  return mok_arena_printf(arena, "%s %.*s", c->target->name, (int)size, text);
}

mok_status mok_jit_compile(mok_arena *arena, const mok_sources *sources, const mok_jit_options *options, mok_image *out) {
  *out = (mok_image){.log = "", .compiler = ""};
  if (!options->target->templates)
    return MOK_ERROR(MOK_ERR_NO_PLAN, "target %s is not in this version: %s", options->target->name, options->target->status);
  if (options->target->native && options->want_ptx)
    return MOK_ERROR(MOK_ERR_USAGE, "target %s has no PTX", options->target->name);
  MOK_TRY(mok_interrupt_check());
  int64_t bound = 0;
  if (options->use_cache) MOK_TRY(mok_cache_bound(&bound)); /* before the long work */

  mok_compilation c = {.target = options->target,
                       .templates = options->target->templates,
                       .kernel = sources->kernel,
                       .want_ptx = options->want_ptx};
  mok_compilation_headers(arena, &c, sources);
  if (c.target->native) {
    MOK_TRY(mok_hostcc_prepare(arena, &c, options->sanitizer ? options->sanitizer : ""));
  } else {
    MOK_TRY(mok_nvrtc_prepare(arena, &c));
  }

  char key[65];
  mok_cache_key(&c, key);
  if (options->use_cache && mok_cache_load(arena, key, options->verbose, out)) {
    out->code.name = c.target->native ? "kernel.host.so" : "forward.cubin";
    if (c.want_ptx) out->ptx.name = "forward.ptx";
    out->from_cache = true;
    if (options->verbose) fprintf(stderr, "mokgen: note: kernel %.12s from the cache\n", key);
  } else {
    if (options->verbose) fprintf(stderr, "mokgen: note: compiling with %s (%s)\n", c.compiler, c.path);
    MOK_TRY(c.target->native ? mok_hostcc_compile(arena, &c, out) : mok_nvrtc_compile(arena, &c, out));
    if (options->use_cache) mok_cache_store(arena, key, describe(arena, &c), bound, options->verbose, out);
  }
  out->compiler = c.compiler;
  return MOK_OK;
}
