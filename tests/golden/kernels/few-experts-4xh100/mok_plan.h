/* Numbers of few-experts-4xh100 on 4 x H100: the description's, then the planner's, each with its origin. */
#ifndef PLAN_H
#define PLAN_H

/* model */
#define PLAN_NAME                   "few-experts-4xh100" /* model.lua:2 */
#define PLAN_HIDDEN                 2880          /* columns: model.lua:2 */
#define PLAN_INTERMEDIATE           2880          /* columns: model.lua:2 */
#define PLAN_EXPERTS                3             /* experts: model.lua:2 */
#define PLAN_TOP_K                  2             /* routes: model.lua:2 */
#define PLAN_SHARED_EXPERTS         2             /* experts: model.lua:2 */
#define PLAN_SHARED_INTERMEDIATE    5760          /* columns: default */
#define PLAN_ACTIVATION             1             /* geglu: model.lua:2 */
#define PLAN_DTYPE                  0             /* bf16: default */

/* topology */
#define PLAN_GPU                    "H100"        /* model.lua:3 */
#define PLAN_GPUS                   4             /* ranks: model.lua:3 */

/* workload */
#define PLAN_TOKENS_PER_GPU         1024          /* tokens: model.lua:4 */
#define PLAN_PASSES                 1             /* bits of forward|backward: default */
#define PLAN_SAVE                   0             /* all: default */
#define PLAN_IMBALANCE              2.0f          /* default */

/* sms */
#define PLAN_SMS_TOTAL              132           /* SMs: row H100 */
#define PLAN_SMS_COMM               12            /* SMs: need 36.1 GB/s of rows each way; these take 135 us of the products' 436, margin included */
#define PLAN_SMS_COMPUTE            120           /* SMs: all others, in pairs */
#define PLAN_SMS_RESERVED           0             /* SMs: schedule.reserved_sms */

/* launch */
#define PLAN_GRID                   132           /* CTAs: one CTA per SM, all co-resident */
#define PLAN_THREADS                384           /* threads: one loading warpgroup and one per 64 rows of a CTA's tile */
#define PLAN_WARPS                  12            /* warps: threads / 32 */
#define PLAN_CLUSTER                2             /* CTAs: pairs multicast weights to each other: predicted 473 us, single CTAs 501 */

/* tiles */
#define PLAN_GATE_UP_M              128           /* rows: 2731 rows an expert, 1.03 with padding for each real one; best predicted of 64 and 128 */
#define PLAN_GATE_UP_N              240           /* columns: fixed by schedule.tile_n */
#define PLAN_GATE_UP_K              64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_GATE_UP_STAGES         4             /* stages: 4 of 47104 B, all that fit in 232448 B beside the outgoing tile */
#define PLAN_DOWN_M                 128           /* rows: that of the up tile: one row block is one unit of both products */
#define PLAN_DOWN_N                 240           /* columns: fixed by schedule.tile_n */
#define PLAN_DOWN_K                 64            /* columns: one 128-byte swizzled row of the operand */
#define PLAN_DOWN_STAGES            4             /* stages: that of the up tile: both products share the pipeline */

/* minibatch */
#define PLAN_TWO_WAVE_ROWS          3004          /* rows: ceil(2 x 132 SMs x 128 x 256 / min(5760, 2880)) */
#define PLAN_MINIBATCH_ROWS         2560          /* rows: 2 waves or more in both products; 2 minibatches expected; larger ones overlap less */
#define PLAN_WAVES_GATE_UP          4             /* waves: 480 tiles on 120 SMs: 4.00 */
#define PLAN_WAVES_DOWN             2             /* waves: 240 tiles on 120 SMs: 2.00 */
#define PLAN_IDLE_PERMILLE          0             /* 1/1000: last wave of each product, weighted by tile time; tiles of the minibatch beside it fill it */

/* ring */
#define PLAN_RING_ROWS              10240         /* rows: 4 minibatches; 2 would stall dispatch behind combine */
#define PLAN_RING_SLOTS             80            /* slots: one row block of 128 rows each; worst case 1 lap */
#define PLAN_RING_BYTES             176947200     /* bytes: 10240 rows of x, h and y */

/* routing */
#define PLAN_CAPACITY_ROWS          8448          /* rows: every route of 4 ranks on one, 4 x 1024 x 2, and padding: never a dropped route */
#define PLAN_ROW_PADDING            128           /* rows: the row tile: a block belongs to one expert */
#define PLAN_EXPECTED_ROWS          2731          /* rows: 1024 tokens x 2 x 4 ranks over 3 experts, 1 of them here */
#define PLAN_PADDED_ROWS            2816          /* rows: about half a tile for each expert that gets rows */

/* memory */
#define PLAN_SYMMETRIC_BYTES        17704192      /* bytes: 17.7 MB; 11.8 MB of it the combine slots */
#define PLAN_LOCAL_BYTES            194713856     /* bytes: 195 MB; 177 MB of it the rings */
#define PLAN_SAVED_BYTES            0             /* bytes: no backward pass asked for */
#define PLAN_WEIGHT_BYTES           149299200     /* bytes: 149 MB; 1 experts and the shared one; the caller's */
#define PLAN_SHARED_BYTES_PER_CTA   223616        /* bytes: of 232448; the larger of the two roles */

/* wire */
#define PLAN_DISPATCH_BYTES         11796480      /* bytes: 11.8 MB: 2048 of 2731 rows come from peers */
#define PLAN_COMBINE_BYTES          11796480      /* bytes: 11.8 MB: the same rows back */
#define PLAN_LOCAL_COPY_BYTES       7868160       /* bytes: 7.87 MB: 683 rows of its own, in and out */

/* schedule */
#define PLAN_COMM                   0             /* sms: predicted 473 us, "warps" 463, "epilogue" 473; "warps" is not in this version */
#define PLAN_OWN_ROWS               0             /* copy: predicted 473 us, "direct" 510; of several ranks unmeasured, so only on request */
#define PLAN_READINESS              0             /* tile: a tile waits for its own row block, not for its minibatch */
#define PLAN_WIRE_DEDUP             0             /* off: on would send 88 % of the rows: predicted 473 us, off 473 */
#define PLAN_DISPATCH_ROWS          8             /* rows: 320 tasks a minibatch for 72 pulling warps */
#define PLAN_PULL_WARPS             6             /* warps: half of a CTA's warps: several issuers fill the link with the fewest SMs */
#define PLAN_PUSH_WARPS             6             /* warps: the other half */
#define PLAN_SLOT_BYTES             2880          /* bytes: a row of 5760 B in 2 pieces of at most 4096 B */
#define PLAN_WARP_SLOTS             4             /* slots: 138240 B in flight in one CTA */

/* predicted */
#define PLAN_FORWARD_US             473.362       /* us: limited by the products; 64 % of the roofline */
#define PLAN_BACKWARD_US            0.000         /* us: no backward pass asked for */
#define PLAN_ROOFLINE_US            304.135       /* us: the products without padding, at peak */
#define PLAN_PRODUCTS_US            436.160       /* us: 70 % of 782 TFLOP/s on all SMs */
#define PLAN_WIRE_US                62.557        /* us: dispatch and combine of one direction at 330 GB/s */
#define PLAN_MEMORY_US              133.208       /* us: at 3000 GB/s; each minibatch reads its experts' weights again */
#define PLAN_EXPOSED_US             37.202        /* us: launch 3.3, routing 10.0, first dispatch 0.00, last combine 12.3, reduce 11.6 */

#define PLAN_DIGEST                 "08910c9d59b60c08c48efcb319500de7" /* of all the above and of mok_layout.h */

#endif
