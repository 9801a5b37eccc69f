/* Numbers of sample on 2 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "sample"      /* model.lua:3 */
#define PLAN_HIDDEN                 256           /* columns: model.lua:3 */
#define PLAN_INTERMEDIATE           128           /* columns: model.lua:3 */
#define PLAN_EXPERTS                8             /* experts: model.lua:3 */
#define PLAN_TOP_K                  2             /* routes: model.lua:3 */
#define PLAN_SHARED_EXPERTS         1             /* experts: model.lua:4 */
#define PLAN_SHARED_INTERMEDIATE    128           /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_CLAMP                  7.0f          /* model.lua:5 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:7 */
#define PLAN_GPUS                   2             /* ranks: model.lua:7 */

/* workload */
#define PLAN_TOKENS_PER_GPU         256           /* tokens: model.lua:8 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H200 */
#define PLAN_SMS_COMM               30            /* SMs: need 33.3 GB/s of rows each way; these take 4.4 us of the products' 7.9, margin included */
#define PLAN_SMS_COMPUTE            102           /* SMs: all others */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                384           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  12            /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: fixed by schedule.cluster */

/* tiles */
#define PLAN_GATE_UP_M              128           /* rows: fixed by schedule.tile_m */
#define PLAN_GATE_UP_N              16            /* columns: fixed by schedule.tile_n */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         8             /* stages: 8 of 18432 B, enough to hide latency, in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 128           /* rows: fixed by schedule.tile_m */
#define PLAN_DOWN_N                 16            /* columns: fixed by schedule.tile_n */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            8             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          33792         /* rows: ceil(2 x 132 SMs x 128 x 256 / min(256, 256)) */
#define PLAN_MINIBATCH_ROWS         256           /* rows: fixed by schedule.minibatch_rows; 3 of them expected */
#define PLAN_WAVES_GATE_UP          1             /* waves: 32 tiles on 102 SMs: 0.31 */
#define PLAN_WAVES_DOWN             1             /* waves: 32 tiles on 102 SMs: 0.31 */
#define PLAN_IDLE_PERMILLE          686           /* 1/1000: last wave of each product, weighted by tile time */

/* ring */
#define PLAN_RING_ROWS              512           /* rows: fixed by schedule.ring_rows: 2 minibatches, up to 3 laps */
#define PLAN_RING_SLOTS             4             /* slots: one row block of 128 rows each; worst case 3 laps */
#define PLAN_RING_BYTES             655360        /* bytes: 512 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          1536          /* rows: every route of 2 ranks on one, 2 x 256 x 2, and padding: never a dropped route */
#define PLAN_ROW_PADDING            128           /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          512           /* rows: 256 tokens x 2 x 2 ranks over 8 experts, 4 of them here */
#define PLAN_PADDED_ROWS            768           /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        396032        /* bytes: 396 KB; 262 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            866560        /* bytes: 867 KB; 655 KB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           983040        /* bytes: 983 KB; 4 experts and the shared one; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   153984        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         131072        /* bytes: 131 KB: 256 of 512 rows come from peers */
#define PLAN_COMBINE_BYTES          131072        /* bytes: 131 KB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       262144        /* bytes: 262 KB: 256 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   0             /* sms: fixed by schedule.comm */
#define PLAN_OWN_ROWS               0             /* copy: fixed by schedule.own_rows */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 75 % of the rows: predicted 23.1 us, off 23.1 */
#define PLAN_DISPATCH_ROWS          4             /* rows: 64 tasks a minibatch for 180 pulling warps */
#define PLAN_PULL_WARPS             6             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             6             /* warps: the other half */
#define PLAN_SLOT_BYTES             512           /* bytes: a whole row */
#define PLAN_WARP_SLOTS             4             /* slots: 24576 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             23.071        /* us: limited by the products; 4 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            0.808         /* us: the memory */
#define PLAN_PRODUCTS_US            7.862         /* us: 2 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                0.794         /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              1.021         /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             15.208        /* us: launch 3.3, routing 6.6, first dispatch 0.00, last combine 1.5, reduce 3.8 */

#define PLAN_DIGEST                 "ff6f748cd2d46b11b0f4bf8866d44d57" /* of all the above and of mok_layout.h */

#endif
