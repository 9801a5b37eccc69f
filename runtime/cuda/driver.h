/* libcuda by dlopen: what is used of the driver API, so that nothing here needs the CUDA toolkit to build or a driver to start.
 * Numbers and layouts are the driver's ABI (cuda.h 13.0), which is stable. */
#ifndef MOK_CUDA_DRIVER_H
#define MOK_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "../base/status.h"

#define MOK_CUDA_VERSION 12000 /* oldest driver: CUDA 12.0 has all that is used, with these signatures */

typedef int mok_cu_device;
typedef unsigned long long mok_cu_pointer, mok_cu_memory;
typedef struct mok_cu_context_record *mok_cu_context;
typedef struct mok_cu_module_record *mok_cu_module;
typedef struct mok_cu_function_record *mok_cu_function;
typedef struct mok_cu_stream_record *mok_cu_stream;
typedef struct mok_cu_event_record *mok_cu_event;

typedef struct mok_cu_uuid {
  unsigned char bytes[16];
} mok_cu_uuid;

typedef struct mok_cu_launch_attribute {
  int id; /* MOK_CU_LAUNCH_* */
  int pad;
  union {
    unsigned char bytes[64];
    int cooperative;
    unsigned cluster[3];
  } value;
} mok_cu_launch_attribute;

typedef struct mok_cu_launch_config {
  unsigned grid[3], block[3];
  unsigned shared_bytes; /* dynamic */
  mok_cu_stream stream;
  mok_cu_launch_attribute *attributes;
  unsigned attribute_count;
} mok_cu_launch_config;

typedef struct mok_cu_location {
  int type; /* MOK_CU_LOCATION_DEVICE */
  int id;
} mok_cu_location;

typedef struct mok_cu_allocation {
  int type; /* MOK_CU_ALLOCATION_PINNED */
  int handle_types;
  mok_cu_location location;
  void *windows;
  unsigned char flags[8];
} mok_cu_allocation;

typedef struct mok_cu_access {
  mok_cu_location location;
  int flags; /* MOK_CU_ACCESS_READ_WRITE */
} mok_cu_access;

enum {
  MOK_CU_SUCCESS = 0,
  MOK_CU_OUT_OF_MEMORY = 2,
  MOK_CU_STUB_LIBRARY = 34,
  MOK_CU_NO_DEVICE = 100,

  MOK_CU_DEVICE_SMS = 16,
  MOK_CU_DEVICE_MAJOR = 75,
  MOK_CU_DEVICE_MINOR = 76,
  MOK_CU_DEVICE_COOPERATIVE = 95,
  MOK_CU_DEVICE_SHARED_OPTIN = 97,
  MOK_CU_DEVICE_VIRTUAL_MEMORY = 102,

  MOK_CU_FUNCTION_STATIC_SHARED = 1,
  MOK_CU_FUNCTION_DYNAMIC_SHARED_LIMIT = 8,

  MOK_CU_LAUNCH_COOPERATIVE = 2,
  MOK_CU_LAUNCH_CLUSTER = 4,

  MOK_CU_STREAM_NON_BLOCKING = 1,
  MOK_CU_LOCATION_DEVICE = 1,
  MOK_CU_ALLOCATION_PINNED = 1,
  MOK_CU_ACCESS_READ_WRITE = 3,
  MOK_CU_GRANULARITY_MINIMUM = 0
};

typedef struct mok_cuda {
  void *library; /* owned */
#define MOK_CUDA_FUNCTION(name, parameters) int(*name) parameters;
#include "driver_syms.def"
#undef MOK_CUDA_FUNCTION
} mok_cuda;

/* Loads libcuda.so.1 and initialises it. MOK_ERR_GPU says what was tried and where it stopped: no library, a stub, no device, a
 * driver that is too old. On an error there is nothing to close. */
MOK_MUST_USE mok_status mok_cuda_open(mok_cuda *out);
void mok_cuda_close(mok_cuda *cuda); /* accepts a zeroed one */

/* MOK_OK, or MOK_ERR_GPU "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory". call: "cuMemAlloc", or the text of the
 * whole call. */
MOK_MUST_USE mok_status mok_cuda_status(const mok_cuda *cuda, int result, const char *call);

/* Loads a cubin into the current context, from memory of any alignment. */
MOK_MUST_USE mok_status mok_cuda_load_module(const mok_cuda *cuda, const void *code, size_t size, mok_cu_module *out);

/* Calls a function of the table; returns from the calling function on an error. */
#define MOK_CU_TRY(cuda, call) MOK_TRY(mok_cuda_status((cuda), (cuda)->call, #call))

#endif
