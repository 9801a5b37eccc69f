/* Kernels of a GPU target, on the first device: all ranks in one cooperative launch. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { MOST_CODE = 64 << 20 };

/* One for the process. */
static struct {
  bool open;
  mok_cuda cuda;
  mok_cu_device device;
  mok_cu_context context;
} gpu;

typedef struct gpu_kernel {
  mok_cu_module module;
  mok_cu_function function;
  mok_cu_pointer ranks;
} gpu_kernel;

static void ok(mok_status status) {
  if (status) prim_die("%s", mok_status_text(status));
}
#define CALL(call) ok(mok_cuda_status(&gpu.cuda, gpu.cuda.call, #call))

static mok_cu_pointer device_pointer(const void *memory) { return (mok_cu_pointer)(uintptr_t)memory; }

static void *allocate(prim *p, size_t bytes) {
  (void)p;
  mok_cu_pointer pointer = 0;
  CALL(cuMemAlloc(&pointer, bytes));
  return (void *)(uintptr_t)pointer;
}

static void load(prim *p) {
  if (!gpu.open) {
    ok(mok_cuda_open(&gpu.cuda));
    CALL(cuDeviceGet(&gpu.device, 0));
    CALL(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    CALL(cuCtxPushCurrent(gpu.context));
    gpu.open = true;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/forward.cubin", p->folder);
  FILE *file = fopen(path, "rb");
  if (!file) prim_die("cannot read %s", path);
  char *code = prim_host_memory(MOST_CODE, 0);
  const size_t size = fread(code, 1, MOST_CODE, file);
  fclose(file);
  gpu_kernel *kernel = prim_host_memory(sizeof *kernel, 0);
  ok(mok_cuda_load_module(&gpu.cuda, code, size, &kernel->module));
  free(code);
  CALL(cuModuleGetFunction(&kernel->function, kernel->module, "mok_forward"));
  CALL(cuFuncSetAttribute(kernel->function, MOK_CU_FUNCTION_DYNAMIC_SHARED_LIMIT, (int)prim_fact(p, "LAYOUT_SHARED_BYTES")));
  kernel->ranks = device_pointer(allocate(p, sizeof p->ranks));
  p->kernel = kernel;
}

static void unload(prim *p) {
  gpu_kernel *kernel = p->kernel;
  CALL(cuMemFree(kernel->ranks));
  CALL(cuModuleUnload(kernel->module));
  free(kernel);
}

static void release(prim *p, void *memory) {
  (void)p;
  CALL(cuMemFree(device_pointer(memory)));
}

static void copy_in(prim *p, void *to, const void *from, size_t bytes) {
  (void)p;
  CALL(cuMemcpyHtoDAsync(device_pointer(to), from, bytes, NULL));
  CALL(cuStreamSynchronize(NULL));
}

static void copy_out(prim *p, void *to, const void *from, size_t bytes) {
  (void)p;
  CALL(cuMemcpyDtoH(to, device_pointer(from), bytes));
}

static void launch(prim *p) {
  const gpu_kernel *kernel = p->kernel;
  for (int r = 0; r < p->rank_count; r++) ok(mok_map_recipes_encode(&gpu.cuda, &p->maps, &p->ranks[r]));
  copy_in(p, (void *)(uintptr_t)kernel->ranks, p->ranks, sizeof p->ranks[0] * (size_t)p->rank_count);
  mok_args args = p->args;
  args.ranks = (const mok_rank_args *)(uintptr_t)kernel->ranks;
  const unsigned cluster = (unsigned)prim_fact(p, "PLAN_CLUSTER");
  mok_cu_launch_attribute attributes[] = {{.id = MOK_CU_LAUNCH_COOPERATIVE, .value = {.cooperative = 1}},
                                          {.id = MOK_CU_LAUNCH_CLUSTER, .value = {.cluster = {cluster, 1, 1}}}};
  const mok_cu_launch_config config = {
      .grid = {(unsigned)((args.comm_ctas + args.compute_ctas) * p->rank_count), 1, 1},
      .block = {(unsigned)prim_fact(p, "PLAN_THREADS"), 1, 1},
      .shared_bytes = (unsigned)prim_fact(p, "LAYOUT_SHARED_BYTES"),
      .attributes = attributes,
      .attribute_count = cluster > 1 ? 2 : 1,
  };
  void *parameters[] = {&args};
  CALL(cuLaunchKernelEx(&config, kernel->function, parameters, NULL));
  CALL(cuStreamSynchronize(NULL));
}

const prim_machine prim_gpu = {
    .load = load,
    .unload = unload,
    .allocate = allocate,
    .release = release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .launch = launch,
    .schedules = 1,
    .real_time = true,
};
