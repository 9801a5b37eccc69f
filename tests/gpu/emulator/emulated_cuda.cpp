/* libcuda.so.1 on the CPU: as much of a driver as libmok and `mokgen run` use, so that they are tested without a GPU. Device
 * memory is host memory and a stream does its work at once. mok_forward is the host target's library that EMULATED_KERNEL names;
 * the kernels of tests/gpu/naive.cu are compiled into this file.
 *
 * What the environment says: EMULATED_COUNT, _SMS, _SHARED, _CAPABILITY, _COOPERATIVE, _PEERS, _OCCUPANCY, _CLUSTERS: what the
 * device claims; EMULATED_FAIL=NAME:N: the N-th call of a function fails for want of memory; EMULATED_CAPTURING=1: streams say
 * that
 * they capture; EMULATED_INJECT=WHAT:RANK:NUMBER: what goes wrong in the next launches (mok_host_injection). A graph does
 * again what its stream was given between cuStreamBeginCapture and -EndCapture.
 * emulated_live() counts what was not given back.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "../../../templates/host/mok_host.h"

extern "C" {
#include "../../../runtime/cuda/driver.h"
}

#define MOK_EXPORT extern "C" __attribute__((visibility("default")))

/* ------------------------------------------------------------------------------------------------ naive.cu as C++ */

struct position {
  unsigned x, y;
};
static const position blockIdx = {0, 0}, threadIdx = {0, 0}, gridDim = {1, 1}, blockDim = {1, 1};
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
static void __syncthreads() {}
static float __uint_as_float(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static void atomicAdd(unsigned long long *to, unsigned long long value) { *to += value; }
#include "../naive.cu"

/* Its one kernel that needs threads which meet. */
static void product(float *c, const bf16 *a, const int *list, int divisor, const bf16 *b, int rows, int columns, int depth) {
  for (long long i = 0; i < rows; ++i)
    for (long long j = 0; j < columns; ++j) {
      float sum = 0;
      for (long long k = 0; k < depth; ++k)
        sum = fmaf(from_bf16(a[(list ? list[i] / divisor : i) * depth + k]), from_bf16(b[j * depth + k]), sum);
      c[i * columns + j] = sum;
    }
}

/* ------------------------------------------------------------------------------------------------ the driver's state */

static std::atomic<long> live; /* allocations, handles, contexts, modules, streams, events */
MOK_EXPORT long emulated_live() { return live; }
MOK_EXPORT int emulated_launches;
MOK_EXPORT int emulated_current; /* contexts on this thread's stack */
int emulated_launches = 0, emulated_current = 0;

static long setting(const char *name, long fallback) {
  const char *value = getenv((std::string("EMULATED_") + name).c_str());
  return value ? atol(value) : fallback;
}

/* EMULATED_FAIL */
static bool fails(const char *function) {
  static std::string watched;
  static long calls;
  const char *text = getenv("EMULATED_FAIL");
  if (!text) return false;
  if (watched != text) {
    watched = text;
    calls = 0;
  }
  const char *colon = strchr(text, ':');
  if (!colon || strlen(function) != (size_t)(colon - text) || strncmp(text, function, (size_t)(colon - text)) != 0) return false;
  return ++calls == atol(colon + 1);
}
#define MAY_FAIL() \
  if (fails(__func__)) return MOK_CU_OUT_OF_MEMORY

/* Of what works on the current context. */
#define NEEDS_CONTEXT() \
  if (emulated_current == 0) return 201 /* CUDA_ERROR_INVALID_CONTEXT */

template <class T>
static int make(T **out) {
  *out = (T *)malloc(1);
  live += 1;
  return MOK_CU_SUCCESS;
}
static int drop(void *object) {
  free(object);
  live -= 1;
  return MOK_CU_SUCCESS;
}
static int allocate(mok_cu_pointer *out, size_t size) {
  void *memory = aligned_alloc(512, (size + 511) / 512 * 512);
  if (!memory) return MOK_CU_OUT_OF_MEMORY;
  memset(memory, 0xa5, size);
  *out = (mok_cu_pointer)(uintptr_t)memory;
  live += 1;
  return MOK_CU_SUCCESS;
}
static void *at(mok_cu_pointer pointer) { return (void *)(uintptr_t)pointer; }

/* ------------------------------------------------------------------------------------------------ calls */

MOK_EXPORT int cuInit(unsigned) { return (int)setting("INIT", 0); }
MOK_EXPORT int cuGetErrorName(int result, const char **name) {
  *name = result == MOK_CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == MOK_CU_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
                                         : nullptr;
  return *name ? MOK_CU_SUCCESS : 1;
}
MOK_EXPORT int cuGetErrorString(int, const char **text) {
  *text = "emulated";
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuGetExportTable(const void **, const void *) { return 500; } /* NVRTC asks for one */
MOK_EXPORT int cuDriverGetVersion(int *version) {
  *version = MOK_CUDA_VERSION;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDeviceGetCount(int *count) {
  MAY_FAIL();
  *count = (int)setting("COUNT", 1);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDeviceGet(mok_cu_device *device, int ordinal) {
  MAY_FAIL();
  *device = ordinal;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDeviceGetName(char *name, int size, mok_cu_device) {
  MAY_FAIL();
  snprintf(name, (size_t)size, "NVIDIA H200");
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDeviceGetUuid(mok_cu_uuid *uuid, mok_cu_device device) {
  MAY_FAIL();
  memset(uuid, device, sizeof *uuid);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDeviceGetAttribute(int *value, int attribute, mok_cu_device) {
  MAY_FAIL();
  const long capability = setting("CAPABILITY", 90);
  *value = attribute == MOK_CU_DEVICE_SMS              ? (int)setting("SMS", 132)
           : attribute == MOK_CU_DEVICE_MAJOR          ? (int)(capability / 10)
           : attribute == MOK_CU_DEVICE_MINOR          ? (int)(capability % 10)
           : attribute == MOK_CU_DEVICE_COOPERATIVE    ? (int)setting("COOPERATIVE", 1)
           : attribute == MOK_CU_DEVICE_SHARED_OPTIN   ? (int)setting("SHARED", 232448)
           : attribute == MOK_CU_DEVICE_VIRTUAL_MEMORY ? 1
                                                       : 0;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDeviceCanAccessPeer(int *possible, mok_cu_device from, mok_cu_device to) {
  *possible = setting("PEERS", 1) && setting("NO_PATH", -1) != from * 16 + to;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDevicePrimaryCtxRetain(mok_cu_context *context, mok_cu_device) {
  MAY_FAIL();
  static char primary;
  *context = (mok_cu_context)&primary;
  live += 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuDevicePrimaryCtxRelease(mok_cu_device) {
  live -= 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuCtxPushCurrent(mok_cu_context) {
  MAY_FAIL();
  emulated_current += 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuCtxPopCurrent(mok_cu_context *) {
  emulated_current -= 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuCtxSynchronize() { return MOK_CU_SUCCESS; }

MOK_EXPORT int cuModuleLoadData(mok_cu_module *module, const void *) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return make(module);
}
MOK_EXPORT int cuModuleUnload(mok_cu_module module) { return drop(module); }
MOK_EXPORT int cuModuleGetFunction(mok_cu_function *function, mok_cu_module, const char *name) {
  MAY_FAIL();
  static const char *const names[] = {"mok_forward",   "naive_fill",    "naive_product", "naive_activate",
                                      "naive_scatter", "naive_combine", "naive_compare"};
  for (const char *known : names)
    if (strcmp(known, name) == 0) {
      *function = (mok_cu_function)known;
      return MOK_CU_SUCCESS;
    }
  return 500; /* CUDA_ERROR_NOT_FOUND */
}
MOK_EXPORT int cuFuncSetAttribute(mok_cu_function, int, int) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, mok_cu_function, int, size_t) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  *blocks = (int)setting("OCCUPANCY", 1);
  return MOK_CU_SUCCESS;
}

MOK_EXPORT int cuOccupancyMaxActiveClusters(int *clusters, mok_cu_function, const mok_cu_launch_config *config) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  const int size = config->attribute_count > 0 ? (int)config->attributes[0].value.cluster[0] : 1;
  *clusters = (int)setting("CLUSTERS", setting("OCCUPANCY", 1) * setting("SMS", 132) / size);
  return MOK_CU_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------ graphs */

typedef std::vector<std::function<int()>> emulated_graph;
static emulated_graph *captured; /* of the stream that captures; there is one at a time */

/* True if the work was taken into a graph instead of done. */
static bool capture(std::function<int()> work) {
  if (captured) captured->push_back(work);
  return captured != nullptr;
}
MOK_EXPORT int cuStreamBeginCapture_v2(mok_cu_stream, int) {
  captured = new emulated_graph;
  live += 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuStreamEndCapture(mok_cu_stream, emulated_graph **graph) {
  *graph = captured;
  captured = nullptr;
  return *graph ? MOK_CU_SUCCESS : 1;
}
MOK_EXPORT int cuGraphInstantiateWithFlags(emulated_graph **out, emulated_graph *graph, unsigned long long) {
  *out = new emulated_graph(*graph);
  live += 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuGraphLaunch(emulated_graph *graph, mok_cu_stream) {
  for (const auto &work : *graph)
    if (const int result = work()) return result;
  return MOK_CU_SUCCESS;
}
static int destroy(emulated_graph *graph) {
  delete graph;
  live -= 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuGraphDestroy(emulated_graph *graph) { return destroy(graph); }
MOK_EXPORT int cuGraphExecDestroy(emulated_graph *graph) { return destroy(graph); }

/* ------------------------------------------------------------------------------------------------ kernels */

template <class T>
static T take(void **parameters, int i) {
  T value;
  memcpy(&value, parameters[i], sizeof value);
  return value;
}

/* All ranks at once, on the library of the host target. */
static int run_forward(const mok_args *args) {
  const char *path = getenv("EMULATED_KERNEL");
  if (!path) return MOK_CU_SUCCESS;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "emulated_cuda: %s\n", dlerror());
    abort();
  }
  const mok_host_run_fn run = (mok_host_run_fn)dlsym(library, MOK_HOST_RUN_SYMBOL);
  const mok_host_about_t *about = (const mok_host_about_t *)dlsym(library, MOK_HOST_ABOUT_SYMBOL);
  static char text[4096];
  mok_args mine = *args;
  if (mine.num_ranks_here != about->gpus || mine.comm_ctas > about->sms_comm || mine.compute_ctas > about->sms_compute) {
    fprintf(stderr, "emulated_cuda: the launch does not fit %s\n", path);
    abort();
  }
  mok_host_launch_t launch = {};
  launch.struct_size = sizeof launch;
  launch.args = &mine;
  launch.seed = 1;
  const char *inject = getenv("EMULATED_INJECT");
  int what = 0;
  if (inject && sscanf(inject, "%d:%d:%llu", &what, &launch.inject_rank, &launch.inject_number) == 3)
    launch.inject = (mok_host_injection)what;
  mok_host_report_t report = {};
  report.struct_size = sizeof report;
  report.text = text;
  report.text_size = sizeof text;
  const int result = run(&launch, &report);
  /* A launch that gives up has ended well as far as the driver knows, and so has one that is refused by what it left. */
  const bool gave_up = result == MOK_HOST_ABORTED || (result == MOK_HOST_DEADLOCK && inject && report.stuck == 0);
  const bool ended = result == MOK_HOST_OK || gave_up;
  if (!ended) fprintf(stderr, "emulated_cuda: %s\n", text);
  dlclose(library);
  return ended ? MOK_CU_SUCCESS : 700;
}

MOK_EXPORT int cuLaunchKernelEx(const mok_cu_launch_config *config, mok_cu_function function, void **p, void **) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  for (int i = 0; i < 3; ++i)
    if (!config->grid[i] || !config->block[i])
      return 1; /* CUDA_ERROR_INVALID_VALUE: an empty batch must not end in an empty grid */
  const std::string name = (const char *)function;
  typedef unsigned long long u64;
  if (name == "mok_forward") {
    emulated_launches += 1;
    const mok_args args = *(const mok_args *)p[0];
    if (capture([args] { return run_forward(&args); })) return MOK_CU_SUCCESS;
    return run_forward(&args);
  }
  if (name == "naive_fill") naive_fill(take<bf16 *>(p, 0), take<u64>(p, 1), take<u64>(p, 2), take<u64>(p, 3), take<float>(p, 4));
  else if (name == "naive_product")
    product(take<float *>(p, 0), take<const bf16 *>(p, 1), take<const int *>(p, 2), take<int>(p, 3), take<const bf16 *>(p, 4),
            take<int>(p, 5), take<int>(p, 6), take<int>(p, 7));
  else if (name == "naive_activate")
    naive_activate(take<bf16 *>(p, 0), take<float *>(p, 1), take<float *>(p, 2), take<u64>(p, 3), take<int>(p, 4),
                   take<float>(p, 5));
  else if (name == "naive_scatter")
    naive_scatter(take<bf16 *>(p, 0), take<float *>(p, 1), take<int *>(p, 2), take<int>(p, 3), take<int>(p, 4));
  else if (name == "naive_combine")
    naive_combine(take<bf16 *>(p, 0), take<bf16 *>(p, 1), take<bf16 *>(p, 2), take<int *>(p, 3), take<float *>(p, 4),
                  take<int>(p, 5), take<int>(p, 6), take<int>(p, 7), take<u64>(p, 8));
  else naive_compare(take<u64 *>(p, 0), take<bf16 *>(p, 1), take<bf16 *>(p, 2), take<u64>(p, 3));
  return MOK_CU_SUCCESS;
}

/* As strict as the driver: what a map of bf16 may be. */
MOK_EXPORT int cuTensorMapEncodeTiled(void *map, int type, unsigned dimensions, const void *base, const uint64_t *sizes,
                                      const uint64_t *strides, const unsigned *box, const unsigned *steps, int, int swizzle, int,
                                      int) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  enum { INVALID_VALUE = 1 };
  bool valid = (uintptr_t)map % 64 == 0 && type == 9 && dimensions >= 1 && dimensions <= 5 && (uintptr_t)base % 16 == 0;
  for (unsigned i = 0; valid && i < dimensions; ++i)
    valid = sizes[i] >= 1 && sizes[i] <= 1ull << 32 && box[i] >= 1 && box[i] <= 256 && steps[i] == 1 &&
            (i == 0 || (strides[i - 1] % 16 == 0 && strides[i - 1] < 1ull << 40));
  if (!valid || (swizzle == 3 && box[0] * 2 > 128)) return INVALID_VALUE;
  memset(map, 0, sizeof(mok_tensor_map));
  return MOK_CU_SUCCESS;
}

MOK_EXPORT int cuStreamCreate(mok_cu_stream *stream, unsigned) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return make(stream);
}
MOK_EXPORT int cuStreamDestroy(mok_cu_stream stream) { return drop(stream); }
MOK_EXPORT int cuStreamSynchronize(mok_cu_stream) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuStreamIsCapturing(mok_cu_stream, int *status) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  *status = captured ? 1 : (int)setting("CAPTURING", 0);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuEventCreate(mok_cu_event *event, unsigned) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return make(event);
}
MOK_EXPORT int cuEventDestroy(mok_cu_event event) { return drop(event); }
MOK_EXPORT int cuEventRecord(mok_cu_event, mok_cu_stream) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuEventElapsedTime(float *milliseconds, mok_cu_event, mok_cu_event) {
  MAY_FAIL();
  *milliseconds = 1;
  return MOK_CU_SUCCESS;
}

MOK_EXPORT int cuMemAlloc(mok_cu_pointer *pointer, size_t bytes) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  return allocate(pointer, bytes);
}
MOK_EXPORT int cuMemFree(mok_cu_pointer pointer) { return drop(at(pointer)); }
MOK_EXPORT int cuMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  NEEDS_CONTEXT();
  *free_bytes = *total_bytes = (size_t)141 << 30;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemsetD8Async(mok_cu_pointer to, unsigned char value, size_t count, mok_cu_stream) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  memset(at(to), value, count);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemcpyHtoDAsync(mok_cu_pointer to, const void *from, size_t bytes, mok_cu_stream) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  if (capture([=] { return memcpy(at(to), from, bytes), 0; })) return MOK_CU_SUCCESS;
  memcpy(at(to), from, bytes);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemcpyDtoHAsync(void *to, mok_cu_pointer from, size_t bytes, mok_cu_stream) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  memcpy(to, at(from), bytes);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemcpyDtoDAsync(mok_cu_pointer to, mok_cu_pointer from, size_t bytes, mok_cu_stream) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  memcpy(at(to), at(from), bytes);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemcpyDtoH(void *to, mok_cu_pointer from, size_t bytes) {
  MAY_FAIL();
  NEEDS_CONTEXT();
  memcpy(to, at(from), bytes);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemGetAllocationGranularity(size_t *granularity, const mok_cu_allocation *, int) {
  MAY_FAIL();
  *granularity = (size_t)setting("GRANULARITY", 2 << 20);
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemAddressReserve(mok_cu_pointer *pointer, size_t size, size_t, mok_cu_pointer, unsigned long long) {
  MAY_FAIL();
  return allocate(pointer, size);
}
MOK_EXPORT int cuMemAddressFree(mok_cu_pointer pointer, size_t) { return drop(at(pointer)); }
MOK_EXPORT int cuMemCreate(mok_cu_memory *handle, size_t, const mok_cu_allocation *, unsigned long long) {
  MAY_FAIL();
  *handle = 1;
  live += 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemRelease(mok_cu_memory) {
  live -= 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemMap(mok_cu_pointer, size_t, size_t, mok_cu_memory, unsigned long long) {
  MAY_FAIL();
  live += 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemUnmap(mok_cu_pointer, size_t) {
  live -= 1;
  return MOK_CU_SUCCESS;
}
MOK_EXPORT int cuMemSetAccess(mok_cu_pointer, size_t, const mok_cu_access *, size_t) {
  MAY_FAIL();
  return MOK_CU_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------ cuBLAS for bench */

MOK_EXPORT int emulated_products;
int emulated_products = 0;
MOK_EXPORT int cublasCreate_v2(void **handle) {
  MAY_FAIL();
  return make(handle);
}
MOK_EXPORT int cublasDestroy_v2(void *handle) { return drop(handle); }
MOK_EXPORT int cublasSetStream_v2(void *, mok_cu_stream) {
  MAY_FAIL();
  return 0;
}
/* The sums are nobody's business here. */
MOK_EXPORT int cublasGemmEx(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                            const void *, void *, int, int, int, int) {
  MAY_FAIL();
  emulated_products += 1;
  return 0;
}

MOK_EXPORT int cuGetProcAddress_v2(const char *symbol, void **address, int, uint64_t, int *found) {
  static const struct {
    const char *name;
    void *address;
  } functions[] = {
#define MOK_CUDA_FUNCTION(name, parameters) {#name, (void *)name},
#include "../../../runtime/cuda/driver_syms.def"
#undef MOK_CUDA_FUNCTION
  };
  *found = 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
  const char *missing = getenv("EMULATED_MISSING");
  for (const auto &f : functions)
    if (strcmp(f.name, symbol) == 0 && !(missing && strcmp(missing, symbol) == 0)) {
      *address = f.address;
      *found = 0;
    }
  return MOK_CU_SUCCESS;
}
