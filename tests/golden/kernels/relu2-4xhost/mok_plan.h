/* Numbers of relu2-4xhost on 4 x host: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "relu2-4xhost" /* model.lua:2 */
#define PLAN_HIDDEN                 72            /* columns: model.lua:2 */
#define PLAN_INTERMEDIATE           200           /* columns: model.lua:2 */
#define PLAN_EXPERTS                3             /* experts: model.lua:2 */
#define PLAN_TOP_K                  1             /* routes: model.lua:2 */
#define PLAN_SHARED_EXPERTS         0             /* experts: default */
#define PLAN_SHARED_INTERMEDIATE    0             /* columns: default */
#define PLAN_ACTIVATION             2             /* relu2: model.lua:2 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "host"        /* model.lua:3 */
#define PLAN_GPUS                   4             /* ranks: model.lua:3 */

/* workload */
#define PLAN_TOKENS_PER_GPU         100           /* tokens: model.lua:4 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              8             /* SMs: row host */
#define PLAN_SMS_COMM               3             /* SMs: need 0.01 GB/s of rows each way; these take 988 us of the products' 1459, margin included */
#define PLAN_SMS_COMPUTE            5             /* SMs: all others */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   8             /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                256           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  8             /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: pairs of CTAs would not pay by 2 % */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: 134 rows an expert, 1.43 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              16            /* columns: 13 tiles across 200 columns, 4.0 % beyond the edge; 105.9 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         8             /* stages: 8 of 10240 B, enough to hide latency, in 102400 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 16            /* columns: 5 tiles across 72 columns, 11.1 % beyond the edge; 210.8 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            8             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          7282          /* rows: ceil(2 x 8 SMs x 128 x 256 / min(200, 72)) */
#define PLAN_MINIBATCH_ROWS         128           /* rows: 2 waves or more in both products; 2 minibatches expected; larger ones overlap less */
#define PLAN_WAVES_GATE_UP          6             /* waves: 26 tiles on 5 SMs: 5.20 */
#define PLAN_WAVES_DOWN             2             /* waves: 10 tiles on 5 SMs: 2.00 */
#define PLAN_IDLE_PERMILLE          80            /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              512           /* rows: 4 minibatches; 2 would stall dispatch behind combine */
#define PLAN_RING_SLOTS             8             /* slots: one row block of 64 rows each; worst case 1 lap */
#define PLAN_RING_BYTES             352256        /* bytes: 512 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          512           /* rows: every route of 4 ranks on one, 4 x 100 x 1, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          134           /* rows: 100 tokens x 1 x 4 ranks over 3 experts, 1 of them here */
#define PLAN_PADDED_ROWS            192           /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        30720         /* bytes: 30.7 KB; 14.4 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            358400        /* bytes: 358 KB; 352 KB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           57600         /* bytes: 57.6 KB; 1 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   85376         /* bytes: of 102400; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         14400         /* bytes: 14.4 KB: 100 of 134 rows come from peers */
#define PLAN_COMBINE_BYTES          14400         /* bytes: 14.4 KB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       9792          /* bytes: 9792 B: 34 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   0             /* sms: predicted 2672 us, "warps" 3403, "epilogue" 2861 */
#define PLAN_OWN_ROWS               0             /* copy: predicted 2672 us, "direct" 2537; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 100 % of the rows: predicted 2672 us, off 2672 */
#define PLAN_DISPATCH_ROWS          4             /* rows: 32 tasks a minibatch for 12 pulling warps */
#define PLAN_PULL_WARPS             4             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             4             /* warps: the other half */
#define PLAN_SLOT_BYTES             144           /* bytes: a whole row */
#define PLAN_WARP_SLOTS             4             /* slots: 4608 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             2672.394      /* us: limited by the products; 14 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            385.920       /* us: the products without padding, at peak */
#define PLAN_PRODUCTS_US            1458.679      /* us: 26 % of 0.02 TFLOP/s on all SMs */
#define PLAN_WIRE_US                6.300         /* us: dispatch and combine of one direction at 4 GB/s */
#define PLAN_MEMORY_US              40.067        /* us: at 10 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             1213.715      /* us: launch 100, routing 82.9, first dispatch 659, last combine 329, reduce 42.9 */

#define PLAN_DIGEST                 "4e85ff6555880859f4e23b03c6ef8771" /* of all the above and of mok_layout.h */

#endif
