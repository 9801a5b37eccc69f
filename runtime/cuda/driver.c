#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* cuGetProcAddress of CUDA 12. */
typedef int (*find_fn)(const char *symbol, void **address, int version, uint64_t flags, int *found);

/* ISO C has no conversion from void* to a function pointer. */
static void set_function(void *slot, void *address) { memcpy(slot, &address, sizeof address); }

static mok_status first_call(const mok_cuda *cuda, void *library, int result) {
  switch (result) {
    case MOK_CU_SUCCESS:
      return MOK_OK;
    case MOK_CU_STUB_LIBRARY:
      return MOK_ERROR(MOK_ERR_GPU, "no NVIDIA driver: the libcuda.so.1 found first is the CUDA toolkit's stub (cuInit: %d)",
                       result);
    case MOK_CU_NO_DEVICE:
      return MOK_ERROR(MOK_ERR_GPU, "the NVIDIA driver is there, but it sees no GPU (cuInit: CUDA_ERROR_NO_DEVICE, %d)", result);
    default:
      break;
  }
  mok_cuda names = *cuda;
  set_function(&names.cuGetErrorName, dlsym(library, "cuGetErrorName"));
  set_function(&names.cuGetErrorString, dlsym(library, "cuGetErrorString"));
  return mok_status_context(mok_cuda_status(&names, result, "cuInit"), "initialising the NVIDIA driver (libcuda.so.1)");
}

static mok_status load(mok_cuda *cuda, void *library) {
  int (*init)(unsigned flags) = NULL;
  find_fn find = NULL;
  set_function(&init, dlsym(library, "cuInit"));
  set_function(&find, dlsym(library, "cuGetProcAddress_v2"));
  if (!init) return MOK_ERROR(MOK_ERR_GPU, "libcuda.so.1 has no cuInit: not a usable NVIDIA driver");
  MOK_TRY(first_call(cuda, library, init(0)));
  if (!find)
    return MOK_ERROR(MOK_ERR_GPU, "the NVIDIA driver is too old: it has no cuGetProcAddress_v2, which CUDA 12.0 brought");
  const struct {
    const char *name;
    void *slot;
  } functions[] = {
#define MOK_CUDA_FUNCTION(name, parameters) {#name, &cuda->name},
#include "driver_syms.def"
#undef MOK_CUDA_FUNCTION
  };
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *address = NULL;
    int found = 0; /* CU_GET_PROC_ADDRESS_SUCCESS */
    const int result = find(functions[i].name, &address, MOK_CUDA_VERSION, 0, &found);
    if (result != MOK_CU_SUCCESS || found != 0 || !address)
      return MOK_ERROR(MOK_ERR_GPU, "the NVIDIA driver has no %s of CUDA %d.%d: result %d, query %d; a newer driver is needed",
                       functions[i].name, MOK_CUDA_VERSION / 1000, MOK_CUDA_VERSION % 1000 / 10, result, found);
    set_function(functions[i].slot, address);
  }
  return MOK_OK;
}

mok_status mok_cuda_open(mok_cuda *out) {
  memset(out, 0, sizeof *out);
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return MOK_ERROR(MOK_ERR_GPU, "no NVIDIA driver: tried dlopen(\"libcuda.so.1\"): %s", dlerror());
  mok_status status = load(out, library);
  if (status) {
    dlclose(library);
    memset(out, 0, sizeof *out);
  } else {
    out->library = library;
  }
  return status;
}

void mok_cuda_close(mok_cuda *cuda) {
  if (cuda->library) dlclose(cuda->library);
  memset(cuda, 0, sizeof *cuda);
}

mok_status mok_cuda_status(const mok_cuda *cuda, int result, const char *call) {
  if (result == MOK_CU_SUCCESS) return MOK_OK;
  const char *name = NULL, *text = NULL;
  if (!cuda->cuGetErrorName || cuda->cuGetErrorName(result, &name) != MOK_CU_SUCCESS || !name) name = "unknown error";
  if (!cuda->cuGetErrorString || cuda->cuGetErrorString(result, &text) != MOK_CU_SUCCESS || !text) text = "no text";
  return MOK_ERROR(MOK_ERR_GPU, "%.*s failed: %s (%d): %s", (int)strcspn(call, "("), call, name, result, text);
}

mok_status mok_cuda_load_module(const mok_cuda *cuda, const void *code, size_t size, mok_cu_module *out) {
  void *aligned = malloc(size);
  if (!aligned) return MOK_ERROR(MOK_ERR_IO, "out of memory: %zu bytes", size);
  memcpy(aligned, code, size);
  mok_status status = mok_cuda_status(cuda, cuda->cuModuleLoadData(out, aligned), "cuModuleLoadData");
  free(aligned);
  int version = 0;
  if (status && cuda->cuDriverGetVersion(&version) == MOK_CU_SUCCESS)
    status =
        mok_status_context(status, "loading compiled code with a driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
  return status;
}
