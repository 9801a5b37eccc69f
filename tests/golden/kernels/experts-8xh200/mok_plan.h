/* Numbers of experts-8xh200 on 8 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "experts-8xh200" /* model.lua:2 */
#define PLAN_HIDDEN                 3072          /* columns: model.lua:2 */
#define PLAN_INTERMEDIATE           512           /* columns: model.lua:2 */
#define PLAN_EXPERTS                500           /* experts: model.lua:2 */
#define PLAN_TOP_K                  10            /* routes: model.lua:2 */
#define PLAN_SHARED_EXPERTS         0             /* experts: default */
#define PLAN_SHARED_INTERMEDIATE    0             /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_CLAMP                  7.0f          /* model.lua:2 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:3 */
#define PLAN_GPUS                   8             /* ranks: model.lua:3 */

/* workload */
#define PLAN_TOKENS_PER_GPU         4096          /* tokens: model.lua:4 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H200 */
#define PLAN_SMS_COMM               7             /* SMs: need 102 GB/s of rows each way; these take 2237 us of the products' 2498, margin included */
#define PLAN_SMS_COMPUTE            125           /* SMs: all others */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                256           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  8             /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: pairs of CTAs are predicted at 2391 us against 2657, but this version does not build them */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: 655 rows an expert, 1.05 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              176           /* columns: 6 tiles across 1024 columns, 3.1 % beyond the edge; 21.3 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         5             /* stages: 5 of 40960 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 256           /* columns: 12 tiles across 3072 columns, 0.0 % beyond the edge; 6.6 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            5             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          8448          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(1024, 3072)) */
#define PLAN_MINIBATCH_ROWS         512           /* rows: fixed by schedule.minibatch_rows; 85 of them expected */
#define PLAN_WAVES_GATE_UP          1             /* waves: 48 tiles on 125 SMs: 0.38 */
#define PLAN_WAVES_DOWN             1             /* waves: 96 tiles on 125 SMs: 0.77 */
#define PLAN_IDLE_PERMILLE          541           /* 1/1000: last wave of each product, weighted by tile time */

/* ring */
#define PLAN_RING_ROWS              2048          /* rows: fixed by schedule.ring_rows: 4 minibatches, up to 162 laps */
#define PLAN_RING_SLOTS             32            /* slots: one row block of 64 rows each; worst case 162 laps */
#define PLAN_RING_BYTES             27262976      /* bytes: 2048 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          331712        /* rows: every route of 8 ranks on one, 8 x 4096 x 10, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          41288         /* rows: 4096 tokens x 10 x 8 ranks over 500 experts, 63 of them here */
#define PLAN_PADDED_ROWS            43328         /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        276992000     /* bytes: 277 MB; 252 MB of it the combine slots */
#define PLAN_LOCAL_BYTES            30104832      /* bytes: 30.1 MB; 27.2 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           594542592     /* bytes: 595 MB; 63 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   222592        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         221964288     /* bytes: 222 MB: 36127 of 41288 rows come from peers */
#define PLAN_COMBINE_BYTES          221964288     /* bytes: 222 MB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       63418368      /* bytes: 63.4 MB: 5161 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   0             /* sms: predicted 2657 us, "warps" 2643, "epilogue" 3126 */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 59 % of the rows: predicted 2657 us, off 2657 */
#define PLAN_DISPATCH_ROWS          4             /* rows: 128 tasks a minibatch for 28 pulling warps */
#define PLAN_PULL_WARPS             4             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             4             /* warps: the other half */
#define PLAN_SLOT_BYTES             3072          /* bytes: a row of 6144 B in 2 pieces of at most 4096 B */
#define PLAN_WARP_SLOTS             4             /* slots: 98304 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             2656.502      /* us: limited by the products; 50 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            1339.895      /* us: the wire */
#define PLAN_PRODUCTS_US            2498.269      /* us: 20 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                1339.895      /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              772.799       /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             158.232       /* us: launch 3.3, routing 47.1, first dispatch 23.3, last combine 16.5, reduce 68.1 */

#define PLAN_DIGEST                 "6e4dc4af02ee3c11037641c77d42039b" /* of all the above and of mok_layout.h */

#endif
