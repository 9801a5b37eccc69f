/* Between the files of this folder: one compilation, whichever compiler does it. */
#ifndef MOK_JIT_COMPILE_H
#define MOK_JIT_COMPILE_H

#include "../../runtime/base/sha256.h"
#include "jit.h"

enum { MOK_MAX_ARGUMENTS = 48 };

typedef struct mok_compilation {
  const mok_target *target;
  const char *templates; /* folder of templates/ that the target uses */
  mok_blob kernel;
  /* Generated ones and the target's templates; names as the kernel includes them: plain, or "host/...". */
  const mok_blob *headers;
  size_t header_count;
  const char *arguments[MOK_MAX_ARGUMENTS]; /* options, one each; NULL at the end */
  size_t argument_count;
  const char *identity; /* compiler for the key: product, version, build */
  const char *compiler; /* the same for people: "NVRTC 13.0" */
  const char *path;     /* of the compiler; not in the key */
  bool want_ptx;
} mok_compilation;

/* Files beside kernel.cu: the two generated headers and the templates of the target's folder and of the root, sorted by name. */
void mok_compilation_headers(mok_arena *arena, mok_compilation *c, const mok_sources *sources);
void mok_compilation_argument(mok_compilation *c, const char *argument);

/* Finds the compiler and fills identity, compiler, path and arguments. Not found: MOK_ERR_IO naming the places tried. */
MOK_MUST_USE mok_status mok_nvrtc_prepare(mok_arena *arena, mok_compilation *c);
MOK_MUST_USE mok_status mok_hostcc_prepare(mok_arena *arena, mok_compilation *c, const char *sanitizer);

MOK_MUST_USE mok_status mok_nvrtc_compile(mok_arena *arena, const mok_compilation *c, mok_image *out);
MOK_MUST_USE mok_status mok_hostcc_compile(mok_arena *arena, const mok_compilation *c, mok_image *out);

/* Writes kernel and headers to `folder`; those of a template folder to `subfolder` (NULL: none has one). Not synced. */
MOK_MUST_USE mok_status mok_compilation_write(mok_arena *arena, const mok_compilation *c, const char *folder,
                                              const char *subfolder);

/* Keeps sources, log and `command` in a folder of their own; MOK_ERR_CODEGEN that names it. `what` says what went wrong. */
mok_status mok_keep_failed(mok_arena *arena, const mok_compilation *c, const char *command, const char *log, const char *what);

/* The first lines of a compiler's log, each on a new line behind a bar; "" if it is empty. */
const char *mok_log_excerpt(mok_arena *arena, const char *log);

/* Registers, spills, stack and static shared memory from ptxas' -v report. False if the report has no such lines. */
bool mok_ptxas_resources(const char *log, mok_image *out);
/* Why a kernel with this report is refused ("8 bytes spilled"), NULL if it is not. */
const char *mok_ptxas_refusal(mok_arena *arena, const char *log, const mok_image *image);

/* Cache. `key` is 64 hex digits and a NUL. */
void mok_cache_key(const mok_compilation *c, char key[65]);
/* True: hit; the caller sets the names of the blobs. */
bool mok_cache_load(mok_arena *arena, const char *key, bool verbose, mok_image *out);
/* MOKGEN_CACHE_BYTES, or the default where that is not set; MOK_ERR_USAGE for what is no size. */
MOK_MUST_USE mok_status mok_cache_bound(int64_t *bytes);
/* Keeps an entry; then drops the least recently used ones until all fit `bound` bytes. */
void mok_cache_store(mok_arena *arena, const char *key, const char *what, int64_t bound, bool verbose, const mok_image *image);

#endif
