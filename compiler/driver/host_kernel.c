#include "host_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session.h"

/* dlopen wants a path. An anonymous file leaves nothing behind however the process ends. */
static mok_status open_library(mok_arena *arena, const mok_blob *code, mok_host_kernel *out) {
  out->file = memfd_create(code->name, MFD_CLOEXEC);
  if (out->file < 0) return MOK_ERROR(MOK_ERR_IO, "cannot load the host kernel: memfd_create: %s", strerror(errno));
  for (size_t at = 0; at < code->size;) {
    const ssize_t written = write(out->file, (const char *)code->data + at, code->size - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return MOK_ERROR(MOK_ERR_IO, "cannot load the host kernel: %s", strerror(errno));
    at += (size_t)written;
  }
  /* The process id rather than "self": a sanitizer's symbolizer is another process and opens the same path. */
  const char *path = mok_arena_printf(arena, "/proc/%ld/fd/%d", (long)getpid(), out->file);
  out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!out->library) return MOK_ERROR(MOK_ERR_IO, "cannot load the host kernel: %s", dlerror());
  return MOK_OK;
}

static mok_status check_about(const mok_host_about_t *about, const mok_plan *plan) {
  const struct {
    const char *what;
    int64_t library, plan;
  } facts[] = {
      {"host ABI", about->abi, MOK_HOST_ABI},
      {"argument ABI", about->args_abi, MOK_ARGS_ABI},
      {"heap bytes", about->heap_bytes, plan->layout.bytes[MOK_SPACE_HEAP]},
      {"local bytes", about->local_bytes, plan->layout.bytes[MOK_SPACE_LOCAL]},
      {"ranks", about->gpus, plan->model->gpus},
      {"token capacity", about->tokens_per_gpu, plan->model->tokens_per_gpu},
      {"communication CTAs", about->sms_comm, plan->sms_comm},
      {"compute CTAs", about->sms_compute, plan->sms_compute},
  };
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; ++i)
    if (facts[i].library != facts[i].plan)
      return MOK_ERROR(MOK_ERR_CODEGEN, "the host kernel does not belong to the plan: %s is %" PRId64 ", the plan says %" PRId64,
                       facts[i].what, facts[i].library, facts[i].plan);
  return MOK_OK;
}

static mok_weight weight_of(const mok_matrix *matrix, int64_t first, int64_t rows, int64_t columns) {
  if (!matrix->data) return (mok_weight){NULL, 0, 0};
  return (mok_weight){matrix->data + first * rows * columns, rows * columns, columns};
}

static size_t page_rounded(int64_t bytes) { return ((size_t)bytes + 4095) & ~(size_t)4095; }

size_t mok_host_kernel_bytes(const mok_plan *plan) {
  const int64_t *space = plan->layout.bytes, gpus = plan->model->gpus;
  const int64_t ctas = gpus * (plan->sms_comm + plan->sms_compute), workers = plan->threads / 32;
  /* A clock has a word for each CTA (templates/host/mok_clocks.h): three of a worker, four of a CTA. The shadow of guarded memory
   * is a quarter of it. A fiber touches two or three pages of its stack. */
  const int64_t clocks = ctas * ctas * (3 * workers + 4) * (int64_t)sizeof(void *);
  const int64_t fibers = ctas * (workers + 1) * 12288;
  return (size_t)(gpus * (space[MOK_SPACE_HEAP] + space[MOK_SPACE_LOCAL]) * 5 / 4 + clocks + fibers);
}

static mok_status make_ranks(mok_arena *arena, mok_host_kernel *kernel, const mok_problem *problem) {
  const mok_model *m = kernel->plan->model;
  const size_t heap = page_rounded(kernel->plan->layout.bytes[MOK_SPACE_HEAP]);
  const size_t local = page_rounded(kernel->plan->layout.bytes[MOK_SPACE_LOCAL]);
  const int64_t H = m->hidden, I = m->intermediate, S = m->shared_intermediate;
  MOK_TRY(mok_matrix_map((heap + local) * (size_t)m->gpus, "heaps and workspaces of all ranks", &kernel->memory));
  char *base = (char *)kernel->memory.data;
  kernel->ranks = MOK_NEW_ARRAY(arena, (size_t)m->gpus, mok_rank_args);
  for (int64_t r = 0; r < m->gpus; ++r) {
    const mok_rank_problem *rank = &problem->ranks[r];
    const int64_t first = mok_first_expert(m, r);
    mok_rank_args *args = &kernel->ranks[r];
    args->x = rank->x;
    args->topk_ids = rank->ids;
    args->topk_weights = rank->weights;
    args->out = rank->out;
    args->gate = weight_of(&problem->gate, first, I, H);
    args->up = weight_of(&problem->up, first, I, H);
    args->down = weight_of(&problem->down, first, H, I);
    args->shared_gate = weight_of(&problem->shared_gate, 0, S, H);
    args->shared_up = weight_of(&problem->shared_up, 0, S, H);
    args->shared_down = weight_of(&problem->shared_down, 0, H, S);
    args->local = base + heap * (size_t)m->gpus + local * (size_t)r;
    for (int64_t peer = 0; peer < m->gpus; ++peer) args->heap[peer] = base + heap * (size_t)peer;
    args->tokens = (int)rank->tokens;
    args->rank = (int)r;
  }
  return MOK_OK;
}

mok_status mok_host_kernel_load(mok_arena *arena, const mok_plan *plan, const mok_image *image, mok_problem *problem,
                                mok_host_kernel *out) {
  memset(out, 0, sizeof *out);
  out->file = -1;
  out->plan = plan;
  MOK_TRY(open_library(arena, &image->code, out));
  const mok_host_about_t *about = dlsym(out->library, MOK_HOST_ABOUT_SYMBOL);
  void *run = dlsym(out->library, MOK_HOST_RUN_SYMBOL);
  if (!about || !run)
    return MOK_ERROR(MOK_ERR_CODEGEN, "the host kernel lacks %s", about ? MOK_HOST_RUN_SYMBOL : MOK_HOST_ABOUT_SYMBOL);
  MOK_TRY(check_about(about, plan));
  memcpy(&out->run, &run, sizeof run); /* ISO C has no conversion from void* to a function pointer */
  return make_ranks(arena, out, problem);
}

void mok_host_kernel_unload(mok_host_kernel *kernel) {
  if (kernel->library) dlclose(kernel->library);
  if (kernel->file >= 0) close(kernel->file);
  mok_matrix_unmap(&kernel->memory);
  kernel->library = NULL;
  kernel->file = -1;
}

/* A launch may take minutes and polls nothing. Nothing is half written while it runs, so an interruption may end the process. */
static void leave_at_once(int signal_number) {
  static const char text[] = "\nmokgen: error: interrupted\n";
  (void)signal_number;
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(MOK_ERR_INTERRUPTED);
}

/* A kernel that is wrong can do anything. Sanitizers say more by themselves. */
static void crashed(int signal_number) {
  static const char text[] = "\nmokgen: error: the host kernel crashed: a bug of mokgen, or of the module given by --from\n";
  (void)signal_number;
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(MOK_ERR_CODEGEN);
}

enum { SIGNAL_STACK_BYTES = 16 << 10 }; /* of its own: a fiber may have overrun its stack */

static int run_guarded(const mok_host_kernel *kernel, const mok_host_launch_t *launch, mok_host_report_t *report) {
  static const struct {
    int number;
    void (*handler)(int);
  } signals[] = {{SIGINT, leave_at_once}, {SIGTERM, leave_at_once}, {SIGHUP, leave_at_once}, {SIGSEGV, crashed},
                 {SIGBUS, crashed},       {SIGILL, crashed},        {SIGFPE, crashed}};
  enum { NUM_SIGNALS = sizeof signals / sizeof signals[0] };
  static char stack[SIGNAL_STACK_BYTES];
  const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction before[NUM_SIGNALS];
  stack_t stack_before;
  const bool sanitized = MOKGEN_SANITIZE[0] != '\0';
  if (!sanitized) sigaltstack(&own, &stack_before);
  for (int i = 0; i < NUM_SIGNALS; ++i) {
    sigaction(signals[i].number, NULL, &before[i]);
    if (before[i].sa_handler == SIG_IGN) continue; /* nohup and the like stay in force */
    if (sanitized && signals[i].handler == crashed) continue;
    const struct sigaction action = {.sa_handler = signals[i].handler, .sa_flags = sanitized ? 0 : SA_ONSTACK};
    sigaction(signals[i].number, &action, NULL);
  }
  const int result = kernel->run(launch, report);
  for (int i = 0; i < NUM_SIGNALS; ++i) sigaction(signals[i].number, &before[i], NULL);
  if (!sanitized) sigaltstack(&stack_before, NULL);
  return result;
}

mok_status mok_host_kernel_launch(mok_arena *arena, mok_host_kernel *kernel, uint64_t seed, int64_t *time_us) {
  enum { REPORT_BYTES = 16 << 10 };
  char *text = mok_arena_alloc(arena, REPORT_BYTES);
  const mok_args args = {
      .ranks = kernel->ranks,
      .num_ranks_here = (int)kernel->plan->model->gpus,
      .phases = MOK_PHASE_ALL,
      .comm_ctas = (int)kernel->plan->sms_comm,
      .compute_ctas = (int)kernel->plan->sms_compute,
  };
  const mok_host_launch_t launch = {
      .struct_size = sizeof launch, .flags = MOK_HOST_POISON | MOK_HOST_RACES, .args = &args, .seed = (unsigned long long)seed};
  mok_host_report_t report = {.struct_size = sizeof report, .text = text, .text_size = REPORT_BYTES};
  const int64_t start = mok_session_clock_us();
  const int result = run_guarded(kernel, &launch, &report);
  *time_us = mok_session_clock_us() - start;
  kernel->signals = (int64_t)report.signals;
  const size_t length = strlen(text);
  if (length > 0 && text[length - 1] == '\n') text[length - 1] = '\0'; /* who prints it ends the line */
  switch ((mok_host_result)result) {
    case MOK_HOST_OK:
      return MOK_OK;
    case MOK_HOST_DEADLOCK:
      return MOK_ERROR(MOK_ERR_PROTOCOL, "deadlock under schedule seed %" PRIu64 "\n%s", seed, text);
    case MOK_HOST_BAD_LAUNCH:
      return MOK_ERROR(MOK_ERR_CODEGEN, "the host kernel refuses its arguments: %s", text);
    case MOK_HOST_FAULT:
      return MOK_ERROR(MOK_ERR_CODEGEN, "the host kernel failed: %s", text);
    case MOK_HOST_NO_MEMORY:
      return MOK_ERROR(MOK_ERR_IO, "the host kernel cannot run: %s", text);
    case MOK_HOST_ABORTED: /* a launch that fails ends the run, so none comes after it */
      return MOK_ERROR(MOK_ERR_PROTOCOL, "under schedule seed %" PRIu64 ": %s", seed, text);
    case MOK_HOST_FINDING:
      return MOK_ERROR(MOK_ERR_PROTOCOL, "under schedule seed %" PRIu64 ": %s", seed, text);
  }
  return MOK_ERROR(MOK_ERR_CODEGEN, "the host kernel returned %d, which its ABI does not know", result);
}
