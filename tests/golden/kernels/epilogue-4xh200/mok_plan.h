/* Numbers of epilogue-4xh200 on 4 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "epilogue-4xh200" /* model.lua:2 */
#define PLAN_HIDDEN                 4096          /* columns: model.lua:2 */
#define PLAN_INTERMEDIATE           1536          /* columns: model.lua:2 */
#define PLAN_EXPERTS                30            /* experts: model.lua:2 */
#define PLAN_TOP_K                  4             /* routes: model.lua:2 */
#define PLAN_SHARED_EXPERTS         1             /* experts: model.lua:2 */
#define PLAN_SHARED_INTERMEDIATE    1536          /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:3 */
#define PLAN_GPUS                   4             /* ranks: model.lua:3 */

/* workload */
#define PLAN_TOKENS_PER_GPU         2048          /* tokens: model.lua:4 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H200 */
#define PLAN_SMS_COMM               4             /* SMs: need 99.6 GB/s of rows in; these take 644 us of the products' 719, margin included */
#define PLAN_SMS_COMPUTE            128           /* SMs: all others, in pairs */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                384           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  12            /* warps: threads / 32 */
#define PLAN_CLUSTER                2             /* CTAs: pairs multicast weights to each other: predicted 790 us, single CTAs 871 */

/* tiles */
#define PLAN_GATE_UP_M              128           /* rows: 1092 rows an expert, 1.07 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              192           /* columns: 16 tiles across 3072 columns, 0.0 % beyond the edge; 36.9 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         4             /* stages: 4 of 49152 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 128           /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 256           /* columns: 16 tiles across 4096 columns, 0.0 % beyond the edge; 20.5 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            4             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          2816          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(3072, 4096)) */
#define PLAN_MINIBATCH_ROWS         2048          /* rows: 2 waves or more in both products; 5 minibatches expected; larger ones overlap less */
#define PLAN_WAVES_GATE_UP          2             /* waves: 256 tiles on 128 SMs: 2.00 */
#define PLAN_WAVES_DOWN             2             /* waves: 256 tiles on 128 SMs: 2.00 */
#define PLAN_IDLE_PERMILLE          0             /* 1/1000: last wave of each product, weighted by tile time */

/* ring */
#define PLAN_RING_ROWS              4096          /* rows: fixed by schedule.ring_rows: 2 minibatches, up to 9 laps */
#define PLAN_RING_SLOTS             32            /* slots: one row block of 128 rows each; worst case 9 laps */
#define PLAN_RING_BYTES             46137344      /* bytes: 4096 rows of x, h */

/* routing */
#define PLAN_CAPACITY_ROWS          33792         /* rows: every route of 4 ranks on one, 4 x 2048 x 4, and padding: never a dropped route */
#define PLAN_ROW_PADDING            128           /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          8739          /* rows: 2048 tokens x 4 x 4 ranks over 30 experts, 8 of them here */
#define PLAN_PADDED_ROWS            9344          /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        83920128      /* bytes: 83.9 MB; 67.1 MB of it the combine slots */
#define PLAN_LOCAL_BYTES            69485824      /* bytes: 69.4 MB; 46.1 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           339738624     /* bytes: 340 MB; 8 experts and the shared one; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   231808        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         53690368      /* bytes: 53.6 MB: 6554 of 8739 rows come from peers */
#define PLAN_COMBINE_BYTES          53690368      /* bytes: 53.6 MB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       35799040      /* bytes: 35.8 MB: 2185 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   2             /* epilogue: fixed by schedule.comm */
#define PLAN_OWN_ROWS               0             /* copy: predicted 790 us, "direct" 821; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 68 % of the rows: predicted 770 us, off 790; this version builds off only */
#define PLAN_DISPATCH_ROWS          8             /* rows: 256 tasks a minibatch for 48 pulling warps */
#define PLAN_PULL_WARPS             12            /* warps: all warps of a CTA: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             0             /* warps: none: the epilogue stores to peers */
#define PLAN_SLOT_BYTES             4096          /* bytes: a row of 8192 B in 2 pieces of at most 4096 B */
#define PLAN_WARP_SLOTS             4             /* slots: 196608 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             790.090       /* us: limited by the products; 66 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            520.711       /* us: the products without padding, at peak */
#define PLAN_PRODUCTS_US            718.871       /* us: 72 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                315.218       /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              269.489       /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             71.220        /* us: launch 3.3, routing 14.3, first dispatch 26.5, last combine 0.00, reduce 27.1 */

#define PLAN_DIGEST                 "5725e7e21bcbd0bbdf104b87810754cf" /* of all the above and of mok_layout.h */

#endif
