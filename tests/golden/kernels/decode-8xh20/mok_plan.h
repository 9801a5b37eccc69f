/* Numbers of decode-8xh20 on 8 x H20: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "decode-8xh20" /* model.lua:2 */
#define PLAN_HIDDEN                 2048          /* columns: model.lua:2 */
#define PLAN_INTERMEDIATE           1408          /* columns: model.lua:2 */
#define PLAN_EXPERTS                64            /* experts: model.lua:2 */
#define PLAN_TOP_K                  6             /* routes: model.lua:2 */
#define PLAN_SHARED_EXPERTS         2             /* experts: model.lua:2 */
#define PLAN_SHARED_INTERMEDIATE    2816          /* columns: default */
#define PLAN_ACTIVATION             1             /* geglu: model.lua:2 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H20"         /* model.lua:3 */
#define PLAN_GPUS                   8             /* ranks: model.lua:3 */

/* workload */
#define PLAN_TOKENS_PER_GPU         16            /* tokens: model.lua:4 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              78            /* SMs: row H20 */
#define PLAN_SMS_COMM               1             /* SMs: need 3.9 GB/s of rows in; these take 14.2 us of the products' 101, margin included */
#define PLAN_SMS_COMPUTE            77            /* SMs: all others */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   78            /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                256           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  8             /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: pairs of CTAs would not pay by 2 % */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: 12.0 rows an expert, 5.33 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              80            /* columns: 36 tiles across 2816 columns, 2.3 % beyond the edge; 13.2 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         8             /* stages: 8 of 18432 B, enough to hide latency, in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 80            /* columns: 26 tiles across 2048 columns, 1.6 % beyond the edge; 9.5 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            8             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          2496          /* rows: ceil(2 x 78 SMs x 128 x 256 / min(2816, 2048)) */
#define PLAN_MINIBATCH_ROWS         384           /* rows: 2 waves or more in both products; 2 minibatches expected; larger ones overlap less */
#define PLAN_WAVES_GATE_UP          3             /* waves: 216 tiles on 77 SMs: 2.81 */
#define PLAN_WAVES_DOWN             3             /* waves: 156 tiles on 77 SMs: 2.03 */
#define PLAN_IDLE_PERMILLE          171           /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              1536          /* rows: 4 minibatches; 2 would stall dispatch behind the down product */
#define PLAN_RING_SLOTS             24            /* slots: one row block of 64 rows each; worst case 1 lap */
#define PLAN_RING_BYTES             10616832      /* bytes: 1536 rows of x, h */

/* routing */
#define PLAN_CAPACITY_ROWS          1280          /* rows: every route of 8 ranks on one, 8 x 16 x 6, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          96            /* rows: 16 tokens x 6 x 8 ranks over 64 experts, 8 of them here */
#define PLAN_PADDED_ROWS            512           /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        461568        /* bytes: 462 KB; 393 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            10785024      /* bytes: 10.7 MB; 10.6 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           173015040     /* bytes: 173 MB; 8 experts and the shared one; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   159104        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         344064        /* bytes: 344 KB: 84 of 96 rows come from peers */
#define PLAN_COMBINE_BYTES          344064        /* bytes: 344 KB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       98304         /* bytes: 98.3 KB: 12 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   2             /* epilogue: predicted 115 us, "sms" 117, "warps" 111; "warps" is not in this version */
#define PLAN_OWN_ROWS               0             /* copy: predicted 115 us, "direct" 123; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 73 % of the rows: predicted 114 us, off 115 */
#define PLAN_DISPATCH_ROWS          8             /* rows: 48 tasks a minibatch for 8 pulling warps */
#define PLAN_PULL_WARPS             8             /* warps: all warps of a CTA: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             0             /* warps: none: the epilogue stores to peers */
#define PLAN_SLOT_BYTES             4096          /* bytes: a whole row */
#define PLAN_WARP_SLOTS             4             /* slots: 131072 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             114.538       /* us: limited by the products; 43 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            49.353        /* us: the memory */
#define PLAN_PRODUCTS_US            101.196       /* us: 16 % of 138 TFLOP/s on all SMs */
#define PLAN_WIRE_US                2.085         /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              54.241        /* us: at 3580 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             13.342        /* us: launch 3.3, routing 6.2, first dispatch 0.00, last combine 0.00, reduce 3.8 */

#define PLAN_DIGEST                 "047703eb4ebdb9ca4a74bcb22994be32" /* of all the above and of mok_layout.h */

#endif
