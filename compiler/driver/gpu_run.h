/* Runs a package on GPUs through libmok: memory of every rank, launches, outputs back; and the layer computed a second time by
 * the kernels of tests/gpu/naive.cu. */
#ifndef MOK_DRIVER_GPU_RUN_H
#define MOK_DRIVER_GPU_RUN_H

#include "problem.h"
#include "session.h"
#include "verdict.h"

#include "../../runtime/runtime.h"
#include "../jit/jit.h"

/* Memory of one device, freed together. */
typedef struct mok_gpu_block {
  mok_cu_pointer pointer;
  struct mok_gpu_block *next;
} mok_gpu_block;

typedef struct mok_gpu_rank {
  const mok_kernel *kernel;            /* of its device */
  mok_gpu_block *blocks;               /* owned */
  mok_cu_pointer x, ids, weights, out; /* out has a guard row on each side */
  mok_cu_pointer first;                /* copy of the first launch's output; 0 before it */
  mok_forward_args args;
} mok_gpu_rank;

typedef struct mok_gpu_run {
  mok_session *session;
  const mok_model *model;
  mok_problem *problem;
  int devices;                /* 1: all ranks on one */
  mok_kernel **kernels;       /* [devices], owned */
  mok_workspace **workspaces; /* [devices], owned */
  mok_cu_stream *streams;     /* [devices], owned */
  mok_cu_event (*events)[2];  /* [devices], owned: start and end of a launch */
  mok_gpu_rank *ranks;        /* [gpus] */
  mok_forward_args *args;     /* [gpus], of the launch at hand */
  mok_launch_options launch;  /* of every launch: --timeout */
  /* naive.cu on each device */
  mok_cu_module *modules; /* [devices], owned */
} mok_gpu_run;

/* Loads the package (its path or memory; the rest is filled in) on the first devices, all ranks on one if colocate; makes and
 * fills the memory of every rank. */
MOK_MUST_USE mok_status mok_gpu_run_open(mok_session *session, const mok_model *model, const mok_load_args *package,
                                         const mok_target *target, bool colocate, mok_problem *problem, mok_gpu_run *out);
void mok_gpu_run_close(mok_gpu_run *run); /* accepts one whose opening failed, and a zeroed one */

/* One step on poisoned outputs with the problem's token counts, waited for. *time_us: from the first rank's start to the last
 * one's end as each device measures it. A wait that expired is MOK_ERR_PROTOCOL. */
MOK_MUST_USE mok_status mok_gpu_run_launch(mok_gpu_run *run, double *time_us);

/* Outputs with their guard rows into the problem. */
MOK_MUST_USE mok_status mok_gpu_run_fetch(mok_gpu_run *run);

/* How many values differ from the first launch's; that one is kept by the first call, which gives 0. */
MOK_MUST_USE mok_status mok_gpu_run_differences(mok_gpu_run *run, int64_t *out);

/* The whole layer by the naive kernels on the first device, every token of every rank; weights are made anew. */
MOK_MUST_USE mok_status mok_gpu_run_naive(mok_gpu_run *run, mok_expected *out);

/* What the outputs should be, of all tokens that the problem's ranks have now: `naive` by the naive kernels, `reference` in
 * double for `sample` tokens of each rank (0: all). */
typedef struct mok_gpu_expected {
  mok_expected naive, reference;
} mok_gpu_expected;
/* Makes the weights of the experts that the sample visits, or of all with routes. */
MOK_MUST_USE mok_status mok_gpu_run_expect(mok_gpu_run *run, int64_t sample, bool all_weights, mok_gpu_expected *out);
/* The fetched output against both; the ranks may have fewer tokens than were expected. Texts live in the arena. */
void mok_gpu_run_judge(const mok_gpu_run *run, mok_arena *arena, const mok_gpu_expected *expected, mok_verdict *out);

/* For gpu_naive.c. Memory on the rank's device, which must be current. */
MOK_MUST_USE mok_status mok_gpu_alloc(mok_session *session, const mok_kernel *kernel, mok_gpu_block **blocks, size_t bytes,
                                      const char *what, mok_cu_pointer *out);
void mok_gpu_free(const mok_kernel *kernel, mok_gpu_block **blocks);
/* Starts a kernel of naive.cu on the device's stream. */
MOK_MUST_USE mok_status mok_gpu_start(const mok_gpu_run *run, int device, const char *name, unsigned grid_x, unsigned grid_y,
                                      void **parameters);
/* Normal numbers of a stream of random.h. */
MOK_MUST_USE mok_status mok_gpu_fill(const mok_gpu_run *run, int device, mok_cu_pointer to, uint64_t key, uint64_t first,
                                     uint64_t count, float scale);

#endif
