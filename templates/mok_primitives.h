/* What a generated kernel is made of: the contract that every target implements (templates/<target>/mok_target.h includes this).
 *
 * kernel.cu holds control flow, protocol, task order and per-element functions; everything below is the target's, or
 * mok_common.h's where all targets share it. A primitive is collective over one instance of its worker (one warp, one
 * warpgroup or the whole CTA): every thread of it calls, with the same arguments. On the host target one fiber stands for
 * the instance.
 *
 * mok_target.h, in this order: includes mok_plan.h, mok_layout.h, mok_args.h and this file; defines the macros and types of
 * its own; includes mok_common.h; defines the primitives.
 *
 * Target macros: MOK_FN (inline device function; kernel.cu also writes "MOK_FN static" for members), MOK_WORKER (a worker's
 * function, not inlined), MOK_KERNEL (entry, extern "C", launch bounds), MOK_GRID_CONSTANT.
 * Target types: mok_bf16 (2 bytes, storage only), struct mok_cta, template structs mok_accumulator<P> and mok_gathered<P>.
 * Target arithmetic: float mok_exp(float), mok_erf(float), mok_to_float(mok_bf16), mok_bf16 mok_to_bf16(float) (nearest even).
 */
#ifndef MOK_PRIMITIVES_H
#define MOK_PRIMITIVES_H

typedef long long mok_index; /* task indices, row bases, byte offsets; 32-bit only inside a tile */

/* One task of a worker: a tile of a product, or some rows to move. kind is an enumerator of kernel.cu, or MOK_TASK_END. */
enum { MOK_TASK_END = -1 };
typedef struct mok_task {
  int kind;
  int minibatch; /* of a row task, else 0 */
  int row_block; /* row block of this rank's padded rows, or token block of a shared task */
  int slot;      /* row_block % PLAN_RING_SLOTS: where the rings hold it; the token block of a shared task */
  int expert;    /* local expert of the row block; 0 for a shared task */
  int rows;      /* real rows in the block, 1..PLAN_ROW_PADDING; 0: the empty block of a cluster */
  int column;    /* column tile of a product, or piece of PLAN_DISPATCH_ROWS rows of a move */
} mok_task;

/* Memory-ordering kind of a producer-consumer edge: what the producer did before mok_signal, what the consumer does after
 * mok_wait. "bulk" = asynchronous proxy (cp.async.bulk, tensor copies), "generic" = ordinary loads and stores. */
enum mok_edge {
  MOK_EDGE_BULK_TO_BULK,
  MOK_EDGE_GENERIC_TO_BULK,
  MOK_EDGE_BULK_TO_GENERIC,
  MOK_EDGE_GENERIC_TO_GENERIC,
  MOK_EDGE_READ_TO_WRITE /* the producer has finished reading what the consumer will overwrite */
};

/* First members of struct mok_cta, set by mok_enter; a worker instance has its own copy of the struct. */
#define MOK_CTA_MEMBERS                                                                                 \
  const mok_args *launch;                                                                               \
  const mok_rank_args *args;     /* of this CTA's rank */                                               \
  unsigned epoch;                /* of this launch; the counter set in use is epoch % 2 */              \
  int cta, ctas;                 /* this CTA's number in its rank (from the ticket), CTAs of a rank */  \
  int role, role_cta, role_ctas; /* position of the role in this phase, number in it, CTAs in it */     \
  int instance, instances;       /* this worker instance, and how many one CTA has */                   \
  int tokens;                    /* T of this launch; 0 if outside 0..PLAN_TOKENS_PER_GPU (recorded) */ \
  int token_blocks;              /* ceil(tokens / PLAN_ROW_PADDING), in whole clusters */                \
  int row_blocks;                /* row blocks of this rank, likewise; valid after mok_read_routing */

/* Launch and phases
 *   mok_cta mok_enter(&args)           claims a ticket (rank = ticket / CTAs of a rank), reads epoch and token count once, clears
 *                                      this CTA's share of the other counter set
 *   void mok_leave(&c)                 the last CTA of a rank clears the barrier and advances the epoch
 *   bool mok_phase(&c, phase)          is this phase part of this launch?                                        [mok_common.h]
 *   void mok_roles(&c, ctas_0, ctas_1) splits the rank's CTAs into roles for the coming phase; 0, 0: one role    [mok_common.h]
 *   void mok_spawn<first_warp, warps, instances>(&c, worker)
 *                                      runs worker on instances * warps warps starting at first_warp; returns when
 *                                      this thread's share is done. No worker starts before all threads passed the last mok_join
 *   void mok_join(&c)                  all workers of the CTA have returned
 *   void mok_grid_barrier(&c)          all CTAs of this rank; memory written before is visible after (generic and bulk)
 *   void mok_rank_barrier(&c, barrier) all ranks: a grid barrier, then CTA 0 sets its flag at every peer, then every CTA waits
 *                                      for all flags itself. Flag: line barrier * R + peer of each heap, value epoch + 1,
 *                                      compared by signed difference. Only the grid barrier: R = 1, and a launch of some ranks
 *                                      and some phases (the caller then waits for the other ranks between launches)
 *
 * Work sharing                                                                                                   [mok_common.h]
 *   mok_index mok_first(&c), mok_stride(&c)    this instance's first task index and step when instances take tasks of their own
 *   mok_index mok_cta_first(&c), mok_cta_stride(&c)   when all instances of a CTA share each task
 *
 * Counters. `counter` is COUNTER_<NAME> of mok_layout.h: word offset in a counter set of this epoch.
 *   void mok_wait(&c, counter, index, target, edge)   until counter[index] >= target; bounded, polls the abort word
 *   void mok_signal(&c, counter, index, edge)         counter[index] += 1 after all this instance's work so far is done
 * A target may make these two macros: every argument is an expression without side effects.
 *
 * Routing (whole CTA)
 *   void mok_sort_routes(&c)           CTA 0: counting sort of this rank's (token, slot) pairs by expert, stable, into heap
 *                                      route_offsets and route_list; ids outside 0..E-1 but -1 are recorded and dropped
 *   void mok_publish_tokens(&c)        R > 1: x into the heap, tokens shared out over the CTAs; nothing if x is the heap's
 *   void mok_place_experts(&c)         CTA 0: expert_rows, expert_base, block_expert of this rank's experts, from the peers'
 *                                      route_offsets
 *   void mok_place_rows(&c)            row_source: rows of one expert round-robin over the ranks, padding -1; experts shared out
 *                                      over the CTAs
 *   void mok_read_routing(&c)          fills c.row_blocks                                                        [mok_common.h]
 *   mok_task mok_row_task(&c, kind, minibatch, row_block, column)      with slot, expert, rows filled in         [mok_common.h]
 *   mok_task mok_token_task(&c, kind, token_block, column)                                                       [mok_common.h]
 *
 * Rows of a block. Moving them: one warp; rows beyond t.rows are not moved; only where the plan has slots
 *   mok_route mok_row_source(&c, &t, row)   rank and route that a row came from
 *   bool mok_is_moved(&c, source)      pull and push move such rows: all, or those of other ranks                [mok_common.h]
 *   void mok_pull_rows(&c, &t)         rows [column * PLAN_DISPATCH_ROWS, ...) of the block: peer's x -> ring_x slot
 *   void mok_push_rows(&c, &t)         the same rows: ring_y slot -> combine[route] of the source rank; needs a ring_y
 *
 * Products. P is a struct of kernel.cu: constants m, n, k, stages (tile), k_extent (columns of a), columns (of out), k_tiles =
 * ceil(k_extent / k), tokens (1: rows are tokens, 0: routed rows), gathered (1: loaded by mok_load_gathered), a_map and b_map
 * (MAP_* of mok_layout.h: of a, and of the first weight; the second one's is the next; a box of it has n / max(halves,
 * PLAN_CLUSTER) rows), gated, a_stride, out_stride, instances (of the multiplying worker in a CTA), and functions a(c, t) and
 * out(c, t): first row of the block; b(c, t, half): rows of the weight, half 0 = gate and 1 = up of a gated product, 0
 * otherwise. One that is stored by mok_store_pushed has neither out_stride nor out. One that is loaded by mok_load_gathered has
 * a_row(c, t, row), row `row` of A for row < t.rows, in place of a_map, a_stride and a. An output tile has n columns, n / 2 when
 * gated; tile t covers output columns from t.column * that on. m = PLAN_ROW_PADDING. k_extent and columns are multiples of 8, not
 * of the tile. How the instances split a tile is the target's choice; each signals once.
 *   void mok_load_stage<P>(&c, &t, k)         one stage: A[m, k] and B[n, k] (gated: n/2 rows of gate, then n/2 of up), zero
 *                                             beyond the edges; waits for a free stage itself
 *   mok_gathered<P> rows;                     where the rows of a tile's A lie; lives for one tile. Its worker is a warpgroup
 *   void mok_gather(&c, &t, rows)             before the first stage: finds the rows, P::a_row(c, t, row) for row < t.rows
 *   void mok_load_gathered(&c, &t, k, rows)   one stage, as mok_load_stage<P>, but row r of A is the k_extent values at
 *                                             P::a_row(c, t, r), read by ordinary loads (edges: generic); other rows are zeros
 *   void mok_gather_end(&c, &t, rows)         after the last stage of a tile: all its stages have been handed over
 *   mok_accumulator<P> acc;  void mok_clear(acc)     before the first stage of a tile
 *   void mok_mma_stage(&c, &t, k, acc)        acc += A B^T, fp32; waits for the stage, frees it or the one before it
 *   void mok_finish(&c, acc)                  after the last stage: acc is complete, all stages are free
 *   void mok_store(&c, &t, acc)               bf16(acc) -> out, real rows and columns only
 *   void mok_store_pushed(&c, &t, acc)        bf16(acc) -> combine[route] of each row's source rank, the same rows and columns;
 *                                             mok_rank_barrier makes it visible there
 *   void mok_store_split(&c, &t, acc)         as mok_store, but rows of this rank -> its combine[route]; only with own_rows =
 *                                             "direct"
 *   void mok_store_activated(&c, &t, acc)     bf16(activate(gate, up)) -> out, bf16(activate(0, up)) when not gated; `activate`
 *                                             is kernel.cu's, so the target declares it: MOK_FN float activate(float, float)
 *
 * Reduce (one warp)
 *   void mok_reduce_token(&c, token)   out[token] = shared_y[token] + sum over slots in order of weight * combine, fp32,
 *                                      rounded once; slots without a valid route are skipped
 */

#endif
