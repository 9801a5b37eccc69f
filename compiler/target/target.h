/* Facts of GPUs and of code targets, as data. Planning code asks a row; nobody tests architecture numbers. */
#ifndef MOK_TARGET_H
#define MOK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../runtime/base/arena.h"
#include "../../runtime/base/status.h"

/* GB/s per direction as a function of bytes per piece, issuing warps per SM and SMs: measured points, sorted by these three,
 * interpolated linearly between them; proportional below the smallest point, linear in SMs beyond the last, flat in issuers and
 * bytes beyond theirs, never above `limit_gbs`. */
typedef struct mok_wire_point {
  int64_t piece_bytes;
  int issuers;
  int sms;
  double gbs; /* both directions busy */
} mok_wire_point;
typedef struct mok_wire_curve {
  const mok_wire_point *points;
  size_t count;
  double limit_gbs;
} mok_wire_curve;

/* Instruction set of the matrix unit: decides which tiles exist. */
typedef enum mok_mma_kind { MOK_MMA_HOST, MOK_MMA_WGMMA, MOK_MMA_TCGEN05 } mok_mma_kind;

typedef struct mok_gpu {
  const char *name;
  const char *arch;    /* code target that runs on it: "sm_90a", "sm_100a", "sm_103a", "host" */
  const char *product; /* prefix of the driver's device name, for gpu = "auto" */
  mok_mma_kind mma;
  int64_t sms;
  int64_t shared_bytes_per_block; /* opt-in maximum */
  int64_t registers_per_sm;
  int64_t l2_bytes;
  int64_t memory_bytes;
  double bf16_tflops, fp8_tflops; /* dense, sustained */
  double memory_gbs;              /* copy: read + write */
  double l2_gbs;                  /* L2 to shared memory, all SMs together */
  double link_gbs;                /* one direction, both busy; 0: no link */
  double launch_us, grid_barrier_us, flag_round_trip_us;
  mok_wire_curve pull, push;
  const char *source; /* where the numbers come from: measured, datasheet, published; also said per number in target.c */
} mok_gpu;

extern const mok_gpu mok_gpus[];
extern const size_t mok_gpu_count;
const mok_gpu *mok_gpu_find(const char *name); /* NULL if unknown; exact spelling */
/* Row of the driver's device name: the longest `product` that starts it, since one is a prefix of another. NULL: none. */
const mok_gpu *mok_gpu_of_product(const char *device_name);

double mok_wire_gbs(const mok_wire_curve *curve, int64_t piece_bytes, int issuers, double sms);

/* A code target: templates and compiler. */
typedef struct mok_target {
  const char *name;      /* "sm_90a" */
  const char *templates; /* folder under templates/: "sm90", "host"; NULL: not in this version */
  const char *status;    /* "run on H200", "compiled only", "planned": the README's target table */
  bool native;           /* runs on the CPU */
} mok_target;
extern const mok_target mok_targets[];
extern const size_t mok_target_count;
const mok_target *mok_target_find(const char *name);

#endif
