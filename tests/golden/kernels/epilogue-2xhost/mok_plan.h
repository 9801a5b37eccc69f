/* Numbers of epilogue-2xhost on 2 x host: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "epilogue-2xhost" /* model.lua:2 */
#define PLAN_HIDDEN                 136           /* columns: model.lua:2 */
#define PLAN_INTERMEDIATE           88            /* columns: model.lua:2 */
#define PLAN_EXPERTS                5             /* experts: model.lua:2 */
#define PLAN_TOP_K                  3             /* routes: model.lua:2 */
#define PLAN_SHARED_EXPERTS         2             /* experts: model.lua:2 */
#define PLAN_SHARED_INTERMEDIATE    200           /* columns: model.lua:2 */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_CLAMP                  1.5f          /* model.lua:2 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "host"        /* model.lua:3 */
#define PLAN_GPUS                   2             /* ranks: model.lua:3 */

/* workload */
#define PLAN_TOKENS_PER_GPU         64            /* tokens: model.lua:4 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              8             /* SMs: row host */
#define PLAN_SMS_COMM               1             /* SMs: need 0.02 GB/s of rows in; these take 3406 us of the products' 3771, margin included */
#define PLAN_SMS_COMPUTE            7             /* SMs: all others */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   8             /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                256           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  8             /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: pairs of CTAs would not pay by 2 % */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: fixed by schedule.tile_m */
#define PLAN_GATE_UP_N              16            /* columns: 11 tiles across 176 columns, 0.0 % beyond the edge; 158.4 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         6             /* stages: 6 of 14336 B, all that fit in 102400 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: fixed by schedule.tile_m */
#define PLAN_DOWN_N                 48            /* columns: 3 tiles across 136 columns, 5.9 % beyond the edge; 315.8 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            6             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          3856          /* rows: ceil(2 x 8 SMs x 128 x 256 / min(176, 136)) */
#define PLAN_MINIBATCH_ROWS         64            /* rows: fixed by schedule.minibatch_rows; 6 of them expected */
#define PLAN_WAVES_GATE_UP          2             /* waves: 11 tiles on 7 SMs: 1.57 */
#define PLAN_WAVES_DOWN             1             /* waves: 3 tiles on 7 SMs: 0.43 */
#define PLAN_IDLE_PERMILLE          393           /* 1/1000: last wave of each product, weighted by tile time */

/* ring */
#define PLAN_RING_ROWS              64            /* rows: fixed by schedule.ring_rows: 1 minibatch, up to 9 laps */
#define PLAN_RING_SLOTS             1             /* slots: one row block of 64 rows each; worst case 9 laps */
#define PLAN_RING_BYTES             28672         /* bytes: 64 rows of x, h */

/* routing */
#define PLAN_CAPACITY_ROWS          576           /* rows: every route of 2 ranks on one, 2 x 64 x 3, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          231           /* rows: 64 tokens x 3 x 2 ranks over 5 experts, 3 of them here */
#define PLAN_PADDED_ROWS            384           /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        71168         /* bytes: 71.1 KB; 52.2 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            78336         /* bytes: 78.3 KB; 28.6 KB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           378624        /* bytes: 379 KB; 3 experts and the shared one; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   93568         /* bytes: of 102400; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         31280         /* bytes: 31.2 KB: 115 of 231 rows come from peers */
#define PLAN_COMBINE_BYTES          31280         /* bytes: 31.2 KB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       63104         /* bytes: 63.1 KB: 116 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   2             /* epilogue: fixed by schedule.comm */
#define PLAN_OWN_ROWS               0             /* copy: predicted 4003 us, "direct" 4301; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 58 % of the rows: predicted 3844 us, off 4003; this version builds off only */
#define PLAN_DISPATCH_ROWS          4             /* rows: 16 tasks a minibatch for 8 pulling warps */
#define PLAN_PULL_WARPS             8             /* warps: all warps of a CTA: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             0             /* warps: none: the epilogue stores to peers */
#define PLAN_SLOT_BYTES             272           /* bytes: a whole row */
#define PLAN_WARP_SLOTS             4             /* slots: 8704 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             4002.813      /* us: limited by the products; 34 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            1351.622      /* us: the products without padding, at peak */
#define PLAN_PRODUCTS_US            3770.627      /* us: 36 % of 0.02 TFLOP/s on all SMs */
#define PLAN_WIRE_US                14.348        /* us: dispatch and combine of one direction at 4 GB/s */
#define PLAN_MEMORY_US              141.445       /* us: at 10 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             232.186       /* us: launch 100, routing 83.5, first dispatch 0.00, last combine 0.00, reduce 48.7 */

#define PLAN_DIGEST                 "6cc65b8a141693e45d282894eb881dac" /* of all the above and of mok_layout.h */

#endif
