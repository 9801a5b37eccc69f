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
#define PLAN_SMS_COMM               19            /* SMs: need 288 GB/s of rows each way; these take 1407 us of the products' 880, margin included */
#define PLAN_SMS_COMPUTE            113           /* SMs: all others */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                384           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  12            /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: pairs of CTAs would not pay by 2 % */

/* tiles */
#define PLAN_GATE_UP_M              128           /* rows: 655 rows an expert, 1.10 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              256           /* columns: 4 tiles across 1024 columns, 0.0 % beyond the edge; 40.6 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         4             /* stages: 4 of 49152 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 128           /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 256           /* columns: 12 tiles across 3072 columns, 0.0 % beyond the edge; 9.7 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            4             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          8448          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(1024, 3072)) */
#define PLAN_MINIBATCH_ROWS         512           /* rows: fixed by schedule.minibatch_rows; 89 of them expected */
#define PLAN_WAVES_GATE_UP          1             /* waves: 16 tiles on 113 SMs: 0.14 */
#define PLAN_WAVES_DOWN             1             /* waves: 48 tiles on 113 SMs: 0.42 */
#define PLAN_IDLE_PERMILLE          818           /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              2048          /* rows: fixed by schedule.ring_rows: 4 minibatches, up to 164 laps */
#define PLAN_RING_SLOTS             16            /* slots: one row block of 128 rows each; worst case 164 laps */
#define PLAN_RING_BYTES             27262976      /* bytes: 2048 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          335744        /* rows: every route of 8 ranks on one, 8 x 4096 x 10, and padding: never a dropped route */
#define PLAN_ROW_PADDING            128           /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          41288         /* rows: 4096 tokens x 10 x 8 ranks over 500 experts, 63 of them here */
#define PLAN_PADDED_ROWS            45312         /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        276992000     /* bytes: 277 MB; 252 MB of it the combine slots */
#define PLAN_LOCAL_BYTES            30044928      /* bytes: 30.0 MB; 27.2 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           594542592     /* bytes: 595 MB; 63 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   231808        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         221964288     /* bytes: 222 MB: 36127 of 41288 rows come from peers */
#define PLAN_COMBINE_BYTES          221964288     /* bytes: 222 MB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       63418368      /* bytes: 63.4 MB: 5161 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   0             /* sms: predicted 1525 us, "warps" 1525, "epilogue" 1525 */
#define PLAN_OWN_ROWS               0             /* copy: predicted 1525 us, "direct" 1525; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 59 % of the rows: predicted 1079 us, off 1525; this version builds off only */
#define PLAN_DISPATCH_ROWS          4             /* rows: 128 tasks a minibatch for 114 pulling warps */
#define PLAN_PULL_WARPS             6             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             6             /* warps: the other half */
#define PLAN_SLOT_BYTES             3072          /* bytes: a row of 6144 B in 2 pieces of at most 4096 B */
#define PLAN_WARP_SLOTS             4             /* slots: 147456 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             1525.327      /* us: limited by moving rows; 88 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            1339.895      /* us: the wire */
#define PLAN_PRODUCTS_US            879.929       /* us: 57 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                1339.895      /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              781.578       /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             118.438       /* us: launch 3.3, routing 47.1, first dispatch 12.7, last combine 7.6, reduce 68.1 */

#define PLAN_DIGEST                 "d98982a5e09884f5016821d493cdb635" /* of all the above and of mok_layout.h */

#endif
