/* NumPy's .npy format 1.0: arrays that other tools read. bf16 has no NumPy type: its bits are stored as uint16. */
#ifndef MOK_DRIVER_NPY_H
#define MOK_DRIVER_NPY_H

#include <stdint.h>

#include "../../runtime/base/buf.h"

/* `descr`: "<u2", "<i4", "<f4". Row-major, `dimensions` sizes in shape. The blob is in the arena. */
mok_blob mok_npy(mok_arena *arena, const char *name, const char *descr, const int64_t *shape, int dimensions, const void *data);

#endif
