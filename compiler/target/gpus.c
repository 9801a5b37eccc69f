/* The GPU rows. Of each number: [m] measured on H200 with driver 580, [d] data sheet, [p] published by third parties, [s] scaled
 * from an H200 measurement by the ratio of the data-sheet figures, [e] estimate. */
#include <string.h>

#include "target.h"

#define KIB INT64_C(1024)
#define MIB (INT64_C(1024) * KIB)
#define GB INT64_C(1000000000)

/* [m] for NVLink 4; [s] for NVLink 5, whose links carry twice the bytes per direction. */
#define SELECT_PULL_PULL(x) x
#define SELECT_PULL_PUSH(x)
#define SELECT_PUSH_PUSH(x) x
#define SELECT_PUSH_PULL(x)
#define POINT(bytes, issuers, sms, gbs) {bytes, issuers, sms, gbs},

static const mok_wire_point nvlink4_pull[] = {
#define MOK_WIRE_POINT(curve, bytes, issuers, sms, gbs) SELECT_PULL_##curve(POINT(bytes, issuers, sms, gbs))
#include "wire_points.def"
#undef MOK_WIRE_POINT
};
static const mok_wire_point nvlink4_push[] = {
#define MOK_WIRE_POINT(curve, bytes, issuers, sms, gbs) SELECT_PUSH_##curve(POINT(bytes, issuers, sms, gbs))
#include "wire_points.def"
#undef MOK_WIRE_POINT
};
static const mok_wire_point nvlink5_pull[] = {
#define MOK_WIRE_POINT(curve, bytes, issuers, sms, gbs) SELECT_PULL_##curve(POINT(bytes, issuers, sms, 2.0 * gbs))
#include "wire_points.def"
#undef MOK_WIRE_POINT
};
static const mok_wire_point nvlink5_push[] = {
#define MOK_WIRE_POINT(curve, bytes, issuers, sms, gbs) SELECT_PUSH_##curve(POINT(bytes, issuers, sms, 2.0 * gbs))
#include "wire_points.def"
#undef MOK_WIRE_POINT
};
/* [e] memory copies between threads of one process; one point, so that the rate is proportional to pieces, issuers and SMs. */
static const mok_wire_point host_copies[] = {{4096, 4, 1, 0.5}, {4096, 4, 8, 4}};

#define CURVE(points, limit) \
  { points, sizeof points / sizeof points[0], limit }
#define NVLINK4 .link_gbs = 330, .pull = CURVE(nvlink4_pull, 333), .push = CURVE(nvlink4_push, 362) /* [m] of 450 [d] */
#define NVLINK5 .link_gbs = 660, .pull = CURVE(nvlink5_pull, 666), .push = CURVE(nvlink5_push, 724) /* [s] of 900 [d] */
/* A launch with one grid barrier costs 4.5 us [m]; how the two share it is [e]. The flag round trip between GPUs is [m]. */
#define LATENCIES .launch_us = 3.3, .grid_barrier_us = 1.2, .flag_round_trip_us = 2.5

const mok_gpu mok_gpus[] = {
    {
        .name = "H100",
        .arch = "sm_90a",
        .product = "NVIDIA H100 80GB",
        .mma = MOK_MMA_WGMMA,
        .sms = 132,                          /* [d] SXM5 */
        .shared_bytes_per_block = 227 * KIB, /* [d] compute capability 9.0 */
        .registers_per_sm = 65536,           /* [d] */
        .l2_bytes = 50 * MIB,                /* [d] */
        .memory_bytes = 80 * GB,             /* [d] */
        .bf16_tflops = 782,                  /* [m] on H200, the same chip; 668 when hot; 989 [d] */
        .fp8_tflops = 1402,                  /* [m] on H200; 1979 [d] */
        .memory_gbs = 3000,                  /* [s] 4300 * 3.35 / 4.8 */
        .l2_gbs = 8400,                      /* [m] on H200: 128x256x64 steps without multicast take 1.09 of the products' time */
        NVLINK4,
        LATENCIES,
        .source = "data sheet; products and link measured on H200; memory scaled",
    },
    {
        .name = "H200",
        .arch = "sm_90a",
        .product = "NVIDIA H200",
        .mma = MOK_MMA_WGMMA,
        .sms = 132,                          /* [m] */
        .shared_bytes_per_block = 227 * KIB, /* [m] 232448 */
        .registers_per_sm = 65536,           /* [m] */
        .l2_bytes = 50 * MIB,                /* [d] */
        .memory_bytes = 141 * GB,            /* [d] */
        .bf16_tflops = 782,                  /* [m] 8192-cubed product, cool; 668 hot */
        .fp8_tflops = 1402,                  /* [m] */
        .memory_gbs = 4300,                  /* [m] copy; 4800 [d] */
        .l2_gbs = 8400,                      /* [m] on H200: 128x256x64 steps without multicast take 1.09 of the products' time */
        NVLINK4,
        LATENCIES,
        .source = "measured on two H200s with 18 links; capacities from the data sheet",
    },
    {
        .name = "H20",
        .arch = "sm_90a",
        .product = "NVIDIA H20",
        .mma = MOK_MMA_WGMMA,
        .sms = 78,                           /* [p] */
        .shared_bytes_per_block = 227 * KIB, /* [d] compute capability 9.0 */
        .registers_per_sm = 65536,           /* [d] */
        .l2_bytes = 60 * MIB,                /* [p] */
        .memory_bytes = 96 * GB,             /* [d] */
        .bf16_tflops = 138,                  /* [e] 148 [d] less the share no product reaches; not power-limited as H200 is */
        .fp8_tflops = 275,                   /* [e] 296 [d], likewise */
        .memory_gbs = 3580,                  /* [s] 4300 * 4.0 / 4.8 */
        .l2_gbs = 5900,                      /* [s] 10000 * 78 / 132 SMs */
        NVLINK4,
        LATENCIES,
        .source = "data sheet and published; link measured on H200; memory scaled",
    },
    {
        .name = "B200",
        .arch = "sm_100a",
        .product = "NVIDIA B200",
        .mma = MOK_MMA_TCGEN05,
        .sms = 148,                          /* [p] */
        .shared_bytes_per_block = 227 * KIB, /* [d] compute capability 10.0 */
        .registers_per_sm = 65536,           /* [d] */
        .l2_bytes = 126 * MIB,               /* [p] */
        .memory_bytes = 180 * GB,            /* [d] */
        .bf16_tflops = 1780,                 /* [s] 2250 [d] * 782 / 989 */
        .fp8_tflops = 3190,                  /* [s] 4500 [d] * 1402 / 1979 */
        .memory_gbs = 7160,                  /* [s] 4300 * 8.0 / 4.8 */
        .l2_gbs = 22000,                     /* [e] twice as many bytes per cycle and SM as Hopper */
        NVLINK5,
        LATENCIES,
        .source = "data sheet and published; rates scaled from H200 measurements",
    },
    {
        .name = "GB200",
        .arch = "sm_100a",
        .product = "NVIDIA GB200",
        .mma = MOK_MMA_TCGEN05,
        .sms = 148,                          /* [p] of the published rack kernels; some report 152: gpu = { base =, sms = } */
        .shared_bytes_per_block = 227 * KIB, /* [d] compute capability 10.0 */
        .registers_per_sm = 65536,           /* [d] */
        .l2_bytes = 126 * MIB,               /* [p] */
        .memory_bytes = 186 * GB,            /* [d] */
        .bf16_tflops = 1975,                 /* [s] 2500 [d] * 782 / 989 */
        .fp8_tflops = 3540,                  /* [s] 5000 [d] * 1402 / 1979 */
        .memory_gbs = 7160,                  /* [s] 4300 * 8.0 / 4.8 */
        .l2_gbs = 22000,                     /* [e] twice as many bytes per cycle and SM as Hopper */
        NVLINK5,
        LATENCIES,
        .source = "data sheet and published; rates scaled from H200 measurements",
    },
    {
        .name = "B300",
        .arch = "sm_103a",
        .product = "NVIDIA B300",
        .mma = MOK_MMA_TCGEN05,
        .sms = 148,                          /* [p] */
        .shared_bytes_per_block = 227 * KIB, /* [d] compute capability 10.3 */
        .registers_per_sm = 65536,           /* [d] */
        .l2_bytes = 126 * MIB,               /* [p] */
        .memory_bytes = 270 * GB,            /* [d] */
        .bf16_tflops = 1780,                 /* [s] 2250 [d] * 782 / 989 */
        .fp8_tflops = 3190,                  /* [s] 4500 [d] * 1402 / 1979 */
        .memory_gbs = 7160,                  /* [s] 4300 * 8.0 / 4.8 */
        .l2_gbs = 22000,                     /* [e] twice as many bytes per cycle and SM as Hopper */
        NVLINK5,
        LATENCIES,
        .source = "data sheet and published; rates scaled from H200 measurements",
    },
    {
        .name = "GB300",
        .arch = "sm_103a",
        .product = "NVIDIA GB300",
        .mma = MOK_MMA_TCGEN05,
        .sms = 148,                          /* [p] of the published rack kernels; some report 152: gpu = { base =, sms = } */
        .shared_bytes_per_block = 227 * KIB, /* [d] compute capability 10.3 */
        .registers_per_sm = 65536,           /* [d] */
        .l2_bytes = 126 * MIB,               /* [p] */
        .memory_bytes = 279 * GB,            /* [d] */
        .bf16_tflops = 1975,                 /* [s] 2500 [d] * 782 / 989 */
        .fp8_tflops = 3540,                  /* [s] 5000 [d] * 1402 / 1979 */
        .memory_gbs = 7160,                  /* [s] 4300 * 8.0 / 4.8 */
        .l2_gbs = 22000,                     /* [e] twice as many bytes per cycle and SM as Hopper */
        NVLINK5,
        LATENCIES,
        .source = "data sheet and published; rates scaled from H200 measurements",
    },
    {
        /* Chosen so that a plan has every part a GPU's plan has while one process can run it. */
        .name = "host",
        .arch = "host",
        .product = "",
        .mma = MOK_MMA_HOST,
        .sms = 8,
        .shared_bytes_per_block = 100 * KIB,
        .registers_per_sm = 65536,
        .l2_bytes = 32 * MIB,
        .memory_bytes = 64 * GB,
        .bf16_tflops = 0.02, /* [e] one core, scalar */
        .fp8_tflops = 0.02,  /* [e] */
        .memory_gbs = 10,    /* [e] */
        .l2_gbs = 40,        /* [e] */
        .link_gbs = 4,       /* [e] */
        .launch_us = 100,
        .grid_barrier_us = 20,
        .flag_round_trip_us = 20, /* [e] switches between fibers */
        .pull = CURVE(host_copies, 4),
        .push = CURVE(host_copies, 4),
        .source = "estimates of one CPU core; 8 small SMs are emulated",
    },
};
const size_t mok_gpu_count = sizeof mok_gpus / sizeof mok_gpus[0];

const mok_gpu *mok_gpu_find(const char *name) {
  for (size_t i = 0; i < mok_gpu_count; ++i)
    if (strcmp(mok_gpus[i].name, name) == 0) return &mok_gpus[i];
  return NULL;
}

const mok_gpu *mok_gpu_of_product(const char *device_name) {
  const mok_gpu *best = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < mok_gpu_count; ++i) {
    const size_t length = strlen(mok_gpus[i].product);
    if (length > longest && strncmp(device_name, mok_gpus[i].product, length) == 0) {
      best = &mok_gpus[i];
      longest = length;
    }
  }
  return best;
}
