#include "cublas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* From cublas_api.h and library_types.h; the numbers are stable. */
enum { TRANSPOSE = 1, NO_TRANSPOSE = 0, BF16 = 14, COMPUTE_FP32 = 68, DEFAULT_ALGORITHM = -1 };

static mok_status open_library(mok_arena *arena, mok_cublas *out) {
  const char *named = getenv("MOKGEN_CUBLAS"), *toolkit = getenv("CUDA_PATH");
  if (named && strcmp(named, "none") == 0) return MOK_OK;
  if (named && named[0]) {
    out->library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (!out->library) return MOK_ERROR(MOK_ERR_IO, "MOKGEN_CUBLAS: cannot open %s: %s", named, dlerror());
    out->path = named;
    return MOK_OK;
  }
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !out->library; ++i) {
    out->path = names[i];
    out->library = dlopen(out->path, RTLD_NOW | RTLD_LOCAL);
    if (out->library || !toolkit) continue;
    out->path = mok_arena_printf(arena, "%s/lib64/%s", toolkit, names[i]);
    out->library = dlopen(out->path, RTLD_NOW | RTLD_LOCAL);
  }
  if (!out->library) out->path = NULL;
  return MOK_OK;
}

static mok_status check(const mok_cublas *cublas, const char *call, int result) {
  if (result == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_GPU, "%s of %s failed: status %d", call, cublas->path, result);
}

static mok_status start(mok_cublas *cublas, mok_cu_stream stream) {
  int (*create)(void **handle) = NULL;
  int (*set_stream)(void *handle, mok_cu_stream stream) = NULL;
  const struct {
    const char *name;
    void *slot; /* of a function pointer; ISO C has no conversion from dlsym's void* */
  } symbols[] = {
      {"cublasCreate_v2", &create},
      {"cublasSetStream_v2", &set_stream},
      {"cublasGemmEx", &cublas->gemm},
      {"cublasDestroy_v2", &cublas->destroy},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
    void *address = dlsym(cublas->library, symbols[i].name);
    if (!address) return MOK_ERROR(MOK_ERR_IO, "%s has no %s: not a usable cuBLAS", cublas->path, symbols[i].name);
    memcpy(symbols[i].slot, &address, sizeof address);
  }
  MOK_TRY(check(cublas, "cublasCreate", create(&cublas->handle)));
  return check(cublas, "cublasSetStream", set_stream(cublas->handle, stream));
}

mok_status mok_cublas_open(mok_arena *arena, mok_cu_stream stream, mok_cublas *out) {
  memset(out, 0, sizeof *out);
  MOK_TRY(open_library(arena, out));
  if (!out->library) return MOK_OK;
  mok_status status = start(out, stream);
  if (status) mok_cublas_close(out);
  return status;
}

void mok_cublas_close(mok_cublas *cublas) {
  if (cublas->handle) cublas->destroy(cublas->handle);
  if (cublas->library) dlclose(cublas->library);
  memset(cublas, 0, sizeof *cublas);
}

mok_status mok_cublas_product(const mok_cublas *cublas, mok_cu_pointer c, mok_cu_pointer a, mok_cu_pointer b, int n) {
  const float one = 1, zero = 0;
  const int result =
      cublas->gemm(cublas->handle, TRANSPOSE, NO_TRANSPOSE, n, n, n, &one, (const void *)(uintptr_t)a, BF16, n,
                   (const void *)(uintptr_t)b, BF16, n, &zero, (void *)(uintptr_t)c, BF16, n, COMPUTE_FP32, DEFAULT_ALGORITHM);
  return check(cublas, "cublasGemmEx", result);
}
