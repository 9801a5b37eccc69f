/* Numbers of ranks on 2 x H200: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "ranks"       /* model.lua:4 */
#define PLAN_HIDDEN                 256           /* columns: model.lua:4 */
#define PLAN_INTERMEDIATE           128           /* columns: model.lua:4 */
#define PLAN_EXPERTS                8             /* experts: model.lua:4 */
#define PLAN_TOP_K                  2             /* routes: model.lua:4 */
#define PLAN_SHARED_EXPERTS         0             /* experts: default */
#define PLAN_SHARED_INTERMEDIATE    0             /* columns: default */
#define PLAN_ACTIVATION             0             /* swiglu: default */
#define PLAN_CLAMP                  7.0f          /* model.lua:5 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H200"        /* model.lua:7 */
#define PLAN_GPUS                   2             /* ranks: model.lua:7 */

/* workload */
#define PLAN_TOKENS_PER_GPU         256           /* tokens: model.lua:8 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H200 */
#define PLAN_SMS_COMM               36            /* SMs: need 38.9 GB/s of rows each way; these take 2.5 us of the products' 3.4, margin included */
#define PLAN_SMS_COMPUTE            96            /* SMs: all others, in pairs */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                256           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  8             /* warps: threads / 32 */
#define PLAN_CLUSTER                2             /* CTAs: pairs multicast weights to each other: predicted 18.0 us, single CTAs 18.3 */

/* tiles */
#define PLAN_GATE_UP_M              64            /* rows: fixed by schedule.tile_m */
#define PLAN_GATE_UP_N              64            /* columns: 4 tiles across 256 columns, 0.0 % beyond the edge; 2.4 us a tile */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         8             /* stages: 8 of 16384 B, enough to hide latency, in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 64            /* rows: fixed by schedule.tile_m */
#define PLAN_DOWN_N                 48            /* columns: 6 tiles across 256 columns, 12.5 % beyond the edge; 1.6 us a tile */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            8             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          33792         /* rows: ceil(2 x 132 SMs x 128 x 256 / min(256, 256)) */
#define PLAN_MINIBATCH_ROWS         128           /* rows: fixed by schedule.minibatch_rows; 5 of them expected */
#define PLAN_WAVES_GATE_UP          1             /* waves: 8 tiles on 96 SMs: 0.08 */
#define PLAN_WAVES_DOWN             1             /* waves: 12 tiles on 96 SMs: 0.13 */
#define PLAN_IDLE_PERMILLE          905           /* 1/1000: last wave of each product, weighted by tile time */

/* ring */
#define PLAN_RING_ROWS              256           /* rows: fixed by schedule.ring_rows: 2 minibatches, up to 5 laps */
#define PLAN_RING_SLOTS             4             /* slots: one row block of 64 rows each; worst case 5 laps */
#define PLAN_RING_BYTES             327680        /* bytes: 256 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          1280          /* rows: every route of 2 ranks on one, 2 x 256 x 2, and padding: never a dropped route */
#define PLAN_ROW_PADDING            64            /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          512           /* rows: 256 tokens x 2 x 2 ranks over 8 experts, 4 of them here */
#define PLAN_PADDED_ROWS            640           /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        396032        /* bytes: 396 KB; 262 KB of it the combine slots */
#define PLAN_LOCAL_BYTES            340480        /* bytes: 340 KB; 328 KB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           786432        /* bytes: 786 KB; 4 experts; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   140672        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         131072        /* bytes: 131 KB: 256 of 512 rows come from peers */
#define PLAN_COMBINE_BYTES          131072        /* bytes: 131 KB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       0             /* bytes: its own rows are read from x and written to their slots */

/* schedule */
#define PLAN_COMM                   0             /* sms: predicted 18.0 us, "warps" 17.1, "epilogue" 18.7; "warps" is not in this version */
#define PLAN_OWN_ROWS               1             /* direct: fixed by schedule.own_rows */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 75 % of the rows: predicted 18.0 us, off 18.0 */
#define PLAN_DISPATCH_ROWS          4             /* rows: 32 tasks a minibatch for 144 pulling warps */
#define PLAN_PULL_WARPS             4             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             4             /* warps: the other half */
#define PLAN_SLOT_BYTES             512           /* bytes: a whole row */
#define PLAN_WARP_SLOTS             4             /* slots: 16384 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             18.036        /* us: limited by the products; 4 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            0.794         /* us: the wire */
#define PLAN_PRODUCTS_US            3.373         /* us: 4 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                0.794         /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              0.823         /* us: at 4300 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             14.663        /* us: launch 3.3, routing 6.6, first dispatch 0.47, last combine 0.49, reduce 3.8 */

#define PLAN_DIGEST                 "dea31b7c81f2f762c2b6f9590b390476" /* of all the above and of mok_layout.h */

#endif
