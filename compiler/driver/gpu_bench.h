/* Times on GPUs: of the layer, and of what bounds it, in the same run. */
#ifndef MOK_DRIVER_GPU_BENCH_H
#define MOK_DRIVER_GPU_BENCH_H

#include "gpu_run.h"

/* Microseconds of single calls, back to back; the quartiles are calls that happened. */
typedef struct mok_times {
  size_t count;
  double least, lower_quartile, median, upper_quartile;
} mok_times;

/* How long to measure: calls in blocks of ten until the time is over, or `calls` of them if that is not 0. */
typedef struct mok_bench_length {
  int64_t warm_us, measure_us, calls;
} mok_bench_length;

/* The layer on the inputs at hand, all ranks. A launch takes as long as on the device where it takes longest. */
MOK_MUST_USE mok_status mok_bench_layer(mok_gpu_run *run, const mok_bench_length *length, mok_times *out);

/* What the first device does at best. */
typedef struct mok_roofline {
  const char *product_by; /* the library that ran the product; NULL: none was found, then product_flops is 0 */
  double product_flops;   /* a second, of an 8192-cubed product of random bf16 numbers */
  double copy_bytes;      /* a second, read and written, of a copy inside the device's memory */
} mok_roofline;
MOK_MUST_USE mok_status mok_bench_roofline(mok_gpu_run *run, mok_roofline *out);

#endif
