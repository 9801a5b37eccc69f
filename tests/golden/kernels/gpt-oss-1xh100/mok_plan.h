/* Numbers of gpt-oss-1xh100 on 1 x H100: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "gpt-oss-1xh100" /* model.lua:3 */
#define PLAN_HIDDEN                 2880          /* columns: model.lua:3 */
#define PLAN_INTERMEDIATE           2880          /* columns: model.lua:3 */
#define PLAN_EXPERTS                128           /* experts: model.lua:3 */
#define PLAN_TOP_K                  4             /* routes: model.lua:3 */
#define PLAN_SHARED_EXPERTS         0             /* experts: model.lua:3 */
#define PLAN_SHARED_INTERMEDIATE    0             /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_CLAMP                  7.0f          /* model.lua:3 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H100"        /* model.lua:4 */
#define PLAN_GPUS                   1             /* ranks: model.lua:4 */

/* workload */
#define PLAN_TOKENS_PER_GPU         4096          /* tokens: model.lua:5 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H100 */
#define PLAN_SMS_COMM               0             /* SMs: none: nothing to move */
#define PLAN_SMS_COMPUTE            132           /* SMs: all */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                384           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  12            /* warps: threads / 32 */
#define PLAN_CLUSTER                1             /* CTAs: pairs of CTAs would not pay by 2 % */

/* tiles */
#define PLAN_GATE_UP_M              128           /* rows: 128 rows an expert, 1.50 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              240           /* columns: 24 tiles across 5760 columns, 0.0 % beyond the edge; 41.8 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         4             /* stages: 4 of 47104 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 128           /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 240           /* columns: 12 tiles across 2880 columns, 0.0 % beyond the edge; 36.7 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            4             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          3004          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(5760, 2880)) */
#define PLAN_MINIBATCH_ROWS         6144          /* rows: 2 waves or more in both products; 4 minibatches expected; larger ones overlap less */
#define PLAN_WAVES_GATE_UP          9             /* waves: 1152 tiles on 132 SMs: 8.73 */
#define PLAN_WAVES_DOWN             5             /* waves: 576 tiles on 132 SMs: 4.36 */
#define PLAN_IDLE_PERMILLE          65            /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              18432         /* rows: 3 minibatches: one that is filled, one that waits its turn, one that is read */
#define PLAN_RING_SLOTS             144           /* slots: one row block of 128 rows each; worst case 2 laps */
#define PLAN_RING_BYTES             106168320     /* bytes: 18432 rows of h */

/* routing */
#define PLAN_CAPACITY_ROWS          32640         /* rows: every route of 1 rank on one, 1 x 4096 x 4, and padding: never a dropped route */
#define PLAN_ROW_PADDING            128           /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          16384         /* rows: 4096 tokens x 4 x 1 rank over 128 experts, 128 of them here */
#define PLAN_PADDED_ROWS            24576         /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        94438400      /* bytes: 94.4 MB; 94.3 MB of it the combine slots */
#define PLAN_LOCAL_BYTES            106436864     /* bytes: 106 MB; 106 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           6370099200LL  /* bytes: 6.37 GB; 128 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   223616        /* bytes: of 232448; stages and outgoing tile */

/* wire */
#define PLAN_DISPATCH_BYTES         0             /* bytes: one rank: nothing on the wire */
#define PLAN_COMBINE_BYTES          0             /* bytes: one rank: nothing on the wire */
#define PLAN_LOCAL_COPY_BYTES       0             /* bytes: its own rows are read from x and written to their slots */

/* schedule */
#define PLAN_COMM                   0             /* sms: nothing to move */
#define PLAN_OWN_ROWS               1             /* direct: predicted 2402 us, "copy" 2528 */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: one rank: nothing on the wire */
#define PLAN_DISPATCH_ROWS          0             /* rows: nothing to move */
#define PLAN_PULL_WARPS             0             /* warps: nothing to move */
#define PLAN_PUSH_WARPS             0             /* warps: nothing to move */
#define PLAN_SLOT_BYTES             0             /* bytes: nothing to move */
#define PLAN_WARP_SLOTS             0             /* slots: nothing to move */

/* predicted */
#define PLAN_FORWARD_US             2402.089      /* us: limited by the memory; 95 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            2288.517      /* us: the memory */
#define PLAN_PRODUCTS_US            2121.743      /* us: 49 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                0.000         /* us: one rank: nothing on the wire */
#define PLAN_MEMORY_US              2338.284      /* us: at 3000 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             63.806        /* us: launch 3.3, routing 20.0, first dispatch 0.00, last combine 0.00, reduce 40.5 */

#define PLAN_DIGEST                 "a45b0eb612f62f15a12477302f1f6121" /* of all the above and of mok_layout.h */

#endif
