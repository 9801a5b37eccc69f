/* Numbers of pairs on 1 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "pairs"       /* model.lua:3 */
#define PLAN_HIDDEN                 256           /* columns: model.lua:3 */
#define PLAN_INTERMEDIATE           128           /* columns: model.lua:3 */
#define PLAN_EXPERTS                8             /* experts: model.lua:3 */
#define PLAN_TOP_K                  2             /* routes: model.lua:3 */
#define PLAN_SHARED_EXPERTS         0             /* experts: default */
#define PLAN_SHARED_INTERMEDIATE    0             /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_CLAMP                  7.0f          /* model.lua:4 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:6 */
#define PLAN_GPUS                   1             /* ranks: model.lua:6 */

/* workload */
#define PLAN_TOKENS_PER_GPU         480           /* tokens: model.lua:7 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H200 */
#define PLAN_SMS_COMM               0             /* SMs: none: nothing to move */
#define PLAN_SMS_COMPUTE            132           /* SMs: all, in pairs */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                256           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  8             /* warps: threads / 32 */
#define PLAN_CLUSTER                2             /* CTAs: fixed by schedule.cluster */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: fixed by schedule.tile_m */
#define PLAN_GATE_UP_N              32            /* columns: fixed by schedule.tile_n */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         8             /* stages: 8 of 12288 B, enough to hide latency, in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: fixed by schedule.tile_m */
#define PLAN_DOWN_N                 32            /* columns: fixed by schedule.tile_n */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            8             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          33792         /* rows: ceil(2 x 132 SMs x 128 x 256 / min(256, 256)) */
#define PLAN_MINIBATCH_ROWS         256           /* rows: fixed by schedule.minibatch_rows; 5 of them expected */
#define PLAN_WAVES_GATE_UP          1             /* waves: 32 tiles on 132 SMs: 0.24 */
#define PLAN_WAVES_DOWN             1             /* waves: 32 tiles on 132 SMs: 0.24 */
#define PLAN_IDLE_PERMILLE          758           /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              768           /* rows: fixed by schedule.ring_rows: 3 minibatches, up to 2 laps */
#define PLAN_RING_SLOTS             12            /* slots: one row block of 64 rows each; worst case 2 laps */
#define PLAN_RING_BYTES             196608        /* bytes: 768 rows of h */

/* routing */
#define PLAN_CAPACITY_ROWS          1536          /* rows: every route of 1 rank on one, 1 x 480 x 2, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          960           /* rows: 480 tokens x 2 x 1 rank over 8 experts, 8 of them here */
#define PLAN_PADDED_ROWS            1216          /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        495872        /* bytes: 496 KB; 492 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            211200        /* bytes: 211 KB; 197 KB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           1572864       /* bytes: 1.57 MB; 8 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   103808        /* bytes: of 232448; stages and outgoing tile */

/* wire */
#define PLAN_DISPATCH_BYTES         0             /* bytes: one rank: nothing on the wire */
#define PLAN_COMBINE_BYTES          0             /* bytes: one rank: nothing on the wire */
#define PLAN_LOCAL_COPY_BYTES       0             /* bytes: its own rows are read from x and written to their slots */

/* schedule */
#define PLAN_COMM                   0             /* sms: nothing to move */
#define PLAN_OWN_ROWS               1             /* direct: fixed by schedule.own_rows */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: one rank: nothing on the wire */
#define PLAN_DISPATCH_ROWS          0             /* rows: nothing to move */
#define PLAN_PULL_WARPS             0             /* warps: nothing to move */
#define PLAN_PUSH_WARPS             0             /* warps: nothing to move */
#define PLAN_SLOT_BYTES             0             /* bytes: nothing to move */
#define PLAN_WARP_SLOTS             0             /* slots: nothing to move */

/* predicted */
#define PLAN_FORWARD_US             14.506        /* us: limited by the products; 6 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            0.880         /* us: the memory */
#define PLAN_PRODUCTS_US            5.274         /* us: 5 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                0.000         /* us: one rank: nothing on the wire */
#define PLAN_MEMORY_US              1.063         /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             9.231         /* us: launch 3.3, routing 4.6, first dispatch 0.00, last combine 0.00, reduce 1.4 */

#define PLAN_DIGEST                 "70b2262812845abf8e71eec1716b4c3e" /* of all the above and of mok_layout.h */

#endif
