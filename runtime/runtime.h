/* Between the files of libmok. */
#ifndef MOK_RUNTIME_H
#define MOK_RUNTIME_H

#include <stdbool.h>

#include "../templates/mok_args.h"
#include "cuda/driver.h"
#include "cuda/tensor_map.h"
#include "include/mok.h"

/* A package loaded on a device. */
struct mok_kernel {
  mok_cuda cuda;
  int ordinal;
  mok_cu_device device;
  mok_cu_uuid uuid;
  mok_cu_context context; /* primary, retained */
  mok_cu_module module;
  mok_cu_function function;
  mok_cu_stream stream; /* for what must not wait for the caller's work; non-blocking */

  char name[65];   /* of the description */
  char digest[65]; /* of the package: its manifest's checksum */
  mok_kernel_info info;
  mok_map_recipes maps;
  int threads, cluster, grid;
  int64_t shared_bytes;   /* dynamic, of one CTA */
  int64_t control_offset; /* of the control lines in the local workspace */
  char *names;            /* of what an abort record has numbers for (names.h); owned, NULL: none */
  int sms, resident_ctas; /* of the device; CTAs of this kernel that it holds at once */

  int workspaces; /* that use it */
  mok_log_fn log;
  void *log_user;
};

/* Memory that all workspaces of a group share. */
typedef struct mok_heap {
  mok_cu_memory handle; /* valid if `mapped` or size is not 0 */
  mok_cu_pointer pointer;
  size_t size; /* reserved; 0: nothing */
  bool created, mapped;
} mok_heap;

typedef struct mok_team {
  mok_cuda cuda; /* its own: any of its kernels may be unloaded before the last workspace goes */
  int users;     /* workspaces */
  int ranks;
  mok_heap heaps[MOK_MAX_RANKS];
} mok_team;

/* A launch's rank arguments that a captured graph copies from; they live as long as the workspace. */
typedef struct mok_captured mok_captured;
struct mok_captured {
  mok_captured *next;
  mok_rank_args ranks[];
};

struct mok_workspace {
  mok_kernel *kernel;
  mok_team *team;
  int first_rank, ranks;
  size_t local_size;        /* of one rank, rounded */
  mok_cu_pointer local;     /* ranks * local_size */
  mok_cu_pointer rank_args; /* mok_rank_args[ranks] */
  mok_captured *captured;
  uint32_t local_limit_ms, peer_limit_ms; /* of the last launch, for its record's text */
  bool aborted;
};

/* Text of an abort record, the words of MOK_LINE_WAIT_ERROR, of a launch of this workspace. */
void mok_record_text(const mok_workspace *ws, const uint32_t *record, char *text, size_t size);

/* Makes the kernel's context current until mok_kernel_leave. */
MOK_MUST_USE mok_status mok_kernel_enter(const mok_kernel *kernel);
void mok_kernel_leave(const mok_kernel *kernel);

void mok_log(const mok_kernel *kernel, const char *fmt, ...) MOK_PRINTF(2, 3);

/* Copies a struct of the caller's into the library's form of it: a shorter one (older header) is filled up with zeros, a longer
 * one must have zeros in what is not known here. Both begin with size_t struct_size; `oldest` is the smallest ever valid. */
MOK_MUST_USE mok_status mok_take_args(void *to, size_t size, size_t oldest, const void *from, const char *what);

#endif
