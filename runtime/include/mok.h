/* libmok: loads a package that mokgen wrote and runs its kernel.
 *
 *   mok_kernel_load        package -> one device; checks the device against the plan
 *   mok_workspace_create   memory of the ranks of this process; collective
 *   mok_forward            one launch on a stream; any number of times
 *   mok_check              what went wrong on the device so far
 *   mok_workspace_destroy, mok_kernel_unload
 *
 * Needs libc and, from mok_kernel_load on, the NVIDIA driver (libcuda.so.1, opened at run time). There is no global state:
 * nothing is printed, no signal or exit handler is set, the process is never ended, and the thread's current CUDA context is left
 * as it was. Objects may be used from any thread, one at a time. Version 0.x: the interface may change with every release.
 *
 * A struct that begins with struct_size is set by its user to its sizeof; all else may be zero unless it says required. Pointers
 * marked [device] are of the kernel's device, in its primary context (what the CUDA runtime and PyTorch use).
 */
#ifndef MOK_H
#define MOK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOK_VERSION_MAJOR 0
#define MOK_VERSION_MINOR 1

/* "0.1.0"; of the library, not of this header. */
const char *mok_version(void);

/* Success is NULL. An error is an owned record, to be freed with mok_status_free. */
typedef struct mok_status_record *mok_status;
enum {
  MOK_STATUS_OK = 0,
  MOK_STATUS_ARGUMENT = 2, /* an argument is wrong: the text says which, and what would be right */
  MOK_STATUS_DEVICE = 5,   /* no driver, a device that does not fit the package, or a CUDA call that failed */
  MOK_STATUS_ABORTED = 7,  /* a launch gave up waiting: the text says who waited for what */
  MOK_STATUS_FILE = 8      /* a package that cannot be read, or is not what its manifest says; or out of memory */
};
int mok_status_exit_code(mok_status status);    /* one of the above */
const char *mok_status_text(mok_status status); /* borrowed; "" for success */
void mok_status_free(mok_status status);        /* accepts NULL */

/* ------------------------------------------------------------------------------------------------ package on a device */

typedef void (*mok_log_fn)(void *user, const char *text); /* one line without its newline; text is borrowed */

typedef struct mok_load_args {
  size_t struct_size;
  const char *path; /* folder of the package, or */
  const void
      *memory; /* ... the same files in one piece, as mok_package_pack of the compiler makes it; not needed after the call */
  size_t memory_size;
  int device;     /* CUDA ordinal */
  mok_log_fn log; /* NULL: silent */
  void *log_user;
} mok_load_args;

typedef struct mok_kernel mok_kernel;
/* Verifies the package, compares the plan with the device (architecture, SMs, shared memory, co-residency) and loads the code. */
mok_status mok_kernel_load(const mok_load_args *args, mok_kernel **out);
void mok_kernel_unload(mok_kernel *kernel); /* accepts NULL; after its workspaces are destroyed */

/* Facts of the manifest. */
typedef struct mok_kernel_info {
  size_t struct_size;
  int ranks, tokens_per_rank;
  int hidden, intermediate, shared_intermediate, experts, top_k;
  int gated;                            /* 0: the activation has no gate, mok_forward_args.gate is not used */
  int comm_ctas, compute_ctas;          /* most CTAs of one rank */
  int64_t symmetric_bytes, local_bytes; /* of one rank, as planned */
  int cluster;                          /* CTAs start in clusters of so many: counts of CTAs are multiples of it */
} mok_kernel_info;
mok_status mok_kernel_query(const mok_kernel *kernel, mok_kernel_info *info);

/* ------------------------------------------------------------------------------------------------ workspace */

/* All ranks in this process. */
typedef struct mok_group {
  size_t struct_size;
  /* Required. One kernel for each rank, each on a device of its own, in order of ranks: one workspace for each rank. Or a single
   * one for a package of several ranks: all ranks share its device and are launched together, each with its part of the plan's
   * CTAs (for tests: same bits, less speed). */
  mok_kernel *const *kernels;
  int kernel_count;
} mok_group;

typedef struct mok_workspace mok_workspace;

/* Bytes that mok_workspace_create takes from each device for one rank, but the arguments of a launch: the heap
 * rounded up as the driver asks, the local workspace to 512. */
mok_status mok_workspace_size(const mok_kernel *kernel, int64_t *symmetric_bytes, int64_t *local_bytes);

/* Allocates, maps and clears; out[kernel_count]. On an error nothing is left. A workspace serves any number of layers with the
 * same package, one after the other on one stream. */
mok_status mok_workspace_create(const mok_group *group, mok_workspace **out);
/* Waits for the device. Memory goes with the last workspace of its group. Accepts NULL. */
void mok_workspace_destroy(mok_workspace *workspace);

/* ------------------------------------------------------------------------------------------------ one step */

/* bf16 [experts, rows, columns], columns contiguous; strides in elements, 0: no gaps. 16-byte aligned. */
typedef struct mok_weights {
  const void *base; /* [device] */
  int64_t expert_stride, row_stride;
} mok_weights;

/* One rank's step: each rank brings tokens of its own. Ranks that all bring the same ones (tensor parallelism before the
 * layer) get the right result, but the experts compute every token R times. T = tokens, H = hidden, I = intermediate,
 * k = top_k; experts are those of this rank, floor(rank * E / R) .. floor((rank + 1) * E / R) - 1. */
typedef struct mok_forward_args {
  size_t struct_size;
  const void *x;                                   /* [device] bf16 [T, H] */
  const int32_t *topk_ids;                         /* [device] [T, k]; -1: no route */
  const float *topk_weights;                       /* [device] [T, k] */
  void *out;                                       /* [device] bf16 [T, H] */
  mok_weights gate, up;                            /* [experts, I, H] */
  mok_weights down;                                /* [experts, H, I] */
  mok_weights shared_gate, shared_up, shared_down; /* of the shared expert, where the layer has one */
  int32_t tokens;                                  /* 0 .. tokens_per_rank */
  const int32_t *tokens_dev; /* [device] if not NULL: the count, read by each launch; `tokens` is then its bound */
} mok_forward_args;

typedef struct mok_launch_options {
  size_t struct_size;
  /* CTAs of one rank's roles; 0: as many as planned (co-located: the rank's part). Any number up to the plan's, in whole
   * clusters, gives the same bits. */
  int comm_ctas, compute_ctas;
  /* A wait inside a rank gives up after this many milliseconds, 0: 10 s; one for another rank, which may start much later, 0:
   * 10 min. A launch that gives up ends, on every rank, and mok_check says why. */
  uint32_t local_timeout_ms, peer_timeout_ms;
} mok_launch_options;

/* Enqueues one step on `stream` (a CUstream or cudaStream_t of the kernel's device; NULL: the default stream). args: one struct
 * for each rank of the workspace, in order. options may be NULL. Never waits and allocates no device memory; may be captured into
 * a graph, which then keeps pointers, counts and strides as they were, but for the value behind tokens_dev. All ranks must launch
 * the same sequence of steps. */
mok_status mok_forward(mok_workspace *workspace, const mok_forward_args *args, const mok_launch_options *options, void *stream);

/* What launches found wrong in their input and went on: such routes count as -1, such ranks compute nothing. */
typedef struct mok_input_errors {
  size_t struct_size;
  int64_t bad_ids;           /* ids outside 0 .. experts-1 that are not -1 */
  int rank, token, slot, id; /* the first of them */
  int64_t bad_counts;        /* launches with a token count outside 0 .. tokens_per_rank ... */
  int count;                 /* ... and the first such count */
} mok_input_errors;

/* Reads what the device recorded up to now, without waiting for launches in flight: synchronise the stream first to judge a step.
 * MOK_STATUS_ABORTED once a launch has given up; the workspace then refuses launches, and so must its peers' be recreated.
 * `errors`, if not NULL, gets the input errors since the last call; NULL makes them MOK_STATUS_ARGUMENT. */
mok_status mok_check(mok_workspace *workspace, mok_input_errors *errors);

#ifdef __cplusplus
}
#endif

#endif
