/* The GPUs of this machine, as far as the compiler needs them: gpu = "auto" and the choice of `run`. Through libcuda.so.1 by
 * dlopen, so that the tool starts without a driver. */
#ifndef MOK_DRIVER_GPU_H
#define MOK_DRIVER_GPU_H

#include <stdint.h>

#include "../../runtime/base/arena.h"
#include "../../runtime/base/status.h"

typedef struct mok_driver_gpu {
  int count;        /* of devices; the rest is the first one's */
  const char *name; /* in the arena */
  int64_t sms;
  int capability; /* compute capability times 10: 90 of 9.0 */
} mok_driver_gpu;

/* MOK_ERR_GPU says what was tried and where it stopped: no library, cuInit's answer, no device. */
MOK_MUST_USE mok_status mok_driver_gpu_query(mok_arena *arena, mok_driver_gpu *out);

#endif
