/* cuBLAS by dlopen, for one product: what a GPU does at best. It is not needed to build or to run anything else. */
#ifndef MOK_DRIVER_CUBLAS_H
#define MOK_DRIVER_CUBLAS_H

#include "../../runtime/base/arena.h"
#include "../../runtime/cuda/driver.h"

typedef struct mok_cublas {
  const char *path; /* in the arena; NULL: no library was found */
  void *library, *handle;
  int (*destroy)(void *handle);
  int (*gemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
              int stride_a, const void *b, int type_b, int stride_b, const void *beta, void *c, int type_c, int stride_c,
              int compute_type, int algorithm);
} mok_cublas;

/* In MOKGEN_CUBLAS if that is set ("none", or a library that must be there: MOK_ERR_IO), else in the loader's places and below
 * CUDA_PATH. Not found is no error. Works on the current context and the stream. */
MOK_MUST_USE mok_status mok_cublas_open(mok_arena *arena, mok_cu_stream stream, mok_cublas *out);
void mok_cublas_close(mok_cublas *cublas); /* accepts a zeroed one */

/* c = a b^T, n x n bf16 each, sums in fp32; enqueued. */
MOK_MUST_USE mok_status mok_cublas_product(const mok_cublas *cublas, mok_cu_pointer c, mok_cu_pointer a, mok_cu_pointer b, int n);

#endif
