#include "driver_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../jit/child.h"

/* From cuda.h of the driver API; its numbers are stable. */
enum { CUDA_SUCCESS = 0, ATTRIBUTE_MULTIPROCESSOR_COUNT = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

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
  int device = 0, sms = 0, major = 0, minor = 0;
  char name[256] = "";
  code = cuda->device_get(&device, 0);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGet", code);
  code = cuda->device_name(name, (int)sizeof name, device);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGetName", code);
  code = cuda->device_attribute(&sms, ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGetAttribute", code);
  code = cuda->device_attribute(&major, ATTRIBUTE_MAJOR, device);
  if (code == CUDA_SUCCESS) code = cuda->device_attribute(&minor, ATTRIBUTE_MINOR, device);
  if (code != CUDA_SUCCESS) return refused(cuda, "cuDeviceGetAttribute", code);
  out->capability = major * 10 + minor;
  out->name = mok_arena_strdup(arena, name);
  out->sms = sms;
  return MOK_OK;
}

static mok_status query_here(mok_arena *arena, mok_driver_gpu *out) {
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

enum { ANSWER = 'A', FAILURE = 'F' };

static void query_in_child(void *user, int fd) {
  (void)user;
  mok_arena *arena = mok_arena_create();
  mok_buf reply = mok_buf_make(arena);
  mok_driver_gpu found = {0};
  mok_status status = query_here(arena, &found);
  if (status) mok_buf_printf(&reply, "%c%s", FAILURE, mok_status_text(status));
  else mok_buf_printf(&reply, "%c%d %lld %d %s", ANSWER, found.count, (long long)found.sms, found.capability, found.name);
  mok_child_write(fd, reply.data, reply.size);
}

/* In a child process: a process that has initialised the driver must not fork any more, and NVRTC, which has children, asks the
 * driver too. */
mok_status mok_driver_gpu_query(mok_arena *arena, mok_driver_gpu *out) {
  memset(out, 0, sizeof *out);
  mok_buf reply = mok_buf_make(arena);
  mok_child_end end = {0};
  MOK_TRY(mok_child_run(query_in_child, NULL, &reply, &end));
  if (end.exited && end.number == 0 && reply.size > 0 && reply.data[0] == FAILURE)
    return MOK_ERROR(MOK_ERR_GPU, "%s", reply.data + 1);
  long long sms = 0;
  int name = 0;
  if (!end.exited || end.number != 0 || reply.size == 0 || reply.data[0] != ANSWER ||
      sscanf(reply.data + 1, "%d %lld %d %n", &out->count, &sms, &out->capability, &name) != 3)
    return MOK_ERROR(MOK_ERR_GPU, "the NVIDIA driver (libcuda.so.1) crashed or ended the process when asked for its GPUs (%s %d)",
                     end.exited ? "exit status" : "signal", end.number);
  out->sms = sms;
  out->name = reply.data + 1 + name;
  return MOK_OK;
}
