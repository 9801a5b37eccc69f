/* Host target: the primitives as plain C++ for kernel.cu. One fiber (mok_engine.h) stands for one worker instance. */
#ifndef MOK_TARGET_H
#define MOK_TARGET_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mok_plan.h"
#include "mok_layout.h"
#include "../mok_args.h"
#include "../mok_primitives.h"

#define MOK_FN inline __attribute__((unused))
#define MOK_WORKER static __attribute__((noinline))
#define MOK_KERNEL static
#define MOK_GRID_CONSTANT

/* Storage only; arithmetic is in float. */
typedef struct mok_bf16 {
  unsigned short bits;
} mok_bf16;

struct mok_host_cta;
struct mok_cta {
  MOK_CTA_MEMBERS
  mok_host_cta *host;
  bool aborted;   /* waits return at once, nothing is written; tasks still run out, so that workers stay in step */
  unsigned stage; /* pipeline stages this worker has filled or used so far */
};

MOK_FN float mok_exp(float x) { return expf(x); }
MOK_FN float mok_erf(float x) { return erff(x); }

MOK_FN float mok_to_float(mok_bf16 value) {
  const unsigned bits = (unsigned)value.bits << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* Round to nearest, ties to even; every NaN becomes 0x7FFF, as cvt.rn.bf16.f32 does. */
MOK_FN mok_bf16 mok_to_bf16(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof bits);
  mok_bf16 result;
  result.bits = (unsigned short)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  if (value != value) result.bits = 0x7FFF;
  return result;
}

/* Reads of tables by the functions that targets share, for the race detector. */
static void mok_host_reads(const void *at, int bytes, const char *function);
#define MOK_READS(at, bytes) mok_host_reads(at, bytes, __func__)

#include "../mok_common.h"
#include "mok_engine.h"
#include "mok_deadlock.h"
#include "mok_schedule.h"
#include "mok_regions.h"
#include "mok_shadow.h"
#include "mok_order.h"
#include "mok_agents.h"
#include "mok_launch.h"
#include "mok_routing.h"
#include "mok_shared.h"
#include "mok_rows.h"
#include "mok_products.h"
#include "mok_gather.h"

#endif
