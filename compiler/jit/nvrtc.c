#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "compile.h"
#include "nvrtc_library.h"
#include "nvrtc_status.h"

/* ------------------------------------------------------------------------------------------------ which NVRTC */

enum { FOUND = 'F', NOT_FOUND = 'N' };

static const char no_cache[] = "--no-cache"; /* NVRTC's, not ours */

static void probe(void *user, int fd) {
  const int arch = *(const int *)user;
  mok_arena *arena = mok_arena_create();
  mok_buf tried = mok_buf_make(arena);
  mok_nvrtc nvrtc;
  const char *path = NULL;
  mok_buf reply = mok_buf_make(arena);
  if (mok_nvrtc_open_first(arena, arch, &nvrtc, &path, &tried))
    mok_buf_printf(&reply, "%c%s\n%s", FOUND, mok_nvrtc_identity(arena, &nvrtc), path);
  else mok_buf_printf(&reply, "%c%s", NOT_FOUND, tried.data);
  mok_child_write(fd, reply.data, reply.size);
}

static int arch_number(const char *target) { return strncmp(target, "sm_", 3) == 0 ? atoi(target + 3) : 0; }

static mok_status crashed(const mok_child_end *end, const char *what) {
  return end->exited ? MOK_ERROR(MOK_ERR_IO, "%s ended with status %d", what, end->number)
                     : MOK_ERROR(MOK_ERR_IO, "%s crashed: %s", what, strsignal(end->number));
}

mok_status mok_nvrtc_prepare(mok_arena *arena, mok_compilation *c) {
  int arch = arch_number(c->target->name);
  mok_buf reply = mok_buf_make(arena);
  mok_child_end end = {0};
  MOK_TRY(mok_child_run(probe, &arch, &reply, &end));
  if (!end.exited || end.number != 0 || reply.size == 0) return crashed(&end, "loading NVRTC");
  if (reply.data[0] != FOUND)
    return MOK_ERROR(MOK_ERR_IO,
                     "NVRTC, the compiler for %s, was not found; tried:%s\n"
                     "  MOKGEN_NVRTC names the library or its folder (then nothing else is searched)",
                     c->target->name, reply.data + 1);
  char *line_end = strchr(reply.data, '\n');
  if (!line_end) return crashed(&end, "loading NVRTC");
  *line_end = '\0';
  c->identity = mok_arena_printf(arena, "NVRTC %s", reply.data + 1);
  c->path = line_end + 1;
  const char *build = strstr(c->identity, " build "); /* "NVRTC 13.0 build ..." */
  c->compiler = build ? mok_arena_strndup(arena, c->identity, (size_t)(build - c->identity)) : c->identity;

  mok_compilation_argument(c, mok_arena_printf(arena, "--gpu-architecture=%s", c->target->name));
  mok_compilation_argument(c, "--std=c++17");
  mok_compilation_argument(c, "--prec-div=false"); /* 2 ulp in fp32; the exact division costs an epilogue a call per column */
  mok_compilation_argument(c, "--ptxas-options=-v");
  /* Where there is a driver NVRTC has a cache of its own, and what comes from it has no log: nothing would show spills. */
  mok_compilation_argument(c, no_cache);
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ compile */

typedef struct reply_head {
  int32_t result; /* NVRTC's; -1: the library does not open any more */
  int32_t reserved;
  uint64_t word_size, log_size, code_size, ptx_size; /* the texts that follow, in this order */
} reply_head;

static const char *get_text(mok_arena *arena, int (*size_of)(void *, size_t *), int (*get)(void *, char *), void *program,
                            size_t *size) {
  *size = 0;
  if (size_of(program, size) != 0 || *size == 0) return "";
  char *text = mok_arena_alloc(arena, *size + 1);
  if (get(program, text) != 0) {
    *size = 0;
    return "";
  }
  return text;
}

static void compile(void *user, int fd) {
  const mok_compilation *c = user;
  mok_arena *arena = mok_arena_create();
  mok_nvrtc nvrtc;
  const char *word = "", *log = "", *code = "", *ptx = "";
  reply_head head = {.result = -1};
  if (mok_nvrtc_open(c->path, &nvrtc, &word)) {
    const char **texts = MOK_NEW_ARRAY(arena, c->header_count, const char *);
    const char **names = MOK_NEW_ARRAY(arena, c->header_count, const char *);
    for (size_t i = 0; i < c->header_count; i++) {
      texts[i] = mok_arena_strndup(arena, c->headers[i].data, c->headers[i].size);
      names[i] = c->headers[i].name;
    }
    const char *source = mok_arena_strndup(arena, c->kernel.data, c->kernel.size);
    void *program = NULL;
    head.result = nvrtc.nvrtcCreateProgram(&program, source, c->kernel.name, (int)c->header_count, texts, names);
    if (head.result == MOK_NVRTC_SUCCESS) {
      head.result = nvrtc.nvrtcCompileProgram(program, (int)c->argument_count, c->arguments);
      log = get_text(arena, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program, &head.log_size);
      if (head.log_size > 0) head.log_size = strlen(log); /* without the NUL that the library counts */
    }
    if (head.result == MOK_NVRTC_SUCCESS) {
      code = get_text(arena, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program, &head.code_size);
      if (c->want_ptx) {
        ptx = get_text(arena, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program, &head.ptx_size);
        if (head.ptx_size > 0) head.ptx_size = strlen(ptx);
      }
    }
    if (head.result != MOK_NVRTC_SUCCESS) word = nvrtc.nvrtcGetErrorString(head.result);
  }
  head.word_size = strlen(word);
  mok_child_write(fd, &head, sizeof head);
  mok_child_write(fd, word, head.word_size);
  mok_child_write(fd, log, head.log_size);
  mok_child_write(fd, code, head.code_size);
  mok_child_write(fd, ptx, head.ptx_size);
}

/* The same compilation by hand, in a folder that holds kernel and headers. nvcc has NVRTC's front end and ptxas. */
static const char *reproducing_command(mok_arena *arena, const mok_compilation *c) {
  mok_buf text = mok_buf_make(arena);
  mok_buf_puts(&text, "nvcc -cubin");
  for (size_t i = 0; i < c->argument_count; i++)
    if (c->arguments[i] != no_cache) mok_buf_printf(&text, " %s", c->arguments[i]); /* nvcc has none */
  mok_buf_printf(&text, " -o forward.cubin %s", c->kernel.name);
  return text.data;
}

mok_status mok_nvrtc_compile(mok_arena *arena, const mok_compilation *c, mok_image *out) {
  mok_buf reply = mok_buf_make(arena);
  mok_child_end end = {0};
  mok_compilation copy = *c;
  MOK_TRY(mok_child_run(compile, &copy, &reply, &end));
  const char *command = reproducing_command(arena, c);
  if (!end.exited)
    return mok_keep_failed(arena, c, command, "", mok_arena_printf(arena, "NVRTC crashed: %s", strsignal(end.number)));

  reply_head head;
  if (end.number != 0 || reply.size < sizeof head) return crashed(&end, "NVRTC");
  memcpy(&head, reply.data, sizeof head);
  if (head.word_size + head.log_size + head.code_size + head.ptx_size != reply.size - sizeof head) return crashed(&end, "NVRTC");
  const char *at = reply.data + sizeof head;
  const char *word = mok_arena_strndup(arena, at, head.word_size);
  const char *log = mok_arena_strndup(arena, at + head.word_size, head.log_size);
  const char *code = at + head.word_size + head.log_size;

  if (head.result == -1) return MOK_ERROR(MOK_ERR_IO, "cannot load NVRTC from %s: %s", c->path, word);
  if (mok_nvrtc_is_installation(head.result))
    return MOK_ERROR(MOK_ERR_IO, "%s (%s): %s", mok_nvrtc_meaning(head.result), word, c->path);
  if (head.result != MOK_NVRTC_SUCCESS)
    return mok_keep_failed(arena, c, command, log, mok_arena_printf(arena, "%s (%s)", mok_nvrtc_meaning(head.result), word));

  out->log = log;
  if (!mok_ptxas_resources(log, out))
    return mok_keep_failed(arena, c, command, log, "ptxas reported no registers, so nothing shows that the kernel has no spill");
  const char *refusal = mok_ptxas_refusal(arena, log, out);
  if (refusal) return mok_keep_failed(arena, c, command, log, refusal);
  if (head.code_size == 0) return mok_keep_failed(arena, c, command, log, "NVRTC returned no cubin");
  out->code = (mok_blob){.name = "forward.cubin", .data = code, .size = head.code_size};
  if (c->want_ptx) {
    if (head.ptx_size == 0) return mok_keep_failed(arena, c, command, log, "NVRTC returned no PTX");
    out->ptx = (mok_blob){.name = "forward.ptx", .data = code + head.code_size, .size = head.ptx_size};
  }
  return MOK_OK;
}
