/* Runs kernel.host.so in this process: all ranks, one launch at a time. */
#ifndef MOK_DRIVER_HOST_KERNEL_H
#define MOK_DRIVER_HOST_KERNEL_H

#include "../../templates/host/mok_host.h"
#include "../jit/jit.h"
#include "problem.h"

typedef struct mok_host_kernel {
  const mok_plan *plan;
  void *library; /* owned */
  int file;      /* owned: the anonymous file that holds the library, -1: none */
  mok_host_run_fn run;
  mok_matrix memory; /* owned: heap and local workspace of every rank */
  mok_rank_args *ranks;
  int64_t signals; /* of the last launch: counters and arrivals at barriers, all ranks */
} mok_host_kernel;

/* Loads the library and gives every rank its memory. A library that was not made from this plan is MOK_ERR_CODEGEN. */
MOK_MUST_USE mok_status mok_host_kernel_load(mok_arena *arena, const mok_plan *plan, const mok_image *image, mok_problem *problem,
                                             mok_host_kernel *out);
void mok_host_kernel_unload(mok_host_kernel *kernel); /* accepts one whose load failed */

/* One step: route, experts, reduce under the schedule of `seed`, on memory poisoned before. A deadlock is MOK_ERR_PROTOCOL with
 * the engine's report. *time_us is what the launch took. */
MOK_MUST_USE mok_status mok_host_kernel_launch(mok_arena *arena, mok_host_kernel *kernel, uint64_t seed, int64_t *time_us);

/* Bytes that running the plan takes beside its input: heaps, workspaces, and at most what the host target itself needs. */
size_t mok_host_kernel_bytes(const mok_plan *plan);

#endif
