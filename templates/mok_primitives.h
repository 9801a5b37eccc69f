/* What a generated kernel is made of: the contract that every target implements (templates/<target>/mok_target.h includes this).
 *
 * kernel.cu holds control flow, protocol, task order and per-element functions; everything below is the target's. A primitive is
 * collective over one instance of its worker (one warp, one warpgroup or the whole CTA): every thread of it calls, with the
 * same arguments. On the host target one fiber stands for the instance.
 *
 * Target macros: MOK_FN (inline device function), MOK_WORKER (a worker's function, not inlined), MOK_KERNEL (entry).
 */
#ifndef MOK_PRIMITIVES_H
#define MOK_PRIMITIVES_H

typedef long long mok_index; /* task indices, row bases, byte offsets; 32-bit only inside a tile */

/* One task of a worker: a tile of a product, or some rows to move. kind is an enumerator of kernel.cu; MOK_TASK_END ends a loop. */
enum { MOK_TASK_END = -1 };
typedef struct mok_task {
  int kind;
  int minibatch;  /* of a row task, else 0 */
  int row_block;  /* row block of this rank's padded rows, or token block of a shared task */
  int slot;       /* row_block % PLAN_RING_SLOTS: where the rings hold it */
  int expert;     /* local expert of the row block; 0 for a shared task */
  int rows;       /* real rows in the block, 1..PLAN_ROW_PADDING */
  int column;     /* column tile of a product, or piece of PLAN_DISPATCH_ROWS rows of a move */
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

/* The target defines struct mok_cta with at least these members, readable in kernel.cu:
 *   const mok_rank_args *args;
 *   int role;             0, 1, ...: position of the role in this phase
 *   int role_cta, role_ctas;   this CTA's number in its role and how many there are
 *   int instance, instances;   this worker instance's number and how many one CTA has
 *   int tokens;           T of this launch, clamped to 0..PLAN_TOKENS_PER_GPU
 *   int token_blocks;     ceil(tokens / PLAN_ROW_PADDING)
 *   int row_blocks;       row blocks of this rank; valid after phase route
 *
 * Launch and phases
 *   mok_cta mok_enter(args)            claims a ticket (rank, CTA number), reads epoch and token count once, clears the next
 *                                      epoch's counters
 *   void mok_leave(&c)                 the last CTA of a rank advances the epoch
 *   bool mok_phase(&c, phase)          is this phase part of this launch?
 *   void mok_roles(&c, ctas_0, ctas_1) splits the rank's CTAs into roles for the coming phase (ctas_1 = 0: one role)
 *   void mok_spawn<first_warp, warps, instances>(&c, worker)
 *                                      runs worker on instances * warps warps starting at first_warp; returns when
 *                                      this thread's share is done
 *   void mok_join(&c)                  all workers of the CTA have returned
 *   void mok_grid_barrier(&c)          all CTAs of this rank; memory written before is visible after (generic and bulk)
 *   void mok_rank_barrier(&c, barrier) all ranks (flags line `barrier` of each peer's heap); includes a grid barrier. R = 1: only that
 *
 * Work sharing
 *   mok_index mok_first(&c), mok_stride(&c)    this instance's first task index and step when instances take tasks of their own
 *   mok_index mok_cta_first(&c), mok_cta_stride(&c)   when all instances of a CTA share each task
 *
 * Counters. `counter` is COUNTER_<NAME> of mok_layout.h: word offset in a counter set of this epoch.
 *   void mok_wait(&c, counter, index, target, edge)   until counter[index] >= target; bounded, polls the abort word
 *   void mok_signal(&c, counter, index, edge)         counter[index] += 1 after all this instance's work so far is done
 *
 * Routing (whole CTA)
 *   void mok_sort_routes(&c)           CTA 0: counting sort of this rank's (token, slot) pairs by expert, stable, into heap
 *                                      route_offsets and route_list; ids outside 0..E-1 but -1 are recorded and dropped
 *   void mok_publish_tokens(&c)        R > 1: x into the heap, tokens shared out over the CTAs
 *   void mok_place_experts(&c)         expert_rows, expert_base, block_expert of this rank's experts from the peers' offsets
 *   void mok_place_rows(&c)            row_source: rows of one expert round-robin over the ranks, padding -1
 *   void mok_read_routing(&c)          fills c.row_blocks
 *   mok_task mok_row_task(&c, kind, minibatch, row_block, column)      with slot, expert, rows filled in
 *   mok_task mok_token_task(&c, kind, token_block, column)
 *
 * Moving rows (one warp)
 *   void mok_pull_rows(&c, &t)         rows [column * PLAN_DISPATCH_ROWS, ...) of the block: peer's x -> ring_x slot
 *   void mok_push_rows(&c, &t)         the same rows: ring_y slot -> combine[route] of the source rank
 *
 * Products. P is a struct of kernel.cu with constants m, n, k, stages, k_extent, columns, gated and functions
 * a(c, t), a_stride, b(c, t, half), b_stride, out(c, t), out_stride.
 *   void mok_load_stage<P>(&c, t, k)          one stage: A[m, k] and B[n, k] (gated: n/2 rows of gate, n/2 of up), zero beyond the
 *                                             edges; waits for a free stage itself
 *   mok_accumulator<P> acc;  void mok_clear<P>(acc)
 *   void mok_mma_stage<P>(&c, t, k, acc)      acc += A B^T, fp32; waits for the stage and frees it
 *   void mok_store<P>(&c, t, acc)             bf16(acc) -> out, real rows and columns only
 *   void mok_store_gated<P>(&c, t, acc)       bf16(activate(gate, up)) -> out; `activate` is kernel.cu's
 *
 * Reduce (one warp)
 *   void mok_reduce_token(&c, token)   out[token] = shared_y[token] + sum over slots in order of weight * combine, fp32, rounded once;
 *                                      slots without a valid route are skipped
 */

#endif
