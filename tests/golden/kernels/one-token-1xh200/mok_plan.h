/* Numbers of one-token-1xh200 on 1 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "one-token-1xh200" /* model.lua:3 */
#define PLAN_HIDDEN                 2048          /* columns: model.lua:3 */
#define PLAN_INTERMEDIATE           768           /* columns: model.lua:3 */
#define PLAN_EXPERTS                128           /* experts: model.lua:3 */
#define PLAN_TOP_K                  8             /* routes: model.lua:3 */
#define PLAN_SHARED_EXPERTS         0             /* experts: model.lua:3 */
#define PLAN_SHARED_INTERMEDIATE    0             /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:4 */
#define PLAN_GPUS                   1             /* ranks: model.lua:4 */

/* workload */
#define PLAN_TOKENS_PER_GPU         1             /* tokens: model.lua:5 */
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
#define PLAN_CLUSTER                2             /* CTAs: pairs multicast weights to each other: predicted 25.7 us, single CTAs 30.8 */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: 0.06 rows an expert, 64.00 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              96            /* columns: 16 tiles across 1536 columns, 0.0 % beyond the edge; 9.9 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         8             /* stages: 8 of 24576 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 128           /* columns: 16 tiles across 2048 columns, 0.0 % beyond the edge; 4.7 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            8             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          5632          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(1536, 2048)) */
#define PLAN_MINIBATCH_ROWS         512           /* rows: all rows there can be: too few for 2 waves */
#define PLAN_WAVES_GATE_UP          1             /* waves: 128 tiles on 132 SMs: 0.97 */
#define PLAN_WAVES_DOWN             1             /* waves: 128 tiles on 132 SMs: 0.97 */
#define PLAN_IDLE_PERMILLE          30            /* 1/1000: last wave of each product, weighted by tile time */

/* ring */
#define PLAN_RING_ROWS              512           /* rows: 1 minibatch holds all rows there can be: never a second lap */
#define PLAN_RING_SLOTS             8             /* slots: one row block of 64 rows each; worst case 1 lap */
#define PLAN_RING_BYTES             786432        /* bytes: 512 rows of h */

/* routing */
#define PLAN_CAPACITY_ROWS          512           /* rows: every route of 1 rank on one, 1 x 1 x 8, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          8             /* rows: 1 tokens x 8 x 1 rank over 128 experts, 128 of them here */
#define PLAN_PADDED_ROWS            512           /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        33792         /* bytes: 33.7 KB; 32.7 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            793344        /* bytes: 793 KB; 786 KB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           1207959552    /* bytes: 1.21 GB; 128 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   214400        /* bytes: of 232448; stages and outgoing tile */

/* wire */
#define PLAN_DISPATCH_BYTES         0             /* bytes: one rank: nothing on the wire */
#define PLAN_COMBINE_BYTES          0             /* bytes: one rank: nothing on the wire */
#define PLAN_LOCAL_COPY_BYTES       0             /* bytes: its own rows are read from x and written to their slots */

/* schedule */
#define PLAN_COMM                   0             /* sms: nothing to move */
#define PLAN_OWN_ROWS               1             /* direct: predicted 25.7 us, "copy" 26.5 */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: one rank: nothing on the wire */
#define PLAN_DISPATCH_ROWS          0             /* rows: nothing to move */
#define PLAN_PULL_WARPS             0             /* warps: nothing to move */
#define PLAN_PUSH_WARPS             0             /* warps: nothing to move */
#define PLAN_SLOT_BYTES             0             /* bytes: nothing to move */
#define PLAN_WARP_SLOTS             0             /* slots: nothing to move */

/* predicted */
#define PLAN_FORWARD_US             25.724        /* us: limited by the products; 68 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            17.587        /* us: the memory */
#define PLAN_PRODUCTS_US            17.607        /* us: 1 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                0.000         /* us: one rank: nothing on the wire */
#define PLAN_MEMORY_US              17.587        /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             8.117         /* us: launch 3.3, routing 3.6, first dispatch 0.00, last combine 0.00, reduce 1.2 */

#define PLAN_DIGEST                 "e6de463f453dabc4523d4ab9059a532c" /* of all the above and of mok_layout.h */

#endif
