/* A layer in a C program: compile its description, load the kernel, make a workspace, run a step, check it. For descriptions of
 * one GPU with swiglu and no clamp. mokgen is found on PATH. No CUDA toolkit is needed: the driver is asked for its functions.
 *
 *   cc embed.c $(pkg-config --cflags --libs mok) -lm -o embed && ./embed small.lua */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <mok.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
  int (*cuDevicePrimaryCtxRetain)(void **context, int device), (*cuCtxPushCurrent)(void *context);
  int (*cuMemAlloc)(uint64_t *pointer, size_t bytes), (*cuMemcpyDtoH)(void *to, uint64_t from, size_t bytes);
  int (*cuMemcpyHtoDAsync)(uint64_t to, const void *from, size_t bytes, void *stream), (*cuStreamSynchronize)(void *stream);
} cuda;

static void need(int fine, const char *what) {
  if (fine) return;
  fprintf(stderr, "embed: failed: %s\n", what);
  exit(1);
}
#define CUDA(call) need(cuda.call == 0, #call)

static void ok(mok_status status) {
  if (!status) return;
  fprintf(stderr, "embed: %s\n", mok_status_text(status));
  exit(mok_status_exit_code(status));
}

/* A child process writes the package, for the GPU that is here. */
static void compile(char *model, char *package) {
  char *words[] = {"mokgen", "build", model, "-D", "topology.gpu=auto", "-o", package, NULL};
  pid_t child;
  int status = 1;
  need(posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0, "to start mokgen");
  need(waitpid(child, &status, 0) == child && status == 0, "mokgen build");
}

static void open_cuda(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *address = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
  int (*find)(const char *, void **, int, uint64_t, int *), found;
  need(address != NULL, "cuGetProcAddress_v2 of libcuda.so.1");
  memcpy(&find, &address, sizeof find);
#define FIND(name) need(!find(#name, &address, 12000, 0, &found) && !found, #name), memcpy(&cuda.name, &address, sizeof address)
  FIND(cuDevicePrimaryCtxRetain), FIND(cuCtxPushCurrent), FIND(cuMemAlloc);
  FIND(cuMemcpyHtoDAsync), FIND(cuMemcpyDtoH), FIND(cuStreamSynchronize);
  void *context; /* libmok works in the device's primary context, like the CUDA runtime and PyTorch */
  CUDA(cuDevicePrimaryCtxRetain(&context, 0)), CUDA(cuCtxPushCurrent(context));
}

static void *upload(const void *from, size_t bytes) {
  uint64_t pointer = 0;
  CUDA(cuMemAlloc(&pointer, bytes + 1)), CUDA(cuMemcpyHtoDAsync(pointer, from, bytes, NULL)), CUDA(cuStreamSynchronize(NULL));
  return (void *)(uintptr_t)pointer;
}

/* bf16 [count] on the device: element i is (1 + i / block % period) * unit, rounded. */
static void *ramp(size_t count, size_t block, size_t period, float unit) {
  uint16_t *values = calloc(count + 1, sizeof *values);
  need(values != NULL, "calloc");
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &(float){(float)(1 + i / block % period) * unit}, sizeof bits);
    values[i] = (uint16_t)((bits + 0x8000) >> 16);
  }
  void *pointer = upload(values, count * sizeof *values);
  free(values);
  return pointer;
}

int main(int argc, char **argv) {
  need(argc == 2, "usage: embed MODEL.lua");
  compile(argv[1], "embed.mok");
  mok_kernel *kernel; /* verified, compared with device 0, its code on the device */
  ok(mok_kernel_load(&(mok_load_args){.struct_size = sizeof(mok_load_args), .path = "embed.mok"}, &kernel));
  mok_kernel_info n = {.struct_size = sizeof n};
  ok(mok_kernel_query(kernel, &n));
  need(n.ranks == 1, "a description with topology.gpus = 1");
  mok_workspace *workspace; /* one for all layers of this package */
  ok(mok_workspace_create(&(mok_group){.struct_size = sizeof(mok_group), .kernels = &kernel, .kernel_count = 1}, &workspace));
  /* All rows of a matrix are alike, so a step can be checked by hand: token t has gate = up = (1 + t % 4) / 4 in every expert,
   * and expert e scales what comes of it by (1 + e) / E. */
  open_cuda();
  const size_t T = (size_t)n.tokens_per_rank, H = (size_t)n.hidden, I = (size_t)n.intermediate, E = (size_t)n.experts;
  const size_t S = (size_t)n.shared_intermediate, k = (size_t)n.top_k;
  int32_t *ids = calloc(T * k + 1, sizeof *ids);
  float *route_weights = calloc(T * k + 1, sizeof *route_weights);
  uint16_t *out = calloc(T * H + 1, sizeof *out);
  need(ids && route_weights && out, "calloc");
  for (size_t i = 0; i < T * k; i++) ids[i] = (int32_t)((i / k + i % k) % E), route_weights[i] = 1 / (float)(1 + i % k);
  mok_forward_args args = {.struct_size = sizeof args, .tokens = n.tokens_per_rank};
  args.x = ramp(T * H, H, 4, 0.25f), args.out = upload(out, T * H * 2);
  args.topk_ids = upload(ids, T * k * 4), args.topk_weights = upload(route_weights, T * k * 4);
  args.gate.base = args.up.base = ramp(E * I * H, 1, 1, 1 / (float)H);
  args.down.base = ramp(E * H * I, H * I, E, 1 / (float)(E * I));
  args.shared_gate.base = args.shared_up.base = ramp(S * H, 1, 1, 1 / (float)H); /* S = 0: not read */
  args.shared_down.base = ramp(H * S, 1, 1, 1 / (float)S);
  ok(mok_forward(workspace, &args, NULL, NULL)); /* enqueued on the default stream */
  CUDA(cuStreamSynchronize(NULL));
  ok(mok_check(workspace, NULL)); /* what the device found wrong */
  CUDA(cuMemcpyDtoH(out, (uint64_t)(uintptr_t)args.out, T * H * 2));
  size_t wrong = 0;
  for (size_t i = 0; i < T * H; i++) {
    const float up = (float)(1 + i / H % 4) / 4, h = up / (1 + expf(-up)) * up;
    float right = S > 0 ? h : 0, got;
    for (size_t j = i / H * k; j < i / H * k + k; j++) right += h * route_weights[j] * (float)(1 + ids[j]) / (float)E;
    memcpy(&got, &(uint32_t){(uint32_t)out[i] << 16}, sizeof got);
    wrong += !(fabsf(got - right) < 0.02f * right); /* NaN, too */
  }
  printf("%zu tokens: %zu values, %zu wrong\n", T, T * H, wrong);
  mok_workspace_destroy(workspace);
  mok_kernel_unload(kernel);
  return wrong ? 6 : 0;
}
