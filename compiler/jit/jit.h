/* Stage 6, compile: CUDA C -> cubin by NVRTC, or -> kernel.host.so by the system's C++ compiler; through the kernel cache. */
#ifndef MOK_JIT_H
#define MOK_JIT_H

#include "../emit/emit.h"

typedef struct mok_image {
  mok_blob code;                                             /* "forward.cubin" or "kernel.host.so" */
  mok_blob ptx;                                              /* "forward.ptx"; empty when not asked for */
  int64_t registers, spill_bytes, stack_bytes, shared_bytes; /* static shared; 0 for host */
  const char *log;                                           /* compiler's log, "" if silent */
  const char *compiler;                                      /* "NVRTC 13.0", "g++ 12.2.0" */
  bool from_cache;
} mok_image;

typedef struct mok_jit_options {
  const mok_target *target;
  bool want_ptx; /* --emit=ptx: PTX too */
  bool use_cache;
  const char *sanitizer; /* host: "", "address,undefined", "thread" */
  bool verbose;          /* notes on stderr: cache hits, compiler command */
} mok_jit_options;

/* Compiles. Compiler not found: MOK_ERR_IO naming every place tried. Compilation failed, or a spill, stack frame or C7508/C7510
 * in the log: MOK_ERR_CODEGEN, the source is kept and its folder named, with the command line that reproduces it. */
MOK_MUST_USE mok_status mok_jit_compile(mok_arena *arena, const mok_sources *sources, const mok_jit_options *options,
                                        mok_image *out);

/* Kernel cache. Trouble with it never fails a compilation but becomes a note on stderr (verbose) and a miss; only a
 * MOKGEN_CACHE_BYTES that is no size is MOK_ERR_USAGE. */
typedef struct mok_cache_entry {
  const char *key; /* 64 hex digits */
  int64_t bytes;
  int64_t age_s;    /* since last use */
  const char *what; /* "sm_90a Megakernel forward of kimi-k2 on 2 x H200": from the entry's header */
  bool damaged;
} mok_cache_entry;
const char *mok_cache_folder(mok_arena *arena); /* MOKGEN_CACHE_DIR, $XDG_CACHE_HOME/mokgen, ~/.cache/mokgen; NULL: none */
MOK_MUST_USE mok_status mok_cache_list(mok_arena *arena, mok_cache_entry **entries, size_t *count); /* by key */
MOK_MUST_USE mok_status mok_cache_clear(mok_arena *arena, size_t *removed, int64_t *bytes);

#endif
