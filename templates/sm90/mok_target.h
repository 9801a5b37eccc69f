/* Target sm_90a: the primitives of mok_primitives.h for Hopper.
 *
 * Tiles and rows move by bulk copies (the asynchronous proxy), products run on wgmma, tables and the reduce use ordinary loads
 * and stores (the generic proxy); an edge's kind says which fence it needs between the two. Files from low to high: ptx.h and
 * wgmma.h one instruction per function; cta.h state of a CTA; sync.h waits, signals, barriers, faults; launch.h entry, exit,
 * workers; route.h tables; move.h rows; product.h tiles; gather.h tiles of rows from anywhere; reduce.h.
 *
 * NVRTC has no standard headers: nothing here includes one.
 */
#ifndef MOK_TARGET_H
#define MOK_TARGET_H

#include "mok_plan.h"
#include "mok_layout.h"
#include "mok_args.h"
#include "mok_primitives.h"

#define MOK_FN __device__ __forceinline__
/* Inlined into the kernel: a real call would put mok_cta and the accumulators into a stack frame. */
#define MOK_WORKER __device__ __forceinline__
#if PLAN_CLUSTER > 1
#define MOK_KERNEL extern "C" __global__ __cluster_dims__(PLAN_CLUSTER, 1, 1) __launch_bounds__(PLAN_THREADS, 1)
#else
#define MOK_KERNEL extern "C" __global__ __launch_bounds__(PLAN_THREADS, 1)
#endif
#define MOK_GRID_CONSTANT __grid_constant__

enum { MOK_WARPS = PLAN_THREADS / 32, MOK_CONSUMERS = PLAN_THREADS / 128 - 1 }; /* warpgroup 0 loads, the others multiply */
static_assert(PLAN_THREADS % 128 == 0 && MOK_CONSUMERS >= 1, "a CTA is one loading and at least one multiplying warpgroup");
static_assert(MOK_WARPS <= 15, "each worker instance has a named barrier of its own, 1 + its first warp");

typedef struct mok_bf16 {
  unsigned short bits;
} mok_bf16;

enum { MOK_GATHERS = PLAN_OWN_ROWS }; /* rows of A of the up products */

#include "ptx.h"
#include "wgmma.h"
#include "cta.h"

/* The instruction's exponential: its error, about 2^-21 near the ends of what counts, is far below that of a bf16. */
MOK_FN float mok_exp(float x) { return __expf(x); }
MOK_FN float mok_erf(float x) { return erff(x); }
MOK_FN float mok_to_float(mok_bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
MOK_FN mok_bf16 mok_to_bf16(float x) {
  const mok_bf16 rounded = {mok_ptx_bf16(x)};
  return rounded;
}

#include "mok_common.h"

#include "sync.h"
#include "launch.h"
#include "route.h"
#include "move.h"
#include "product.h"
#include "gather.h"
#include "reduce.h"

#endif
