#include "driver_gpu.h"

#include <dlfcn.h>
#include <string.h>

/* From cuda.h of the driver API; its numbers are stable. */
enum { CUDA_SUCCESS = 0, ATTRIBUTE_MULTIPROCESSOR_COUNT = 16 };

typedef struct driver {
  int (*init)(unsigned flags);
  int (*device_count)(int *count);
  int (*device_get)(int *device, int ordinal);
  int (*device_name)(char *name, int size, int device);
  int (*device_attribute)(int *value, int attribute, int device);
  int (*error_name)(int code, const char **name);
} driver;

static mok_status refused(const driver *cuda, const char *call, int code) {
  const char *name = NULL;
  if (!cuda->error_name || cuda->error_name(code, &name) != CUDA_SUCCESS || !name) name = "unknown error";
  return MOK_ERROR(MOK_ERR_GPU, "the NVIDIA driver (libcuda.so.1) was loaded, but %s failed: %s (%d)", call, name, code);
}

static mok_status query(mok_arena *arena, const driver *cuda, mok_driver_gpu *out) {
  int code = cuda->init(0);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuInit", code);
  code = cuda->device_count(&out->count);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGetCount", code);
  if (out->count < 1) return MOK_ERROR(MOK_ERR_GPU, "the NVIDIA driver is there, but it sees no GPU");
  int device = 0, sms = 0;
  char name[256] = "";
  code = cuda->device_get(&device, 0);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGet", code);
  code = cuda->device_name(name, (int)sizeof name, device);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGetName", code);
  code = cuda->device_attribute(&sms, ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGetAttribute", code);
  out->name = mok_arena_strdup(arena, name);
  out->sms = sms;
  return MOK_OK;
}

mok_status mok_driver_gpu_query(mok_arena *arena, mok_driver_gpu *out) {
  memset(out, 0, sizeof *out);
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return MOK_ERROR(MOK_ERR_GPU, "no NVIDIA driver: tried dlopen(\"libcuda.so.1\"): %s", dlerror());
  driver cuda = {0};
  const struct {
    const char *name;
    void *slot; /* of a function pointer; dlsym's void* is copied, as ISO C has no such conversion */
  } symbols[] = {
      {"cuInit", &cuda.init},
      {"cuDeviceGetCount", &cuda.device_count},
      {"cuDeviceGet", &cuda.device_get},
      {"cuDeviceGetName", &cuda.device_name},
      {"cuDeviceGetAttribute", &cuda.device_attribute},
      {"cuGetErrorName", &cuda.error_name},
  };
  mok_status status = MOK_OK;
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0] && !status; ++i) {
    void *address = dlsym(library, symbols[i].name);
    memcpy(symbols[i].slot, &address, sizeof address);
    if (!address) status = MOK_ERROR(MOK_ERR_GPU, "libcuda.so.1 has no symbol %s: not a usable NVIDIA driver", symbols[i].name);
  }
  if (!status) status = query(arena, &cuda, out);
  dlclose(library);
  return status;
}
