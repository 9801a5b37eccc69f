/* Numbers of kimi-2xh200 on 2 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "kimi-2xh200" /* model.lua:3 */
#define PLAN_HIDDEN                 7168          /* columns: model.lua:3 */
#define PLAN_INTERMEDIATE           2048          /* columns: model.lua:3 */
#define PLAN_EXPERTS                384           /* experts: model.lua:3 */
#define PLAN_TOP_K                  8             /* routes: model.lua:3 */
#define PLAN_SHARED_EXPERTS         1             /* experts: model.lua:3 */
#define PLAN_SHARED_INTERMEDIATE    2048          /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:4 */
#define PLAN_GPUS                   2             /* ranks: model.lua:4 */

/* workload */
#define PLAN_TOKENS_PER_GPU         8192          /* tokens: model.lua:5 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H200 */
#define PLAN_SMS_COMM               8             /* SMs: need 83.8 GB/s of rows each way; these take 11005 us of the products' 11215, margin included */
#define PLAN_SMS_COMPUTE            124           /* SMs: all others, in pairs */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                384           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  12            /* warps: threads / 32 */
#define PLAN_CLUSTER                2             /* CTAs: pairs multicast weights to each other: predicted 11711 us, single CTAs 12655 */

/* tiles */
#define PLAN_GATE_UP_M              128           /* rows: 341 rows an expert, 1.19 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              256           /* columns: 16 tiles across 4096 columns, 0.0 % beyond the edge; 82.8 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         4             /* stages: 4 of 49152 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 128           /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 256           /* columns: 28 tiles across 7168 columns, 0.0 % beyond the edge; 26.2 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            4             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          2112          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(4096, 7168)) */
#define PLAN_MINIBATCH_ROWS         2560          /* rows: 2 waves or more in both products; 31 minibatches expected; larger ones overlap less */
#define PLAN_WAVES_GATE_UP          3             /* waves: 320 tiles on 124 SMs: 2.58 */
#define PLAN_WAVES_DOWN             5             /* waves: 560 tiles on 124 SMs: 4.52 */
#define PLAN_IDLE_PERMILLE          126           /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              10240         /* rows: 4 minibatches; 2 would stall dispatch behind combine */
#define PLAN_RING_SLOTS             80            /* slots: one row block of 128 rows each; worst case 16 laps */
#define PLAN_RING_BYTES             335544320     /* bytes: 10240 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          155648        /* rows: every route of 2 ranks on one, 2 x 8192 x 8, and padding: never a dropped route */
#define PLAN_ROW_PADDING            128           /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          65536         /* rows: 8192 tokens x 8 x 2 ranks over 384 experts, 192 of them here */
#define PLAN_PADDED_ROWS            77824         /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        1057229056    /* bytes: 1.06 GB; 940 MB of it the combine slots */
#define PLAN_LOCAL_BYTES            487831552     /* bytes: 488 MB; 336 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           16999514112LL /* bytes: 17.0 GB; 192 experts and the shared one; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   231808        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         469762048     /* bytes: 470 MB: 32768 of 65536 rows come from peers */
#define PLAN_COMBINE_BYTES          469762048     /* bytes: 470 MB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       939524096     /* bytes: 940 MB: 32768 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   0             /* sms: predicted 11711 us, "warps" 12552, "epilogue" 11715 */
#define PLAN_OWN_ROWS               0             /* copy: predicted 11711 us, "direct" 12276; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 25 % of the rows: predicted 11711 us, off 11711 */
#define PLAN_DISPATCH_ROWS          8             /* rows: 320 tasks a minibatch for 48 pulling warps */
#define PLAN_PULL_WARPS             6             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             6             /* warps: the other half */
#define PLAN_SLOT_BYTES             3584          /* bytes: a row of 14336 B in 4 pieces of at most 4096 B */
#define PLAN_WARP_SLOTS             4             /* slots: 172032 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             11711.080     /* us: limited by the products; 71 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            8304.336      /* us: the products without padding, at peak */
#define PLAN_PRODUCTS_US            11214.521     /* us: 74 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                2847.043      /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              6401.678      /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             496.560       /* us: launch 3.3, routing 71.6, first dispatch 0.00, last combine 145, reduce 277 */

#define PLAN_DIGEST                 "3902fd3e398ba165b14b9e2d9446b4ae" /* of all the above and of mok_layout.h */

#endif
