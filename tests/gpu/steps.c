/* Steps through libmok as a program takes them: many launches with changing token counts, captured graphs, several workspaces,
 * and launches that go wrong. A package of several ranks runs with all of them on one device, or each on its own.
 *
 *   gpu_steps PACKAGE [LAUNCHES [DEVICES]]       DEVICES: 1, or as many as the package has ranks
 *
 * A token's output has the same bits in every launch that has the token, so one launch is compared with the reference and all
 * others with that one. On the emulated driver faults come from the host target, on a GPU from what is done to its memory. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../runtime/package/reader.h"
#include "../../runtime/runtime.h"
#include "../reference/random.h"
#include "../reference/reference.h"

enum { MAX_DEVICES = 8, LOCAL_TIMEOUT_MS = 300, PEER_TIMEOUT_MS = 600, SEED = 3 };

static const char *at = "start"; /* what is being done, for failures */

static _Noreturn void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "gpu_steps: %s: ", at);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

static void ok(mok_status status) {
  if (status) fail("%s", mok_status_text(status));
}

/* The status must be of this kind and its text have the part. */
static void is(mok_status status, int kind, const char *part) {
  if (mok_status_exit_code(status) != kind || !strstr(mok_status_text(status), part))
    fail("expected a status %d with '%s', got %d: %s", kind, part, mok_status_exit_code(status), mok_status_text(status));
  mok_status_free(status);
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes > 0 ? bytes : 1);
  if (!memory) fail("out of memory: %zu bytes", bytes);
  return memory;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------------------------------------ graphs */

/* Of libcuda, beside what libmok itself uses. */
typedef struct graph_calls {
  int (*begin)(mok_cu_stream stream, int mode);
  int (*end)(mok_cu_stream stream, void **graph);
  int (*instantiate)(void **instance, void *graph, unsigned long long flags);
  int (*launch)(void *instance, mok_cu_stream stream);
  int (*destroy)(void *graph);
  int (*destroy_instance)(void *instance);
} graph_calls;
enum { CAPTURE_THREAD_LOCAL = 1 };

static graph_calls find_graph_calls(void *library) {
  graph_calls g;
  const struct {
    const char *name;
    void *slot;
  } symbols[] = {
      {"cuStreamBeginCapture_v2", &g.begin}, {"cuStreamEndCapture", &g.end}, {"cuGraphInstantiateWithFlags", &g.instantiate},
      {"cuGraphLaunch", &g.launch},          {"cuGraphDestroy", &g.destroy}, {"cuGraphExecDestroy", &g.destroy_instance},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    void *address = dlsym(library, symbols[i].name);
    if (!address) fail("libcuda has no %s", symbols[i].name);
    memcpy(symbols[i].slot, &address, sizeof address);
  }
  return g;
}

/* ------------------------------------------------------------------------------------------------ the layer */

typedef struct host_rank {
  uint16_t *x, *expected; /* [T, H]; expected: of the first launch */
  int32_t *ids;
  float *weights;
} host_rank;

typedef struct device_rank {
  mok_kernel *kernel;
  mok_cu_pointer x, ids, weights, out, tokens_dev;
  mok_forward_args args;
} device_rank;

/* One package on one device, or on as many as it has ranks. */
typedef struct setting {
  const char *package;
  int devices, ranks;
  mok_kernel *kernels[MAX_DEVICES];
  mok_cu_stream streams[MAX_DEVICES];
  mok_kernel_info info;
  host_rank host[MOK_MAX_RANKS];
  device_rank device[MOK_MAX_RANKS];
  mok_cu_pointer blocks[MOK_MAX_RANKS * 16];
  mok_kernel *owners[MOK_MAX_RANKS * 16];
  int block_count;
  uint16_t *out;         /* [T + 1, H], the last row is a guard */
  uint16_t *matrices[6]; /* gate, up, down of all experts; of the shared one */
  bool emulated;
  graph_calls graphs;
} setting;

typedef struct workspaces {
  mok_workspace *of[MAX_DEVICES];
} workspaces;

static void check_cuda(const setting *s, int result, const char *call) {
  ok(mok_cuda_status(&s->kernels[0]->cuda, result, call));
}
#define CUDA(s, kernel, call) check_cuda(s, (kernel)->cuda.call, #call)

static mok_cu_pointer upload(setting *s, mok_kernel *kernel, const void *from, size_t bytes) {
  mok_cu_pointer pointer = 0;
  ok(mok_kernel_enter(kernel));
  CUDA(s, kernel, cuMemAlloc(&pointer, bytes > 0 ? bytes : 1));
  CUDA(s, kernel, cuMemcpyHtoDAsync(pointer, from, bytes, NULL));
  CUDA(s, kernel, cuStreamSynchronize(NULL));
  mok_kernel_leave(kernel);
  s->blocks[s->block_count] = pointer;
  s->owners[s->block_count++] = kernel;
  return pointer;
}

static int64_t first_expert(const setting *s, int64_t rank) { return rank * s->info.experts / s->info.ranks; }

static uint16_t *make_matrix(int stream, int64_t experts, int64_t rows, int64_t columns) {
  const size_t count = (size_t)(experts * rows * columns);
  uint16_t *matrix = allocate(count * sizeof *matrix);
  const unsigned long long key = mok_random_key(SEED, (unsigned long long)stream);
  const float scale = mok_random_scale(1 / sqrt((double)columns));
  for (size_t i = 0; i < count; i++) matrix[i] = mok_random_bf16(mok_random_normal(mok_random_bits(key, i), scale));
  return matrix;
}

static void make_host(setting *s) {
  const mok_kernel_info *n = &s->info;
  const int64_t T = n->tokens_per_rank, H = n->hidden, I = n->intermediate, S = n->shared_intermediate, k = n->top_k;
  const struct {
    int stream;
    int64_t experts, rows, columns;
  } families[] = {
      {MOK_STREAM_GATE, n->gated ? n->experts : 0, I, H},
      {MOK_STREAM_UP, n->experts, I, H},
      {MOK_STREAM_DOWN, n->experts, H, I},
      {MOK_STREAM_SHARED_GATE, S > 0 && n->gated, S, H},
      {MOK_STREAM_SHARED_UP, S > 0, S, H},
      {MOK_STREAM_SHARED_DOWN, S > 0, H, S},
  };
  for (int i = 0; i < 6; i++)
    s->matrices[i] = make_matrix(families[i].stream, families[i].experts, families[i].rows, families[i].columns);
  for (int r = 0; r < s->ranks; r++) {
    host_rank *rank = &s->host[r];
    rank->x = make_matrix(MOK_STREAM_X + MOK_STREAMS_PER_RANK * r, 1, T, H);
    rank->expected = allocate((size_t)(T * H) * sizeof *rank->expected);
    rank->ids = allocate((size_t)(T * k) * sizeof *rank->ids);
    rank->weights = allocate((size_t)(T * k) * sizeof *rank->weights);
    const unsigned long long ids = mok_random_key(SEED, (unsigned long long)(MOK_STREAM_IDS + MOK_STREAMS_PER_RANK * r));
    const unsigned long long ws = mok_random_key(SEED, (unsigned long long)(MOK_STREAM_ROUTE_WEIGHTS + MOK_STREAMS_PER_RANK * r));
    for (int64_t i = 0; i < T * k; i++) {
      /* one in sixteen routes nowhere */
      rank->ids[i] = mok_random_below(ids, (unsigned long long)(2 * i), 16) == 0
                         ? -1
                         : (int32_t)mok_random_below(ids, (unsigned long long)(2 * i + 1), (unsigned)n->experts);
      rank->weights[i] = (float)mok_random_below(ws, (unsigned long long)i, 1000) / 1000.0f;
    }
  }
  s->out = allocate((size_t)((T + 1) * H) * sizeof *s->out);
}

static mok_weights weights_at(mok_cu_pointer base) { return (mok_weights){.base = (const void *)(uintptr_t)base}; }

static void make_device(setting *s) {
  const mok_kernel_info *n = &s->info;
  const size_t T = (size_t)n->tokens_per_rank, H = (size_t)n->hidden, k = (size_t)n->top_k;
  const size_t routed = H * (size_t)n->intermediate, shared = H * (size_t)n->shared_intermediate;
  for (int r = 0; r < s->ranks; r++) {
    device_rank *d = &s->device[r];
    mok_kernel *kernel = d->kernel = s->kernels[s->devices == 1 ? 0 : r];
    const size_t first = (size_t)first_expert(s, r), experts = (size_t)first_expert(s, r + 1) - first;
    const size_t bytes = experts * routed * 2, offset = first * routed;
    d->x = upload(s, kernel, s->host[r].x, T * H * 2);
    d->ids = upload(s, kernel, s->host[r].ids, T * k * 4);
    d->weights = upload(s, kernel, s->host[r].weights, T * k * 4);
    d->out = upload(s, kernel, s->out, (T + 1) * H * 2);
    d->tokens_dev = upload(s, kernel, &n->tokens_per_rank, 4);
    d->args = (mok_forward_args){.struct_size = sizeof d->args,
                                 .x = (const void *)(uintptr_t)d->x,
                                 .topk_ids = (const int32_t *)(uintptr_t)d->ids,
                                 .topk_weights = (const float *)(uintptr_t)d->weights,
                                 .out = (void *)(uintptr_t)d->out};
    if (n->gated) d->args.gate = weights_at(upload(s, kernel, s->matrices[0] + offset, bytes));
    d->args.up = weights_at(upload(s, kernel, s->matrices[1] + offset, bytes));
    d->args.down = weights_at(upload(s, kernel, s->matrices[2] + offset, bytes));
    if (shared == 0) continue;
    if (n->gated) d->args.shared_gate = weights_at(upload(s, kernel, s->matrices[3], shared * 2));
    d->args.shared_up = weights_at(upload(s, kernel, s->matrices[4], shared * 2));
    d->args.shared_down = weights_at(upload(s, kernel, s->matrices[5], shared * 2));
  }
}

static void open_setting(setting *s, const char *package, int devices) {
  memset(s, 0, sizeof *s);
  s->package = package;
  s->devices = devices;
  for (int d = 0; d < devices; d++) {
    const mok_load_args args = {.struct_size = sizeof args, .path = package, .device = d};
    ok(mok_kernel_load(&args, &s->kernels[d]));
    mok_kernel *kernel = s->kernels[d];
    ok(mok_kernel_enter(kernel));
    CUDA(s, kernel, cuStreamCreate(&s->streams[d], MOK_CU_STREAM_NON_BLOCKING));
    mok_kernel_leave(kernel);
  }
  s->info.struct_size = sizeof s->info;
  ok(mok_kernel_query(s->kernels[0], &s->info));
  s->ranks = s->info.ranks;
  s->emulated = dlsym(s->kernels[0]->cuda.library, "emulated_live") != NULL;
  s->graphs = find_graph_calls(s->kernels[0]->cuda.library);
  make_host(s);
  make_device(s);
}

static void close_setting(setting *s) {
  for (int i = 0; i < s->block_count; i++) {
    ok(mok_kernel_enter(s->owners[i]));
    CUDA(s, s->owners[i], cuMemFree(s->blocks[i]));
    mok_kernel_leave(s->owners[i]);
  }
  for (int r = 0; r < s->ranks; r++) {
    free(s->host[r].x);
    free(s->host[r].expected);
    free(s->host[r].ids);
    free(s->host[r].weights);
  }
  for (int i = 0; i < 6; i++) free(s->matrices[i]);
  free(s->out);
  for (int d = 0; d < s->devices; d++) {
    ok(mok_kernel_enter(s->kernels[d]));
    CUDA(s, s->kernels[d], cuStreamDestroy(s->streams[d]));
    mok_kernel_leave(s->kernels[d]);
    mok_kernel_unload(s->kernels[d]);
  }
}

/* ------------------------------------------------------------------------------------------------ a step */

static workspaces create(const setting *s) {
  workspaces w;
  const mok_group group = {.struct_size = sizeof group, .kernels = s->kernels, .kernel_count = s->devices};
  ok(mok_workspace_create(&group, w.of));
  return w;
}
static void destroy(const setting *s, workspaces *w) {
  for (int d = 0; d < s->devices; d++) mok_workspace_destroy(w->of[d]);
}

static size_t out_bytes(const setting *s) { return (size_t)(s->info.tokens_per_rank + 1) * (size_t)s->info.hidden * 2; }

/* NaN everywhere, on each stream in its order. */
static void poison(setting *s) {
  for (int r = 0; r < s->ranks; r++) {
    ok(mok_kernel_enter(s->device[r].kernel));
    CUDA(s, s->device[r].kernel, cuMemsetD8Async(s->device[r].out, 0xff, out_bytes(s), s->streams[s->devices == 1 ? 0 : r]));
    mok_kernel_leave(s->device[r].kernel);
  }
}

/* tokens[ranks]; through device memory or as arguments. */
static void enqueue(setting *s, workspaces *w, const int *tokens, bool on_device, const mok_launch_options *options) {
  mok_forward_args args[MOK_MAX_RANKS];
  for (int r = 0; r < s->ranks; r++) {
    device_rank *d = &s->device[r];
    args[r] = d->args;
    args[r].tokens = on_device ? s->info.tokens_per_rank : tokens[r];
    if (!on_device) continue;
    args[r].tokens_dev = (const int32_t *)(uintptr_t)d->tokens_dev;
  }
  for (int d = 0; d < s->devices; d++) ok(mok_forward(w->of[d], &args[d], options, s->streams[d]));
}

static void set_device_tokens(setting *s, const int *tokens) {
  for (int r = 0; r < s->ranks; r++) {
    device_rank *d = &s->device[r];
    ok(mok_kernel_enter(d->kernel));
    CUDA(s, d->kernel, cuMemcpyHtoDAsync(d->tokens_dev, &tokens[r], sizeof tokens[r], s->streams[s->devices == 1 ? 0 : r]));
    mok_kernel_leave(d->kernel);
  }
}

static void synchronize(setting *s) {
  for (int d = 0; d < s->devices; d++) {
    ok(mok_kernel_enter(s->kernels[d]));
    CUDA(s, s->kernels[d], cuStreamSynchronize(s->streams[d]));
    mok_kernel_leave(s->kernels[d]);
  }
}

static void fetch(setting *s, int r) {
  ok(mok_kernel_enter(s->device[r].kernel));
  CUDA(s, s->device[r].kernel, cuMemcpyDtoH(s->out, s->device[r].out, out_bytes(s)));
  mok_kernel_leave(s->device[r].kernel);
}

/* The step is over: its tokens have the expected bits, and nothing else was written. */
static void judge(setting *s, workspaces *w, const int *tokens) {
  const size_t H = (size_t)s->info.hidden, T = (size_t)s->info.tokens_per_rank;
  synchronize(s);
  for (int d = 0; d < s->devices; d++) ok(mok_check(w->of[d], NULL));
  for (int r = 0; r < s->ranks; r++) {
    fetch(s, r);
    for (size_t i = 0; i < (T + 1) * H; i++) {
      const uint16_t right = i < (size_t)tokens[r] * H ? s->host[r].expected[i] : 0xffff;
      if (s->out[i] != right)
        fail("rank %d of %d tokens, token %zu column %zu: %04x instead of %04x", r, tokens[r], i / H, i % H, s->out[i], right);
    }
  }
}

static const int *all_tokens(const setting *s) {
  static int tokens[MOK_MAX_RANKS];
  for (int r = 0; r < s->ranks; r++) tokens[r] = s->info.tokens_per_rank;
  return tokens;
}

static void draw_tokens(const setting *s, unsigned long long n, int *tokens) {
  const unsigned T = (unsigned)s->info.tokens_per_rank;
  for (int r = 0; r < s->ranks; r++) {
    const unsigned long long key = mok_random_key(SEED, (unsigned long long)(MOK_STREAM_TOKENS + MOK_STREAMS_PER_RANK * r));
    const unsigned kind = mok_random_below(key, 2 * n, 8);
    tokens[r] = kind == 0 ? 0 : kind == 1 ? (int)T : kind == 2 ? 1 : (int)mok_random_below(key, 2 * n + 1, T + 1);
  }
}

/* ------------------------------------------------------------------------------------------------ the tests */

static float from_bf16(uint16_t bits) {
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static mok_reference_activation activation_of(const setting *s) {
  mok_arena *arena = mok_arena_create();
  mok_package package;
  ok(mok_package_read(arena, s->package, &package));
  const char *word = package.lookup(&package, "activation");
  const bool plain = word && strcmp(word, "swiglu") == 0 && !package.lookup(&package, "clamp");
  mok_arena_destroy(arena);
  if (!plain) fail("the package's activation is not a plain swiglu");
  return MOK_REFERENCE_swiglu;
}

/* The launch that others are compared with, against the reference. */
static void first_launch(setting *s, workspaces *w) {
  at = "first launch";
  const mok_kernel_info *n = &s->info;
  const size_t H = (size_t)n->hidden, T = (size_t)n->tokens_per_rank;
  const mok_reference_layer layer = {.hidden = n->hidden,
                                     .experts = n->experts,
                                     .top_k = n->top_k,
                                     .activation = activation_of(s),
                                     .routed = {s->matrices[0], s->matrices[1], s->matrices[2], n->intermediate},
                                     .shared = {s->matrices[3], s->matrices[4], s->matrices[5], n->shared_intermediate}};
  double *scratch = allocate((size_t)mok_reference_scratch(&layer) * sizeof *scratch), *right = allocate(H * sizeof *right);
  poison(s);
  enqueue(s, w, all_tokens(s), false, NULL);
  synchronize(s);
  for (int d = 0; d < s->devices; d++) ok(mok_check(w->of[d], NULL));
  double error = 0, norm = 0;
  for (int r = 0; r < s->ranks; r++) {
    host_rank *rank = &s->host[r];
    fetch(s, r);
    memcpy(rank->expected, s->out, T * H * 2);
    for (size_t t = 0; t < T; t++) {
      mok_reference_token(&layer, rank->x + t * H, rank->ids + t * (size_t)n->top_k, rank->weights + t * (size_t)n->top_k,
                          scratch, right);
      for (size_t i = 0; i < H; i++) {
        const double difference = (double)from_bf16(rank->expected[t * H + i]) - right[i];
        error += difference * difference;
        norm += right[i] * right[i];
      }
    }
  }
  free(scratch);
  free(right);
  if (!(sqrt(error / norm) <= 5e-3)) fail("relative L2 error %.3e against the reference, the limit is 5e-3", sqrt(error / norm));
  printf("%s on %d device%s, %d rank%s of %zu tokens: relative L2 error %.2e\n", s->kernels[0]->name, s->devices,
         s->devices == 1 ? "" : "s", s->ranks, s->ranks == 1 ? "" : "s", T, sqrt(error / norm));
}

/* Any CTA counts that the launch allows give the same bits. */
static mok_launch_options draw_options(const setting *s, unsigned long long n) {
  const int here = s->devices == 1 ? s->ranks : 1;
  const unsigned long long key = mok_random_key(SEED, 1000);
  mok_launch_options options = {.struct_size = sizeof options};
  if (n % 3 == 0) return options;
  const int cluster = s->info.cluster, comm = s->info.comm_ctas / here / cluster, compute = s->info.compute_ctas / here / cluster;
  if (comm > 0) options.comm_ctas = cluster * (1 + (int)mok_random_below(key, 2 * n, (unsigned)comm));
  if (compute > 0) options.compute_ctas = cluster * (1 + (int)mok_random_below(key, 2 * n + 1, (unsigned)compute));
  return options;
}

static void many_launches(setting *s, workspaces *w, int launches) {
  int tokens[MOK_MAX_RANKS];
  const double start = now_s();
  for (int n = 0; n < launches; n++) {
    static char where[64];
    snprintf(where, sizeof where, "launch %d of %d", n + 1, launches);
    at = where;
    draw_tokens(s, (unsigned long long)n, tokens);
    const bool on_device = n % 4 == 1;
    const mok_launch_options options = draw_options(s, (unsigned long long)n);
    if (on_device) set_device_tokens(s, tokens);
    poison(s);
    enqueue(s, w, tokens, on_device, &options);
    judge(s, w, tokens);
  }
  printf("  %d launches with changing token counts and CTA counts: same bits, %.2f s\n", launches, now_s() - start);
}

static void graphs(setting *s, workspaces *w, int replays) {
  at = "capture";
  void *graph[MAX_DEVICES], *instance[MAX_DEVICES];
  for (int d = 0; d < s->devices; d++) {
    ok(mok_kernel_enter(s->kernels[d]));
    check_cuda(s, s->graphs.begin(s->streams[d], CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture");
    mok_forward_args args[MOK_MAX_RANKS];
    for (int r = 0; r < s->ranks; r++) {
      args[r] = s->device[r].args;
      args[r].tokens = s->info.tokens_per_rank;
      args[r].tokens_dev = (const int32_t *)(uintptr_t)s->device[r].tokens_dev;
    }
    ok(mok_forward(w->of[d], &args[s->devices == 1 ? 0 : d], NULL, s->streams[d]));
    memset(args, 0xff, sizeof args); /* what was captured keeps its own */
    check_cuda(s, s->graphs.end(s->streams[d], &graph[d]), "cuStreamEndCapture");
    check_cuda(s, s->graphs.instantiate(&instance[d], graph[d], 0), "cuGraphInstantiateWithFlags");
    mok_kernel_leave(s->kernels[d]);
  }
  int tokens[MOK_MAX_RANKS];
  for (int n = 0; n < replays; n++) {
    static char where[64];
    snprintf(where, sizeof where, "replay %d of %d", n + 1, replays);
    at = where;
    draw_tokens(s, 5000 + (unsigned long long)n, tokens);
    set_device_tokens(s, tokens);
    poison(s);
    if (n % 5 == 4) enqueue(s, w, tokens, false, NULL); /* launches of both kinds, mixed */
    else
      for (int d = 0; d < s->devices; d++) {
        ok(mok_kernel_enter(s->kernels[d]));
        check_cuda(s, s->graphs.launch(instance[d], s->streams[d]), "cuGraphLaunch");
        mok_kernel_leave(s->kernels[d]);
      }
    judge(s, w, tokens);
  }
  for (int d = 0; d < s->devices; d++) {
    ok(mok_kernel_enter(s->kernels[d]));
    check_cuda(s, s->graphs.destroy_instance(instance[d]), "cuGraphExecDestroy");
    check_cuda(s, s->graphs.destroy(graph[d]), "cuGraphDestroy");
    mok_kernel_leave(s->kernels[d]);
  }
  printf("  a captured step, %d replays with changing token counts: same bits\n", replays);
}

static void two_workspaces(setting *s, workspaces *w) {
  at = "two workspaces";
  workspaces other = create(s);
  int tokens[MOK_MAX_RANKS];
  for (int n = 0; n < 6; n++) {
    draw_tokens(s, 9000 + (unsigned long long)n, tokens);
    workspaces *one = n % 3 == 1 ? w : &other;
    poison(s);
    enqueue(s, one, tokens, false, NULL);
    judge(s, one, tokens);
  }
  destroy(s, &other);
  printf("  two workspaces in turn: same bits\n");
}

static void wrong_count(setting *s, workspaces *w) {
  at = "a token count above the capacity";
  int tokens[MOK_MAX_RANKS], none[MOK_MAX_RANKS] = {0};
  memcpy(tokens, all_tokens(s), sizeof tokens);
  tokens[s->ranks - 1] = s->info.tokens_per_rank + 5;
  set_device_tokens(s, tokens);
  poison(s);
  enqueue(s, w, none, true, NULL);
  synchronize(s);
  char part[64];
  snprintf(part, sizeof part, "the first was %d", tokens[s->ranks - 1]);
  for (int d = 0; d < s->devices - 1; d++) ok(mok_check(w->of[d], NULL));
  is(mok_check(w->of[s->devices - 1], NULL), MOK_STATUS_ARGUMENT, part);
  /* Such a rank computes nothing; the others have their results. */
  memcpy(tokens, all_tokens(s), sizeof tokens);
  tokens[s->ranks - 1] = 0;
  judge(s, w, tokens);
  poison(s);
  enqueue(s, w, all_tokens(s), false, NULL);
  judge(s, w, all_tokens(s));
  printf("  a token count above the capacity: told, and nothing computed\n");
}

/* ------------------------------------------------------------------------------------------------ faults */

/* A launch that is not what libmok would launch, of device d: `ranks_here` ranks, `absent` clusters fewer than they should
 * have. */
static void launch_short(setting *s, workspaces *w, int d, int ranks_here, int absent) {
  const mok_kernel *kernel = s->kernels[d];
  const int part = s->devices == 1 ? s->ranks : 1;
  mok_args args = {.ranks = (const mok_rank_args *)(uintptr_t)w->of[d]->rank_args,
                   .num_ranks_here = ranks_here,
                   .phases = MOK_PHASE_ALL,
                   .comm_ctas = s->info.comm_ctas / part / kernel->cluster * kernel->cluster,
                   .compute_ctas = s->info.compute_ctas / part / kernel->cluster * kernel->cluster,
                   .local_limit_ms = LOCAL_TIMEOUT_MS,
                   .peer_limit_ms = PEER_TIMEOUT_MS};
  mok_cu_launch_attribute attributes[] = {{.id = MOK_CU_LAUNCH_COOPERATIVE, .value = {.cooperative = 1}},
                                          {.id = MOK_CU_LAUNCH_CLUSTER, .value = {.cluster = {(unsigned)kernel->cluster, 1, 1}}}};
  const int ctas = (args.comm_ctas + args.compute_ctas) * ranks_here - absent * kernel->cluster;
  const mok_cu_launch_config config = {.grid = {(unsigned)ctas, 1, 1},
                                       .block = {(unsigned)kernel->threads, 1, 1},
                                       .shared_bytes = (unsigned)kernel->shared_bytes,
                                       .stream = s->streams[d],
                                       .attributes = attributes,
                                       .attribute_count = kernel->cluster > 1 ? 2 : 1};
  void *parameters[] = {&args};
  w->of[d]->local_limit_ms = LOCAL_TIMEOUT_MS; /* as mok_forward keeps them for the text */
  w->of[d]->peer_limit_ms = PEER_TIMEOUT_MS;
  ok(mok_kernel_enter(kernel));
  CUDA(s, kernel, cuLaunchKernelEx(&config, kernel->function, parameters, NULL));
  mok_kernel_leave(kernel);
}

/* The counters of rank 0's next launch start below zero, as if their last signal were lost. */
static void lower_counters(setting *s, workspaces *w) {
  mok_arena *arena = mok_arena_create();
  mok_package package;
  ok(mok_package_read(arena, s->package, &package));
  static const char start[] = "local counters ";
  long long offset = -1, bytes = 0;
  for (size_t i = 0; i < package.manifest->line_count; i++) {
    const mok_manifest_line *line = &package.manifest->lines[i];
    if (strcmp(line->key, "region") != 0 || strncmp(line->value, start, sizeof start - 1) != 0) continue;
    char *end = NULL;
    offset = strtoll(line->value + sizeof start - 1, &end, 10);
    bytes = strtoll(end, NULL, 10);
  }
  mok_arena_destroy(arena);
  if (offset < 0) fail("the manifest has no region of counters");
  const mok_workspace *ws = w->of[0];
  uint32_t launches = 0; /* so far; the next one uses the set of its parity */
  ok(mok_kernel_enter(s->kernels[0]));
  CUDA(s, s->kernels[0],
       cuMemcpyDtoH(&launches, ws->local + (mok_cu_pointer)ws->kernel->control_offset + MOK_LINE_EPOCH * MOK_LINE_WORDS * 4, 4));
  const mok_cu_pointer set = ws->local + (mok_cu_pointer)offset + (launches & 1) * (mok_cu_pointer)(bytes / 2);
  CUDA(s, s->kernels[0], cuMemsetD8Async(set, 0xff, (size_t)bytes / 2, s->streams[0]));
  mok_kernel_leave(s->kernels[0]);
}

typedef enum fault { LOST_SIGNAL, ABSENT_CTA, ABSENT_RANK } fault;

static void launch_with(setting *s, workspaces *w, fault what) {
  /* mok_host_injection:RANK:NUMBER */
  static const char *const injections[] = {[LOST_SIGNAL] = "1:0:4", [ABSENT_CTA] = "4:0:1", [ABSENT_RANK] = "2:1:0"};
  const mok_launch_options options = {
      .struct_size = sizeof options, .local_timeout_ms = LOCAL_TIMEOUT_MS, .peer_timeout_ms = PEER_TIMEOUT_MS};
  if (s->emulated) {
    setenv("EMULATED_INJECT", injections[what], 1);
    enqueue(s, w, all_tokens(s), false, &options);
    unsetenv("EMULATED_INJECT");
    return;
  }
  switch (what) {
    case LOST_SIGNAL:
      lower_counters(s, w);
      enqueue(s, w, all_tokens(s), false, &options);
      return;
    case ABSENT_CTA:
      launch_short(s, w, 0, s->devices == 1 ? s->ranks : 1, 1);
      for (int d = 1; d < s->devices; d++) launch_short(s, w, d, 1, 0);
      return;
    case ABSENT_RANK:
      launch_short(s, w, 0, 1, 0); /* and nothing for the others */
      return;
  }
}

static const uint32_t *read_record(setting *s, workspaces *w, int r) {
  static uint32_t words[MOK_CONTROL_LINES * MOK_LINE_WORDS];
  const mok_workspace *ws = w->of[s->devices == 1 ? 0 : r];
  const mok_cu_pointer local = ws->local + (mok_cu_pointer)(s->devices == 1 ? r : 0) * ws->local_size;
  ok(mok_kernel_enter(ws->kernel));
  CUDA(s, ws->kernel, cuMemcpyDtoH(words, local + (mok_cu_pointer)ws->kernel->control_offset, sizeof words));
  mok_kernel_leave(ws->kernel);
  if (words[MOK_LINE_ABORT * MOK_LINE_WORDS] == 0) fail("rank %d has not given up", r);
  return words + MOK_LINE_WAIT_ERROR * MOK_LINE_WORDS;
}

/* Each of the first `ranks` has its record: one waited for what did not come, the others for a rank that had given up. */
static void check_records(setting *s, workspaces *w, int ranks, const char *part) {
  bool waited = false;
  for (int r = 0; r < ranks; r++) {
    char told[400];
    const uint32_t *record = read_record(s, w, r);
    mok_record_text(w->of[s->devices == 1 ? 0 : r], record, told, sizeof told);
    printf("    rank %d told: %s\n", r, told);
    const bool waits = strstr(told, part) != NULL;
    if (record[MOK_WAIT_RANK] != (uint32_t)r || (!waits && !strstr(told, "gave up and will not arrive")))
      fail("rank %d has a record of something else: %s", r, told);
    waited = waited || waits;
  }
  if (!waited) fail("no rank has a record with '%s'", part);
}

/* The ranks that were absent come after all, each on its own device: they hear that the first one has given up. */
static void come_late(setting *s, workspaces *w) {
  const mok_launch_options options = {
      .struct_size = sizeof options, .local_timeout_ms = LOCAL_TIMEOUT_MS, .peer_timeout_ms = PEER_TIMEOUT_MS};
  for (int d = 1; d < s->devices; d++) {
    mok_forward_args args = s->device[d].args;
    args.tokens = s->info.tokens_per_rank;
    ok(mok_check(w->of[d], NULL));
    ok(mok_forward(w->of[d], &args, &options, s->streams[d]));
  }
  synchronize(s);
}

static void faulty_launch(setting *s, fault what, const char *name, const char *part) {
  at = name;
  workspaces w = create(s);
  poison(s);
  enqueue(s, &w, all_tokens(s), false, NULL);
  judge(s, &w, all_tokens(s));
  const double start = now_s();
  launch_with(s, &w, what);
  synchronize(s); /* the launch ends */
  const double took = now_s() - start;
  if (took > (LOCAL_TIMEOUT_MS + PEER_TIMEOUT_MS) / 1e3 + 2) fail("the launch ended after %.1f s", took);
  printf("  %s: ended after %.2f s\n", name, took);
  is(mok_check(w.of[0], NULL), MOK_STATUS_ABORTED, part);
  if (what == ABSENT_RANK && s->devices > 1) come_late(s, &w);
  check_records(s, &w, what == ABSENT_RANK && s->devices == 1 ? 1 : s->ranks, part);
  mok_forward_args args[MOK_MAX_RANKS];
  for (int r = 0; r < s->ranks; r++) args[r] = s->device[r].args;
  for (int d = 0; d < s->devices; d++) {
    if (d > 0) is(mok_check(w.of[d], NULL), MOK_STATUS_ABORTED, "");
    is(mok_forward(w.of[d], &args[d], NULL, s->streams[d]), MOK_STATUS_ABORTED, "create a new one");
  }
  destroy(s, &w);

  w = create(s);
  poison(s);
  enqueue(s, &w, all_tokens(s), false, NULL);
  judge(s, &w, all_tokens(s));
  destroy(s, &w);
  printf("    a new workspace works\n");
}

static void run(const char *package, int devices, int launches) {
  static setting s;
  open_setting(&s, package, devices);
  workspaces w = create(&s);
  first_launch(&s, &w);
  many_launches(&s, &w, launches);
  graphs(&s, &w, launches / 4 > 5 ? launches / 4 : 5);
  two_workspaces(&s, &w);
  wrong_count(&s, &w);
  /* The worker that waits for it gives up, or a CTA without tasks that waits for that one in a barrier. */
  faulty_launch(&s, LOST_SIGNAL, "a lost signal", " within 0.3 s");
  faulty_launch(&s, ABSENT_CTA, "a CTA that never comes", "a CTA did not arrive within 0.3 s");
  if (s.ranks > 1) faulty_launch(&s, ABSENT_RANK, "a rank that never comes", "the rank did not arrive within 0.6 s");
  /* The faults were of other workspaces. */
  at = "after the faults";
  poison(&s);
  enqueue(&s, &w, all_tokens(&s), false, NULL);
  judge(&s, &w, all_tokens(&s));
  destroy(&s, &w);
  long (*live)(void) = NULL;
  void *library = s.emulated ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library) {
    void *address = dlsym(library, "emulated_live");
    memcpy(&live, &address, sizeof live);
  }
  close_setting(&s);
  if (live && live() != 0) fail("%ld objects of the driver are left", live());
  if (library) dlclose(library);
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    fprintf(stderr, "usage: gpu_steps PACKAGE [LAUNCHES [DEVICES]]\n");
    return 2;
  }
  const int launches = argc > 2 ? atoi(argv[2]) : 1000;
  if (launches < 1) fail("'%s' is no number of launches", argv[2]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  const mok_load_args args = {.struct_size = sizeof args, .path = argv[1]};
  mok_kernel *kernel = NULL;
  ok(mok_kernel_load(&args, &kernel));
  const int ranks = kernel->info.ranks;
  int devices = 0;
  ok(mok_cuda_status(&kernel->cuda, kernel->cuda.cuDeviceGetCount(&devices), "cuDeviceGetCount"));
  mok_kernel_unload(kernel);
  const int wanted = argc > 3 ? atoi(argv[3]) : 1;
  if (wanted != 1 && wanted != ranks) fail("'%s' devices; it is 1, or one for each of %d ranks", argv[3], ranks);
  if (wanted > devices || wanted > MAX_DEVICES) fail("%d devices are needed, the driver sees %d", wanted, devices);
  run(argv[1], wanted, launches);
  printf("steps of %d rank%s on %d device%s: all right\n", ranks, ranks == 1 ? "" : "s", wanted, wanted == 1 ? "" : "s");
  return 0;
}
