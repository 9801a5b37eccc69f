/* Closed formulas that score a choice. Their constants are fits to measurements on H200 named beside them; the GPU row carries
 * all that differs between GPUs. */
#include "internal.h"

/* Grouped bf16 products of DeepGEMM on H200 take 84 us per 128x256x7168 tile and 26.7 us per 128x256x2048 tile where the tensor
 * cores alone would take 79.4 and 22.7: about 4 us a tile, of which the accumulators' way out grows with the tile. */
static const double tile_fixed_us = 1.0, tile_out_us = 2.5, tile_out_elements = 128.0 * 256.0;
/* The only minibatch's down tiles start when its last up tile is stored and signalled. */
static const double border_us = 3.0;
/* An up product whose rows are gathered, against one that loads them by tensor copies (Kimi K2 on H200: 130 and 115 thousand
 * cycles a tile). */
static const double gather_share = 1.14;
/* Shared memory of an SM: 128 bytes per cycle near 1.7 GHz. */
static const double shared_gbs_per_sm = 218.0;
/* One CTA's counting sort, per route. */
static const double sort_us_per_route = 0.001;
/* The issue rate of communicating warps is measured without products beside them; the link's rate moves less. Beside products a
 * communication SM of an H200 pulls 25 to 33 GB/s where it has 50 alone, and pulls and pushes 20 each where it does both. */
static const double issue_margin = 1.8, link_margin = 1.05, both_ways_margin = 1.5;

static double us_of(double bytes, double gbs) { return gbs > 0 ? bytes / (gbs * 1e3) : 0; }

/* Share of the tensor cores' rate that shared memory can feed: a 64 x n x 16 product takes n/2 cycles of them, and reads A in 16
 * and B in n/4 cycles. */
static double feed_share(const mok_gpu *gpu, int64_t n) {
  if (gpu->mma == MOK_MMA_HOST) return 1.0;
  const double share = ((double)n / 2.0) / (16.0 + (double)n / 4.0);
  return share < 1.0 ? share : 1.0;
}

double mok_tile_us(const mok_gpu *gpu, const mok_choice *c, int64_t n, int64_t depth, int64_t element_bytes) {
  const double sms = (double)mok_sms_per_tile(c->m);
  const double padded = (double)mok_round_up(depth, c->k);
  const double tflops = (element_bytes == 2 ? gpu->bf16_tflops : gpu->fp8_tflops) / (double)gpu->sms;
  const double products = 2.0 * (double)c->m * (double)n * padded / (tflops * 1e6 * sms * feed_share(gpu, n));
  /* Each CTA of a multicasting pair fetches half of the shared operand. */
  const double shared_n = c->cluster == 2 && c->m <= 128 ? (double)n / 2.0 : (double)n;
  const double fetched = ((double)c->m + shared_n) * padded * (double)element_bytes;
  const double l2 = us_of(fetched, gpu->l2_gbs / (double)gpu->sms * sms);
  /* One SM streams weights from memory at no more than about twice its share. */
  const double stream = us_of((double)n * padded * (double)element_bytes, 2.0 * gpu->memory_gbs / (double)gpu->sms * sms);
  double main_loop = mok_max_us(products, mok_max_us(l2, stream));
  if (c->stages < 4) main_loop *= 1.0 + 0.06 * (double)(4 - c->stages);
  /* Blackwell's second accumulator lets the way out run under the next tile. */
  const double out = gpu->mma == MOK_MMA_TCGEN05 ? 0.1 * tile_out_us : tile_out_us;
  return main_loop + tile_fixed_us + out * (double)c->m * (double)n / (tile_out_elements * sms);
}

/* Microseconds for `bytes`, `remote` of them over the link, by `sms` SMs with `warps` issuing warps. Copies inside the GPU have
 * the same rate per SM and no link to fill. */
static double move_us(const mok_wire_curve *curve, const mok_choice *c, int64_t warps, double sms, double bytes, double remote) {
  const double per_sm = mok_wire_gbs(curve, c->slot_bytes, (int)warps, 1.0);
  const double issue = us_of(bytes, per_sm * sms) * issue_margin * (c->push_warps > 0 ? both_ways_margin : 1.0);
  const double link = us_of(remote, mok_wire_gbs(curve, c->slot_bytes, (int)warps, sms)) * link_margin;
  return mok_max_us(issue, link);
}

mok_comm_cost mok_comm_cost_of(const mok_load *l, const mok_gpu *gpu, const mok_choice *c) {
  mok_comm_cost r = {0};
  if (!mok_moves_rows(l, c)) return r;
  const double share = mok_wire_share(l, c->dedup), row = (double)l->row_bytes;
  const double remote = (double)l->remote_rows * share * row, all = (double)mok_moved_rows(l, c) * row;
  const double sms = (double)(c->comm == MOK_COMM_WARPS ? c->compute_sms : c->comm_sms);
  const double busier = remote + (double)l->sent_rows * share * row;
  r.wire_us = us_of(busier, gpu->link_gbs);
  const double pull = move_us(&gpu->pull, c, c->pull_warps, sms, all, remote);
  const double push = c->push_warps > 0 ? move_us(&gpu->push, c, c->push_warps, sms, all, remote) : 0.0;
  r.busy_us = mok_max_us(mok_max_us(pull, push), r.wire_us * link_margin);
  if (l->rows > 0) {
    r.pull_us_row = pull / (double)l->rows;
    r.push_us_row = push / (double)l->rows;
  }
  if (c->comm == MOK_COMM_WARPS) r.interference_us = us_of(4.0 * all, shared_gbs_per_sm * sms);
  if (c->comm == MOK_COMM_EPILOGUE) {
    /* Every tile row leaves as one piece per consumer warp, straight from the accumulators' staging; a store within the GPU
     * costs what any tile's way out costs. */
    const double per_sm = mok_wire_gbs(&gpu->push, c->down_n * MOK_WIRE_ELEMENT_BYTES, (int)(c->threads / 32 - 4), 1.0);
    r.interference_us = us_of(remote, per_sm * (double)c->compute_sms);
  }
  return r;
}

/* Tiles of `blocks` row blocks. Up tiles run a minibatch ahead, so that nobody waits where one ends; in the only minibatch the
 * partial wave of up tiles idles, since down waits for it. */
static double minibatch_us(int64_t blocks, int64_t up, int64_t down, int64_t units, double up_us, double down_us, bool only) {
  const double up_waves = only ? (double)mok_ceil_div(blocks * up, units) : (double)(blocks * up) / (double)units;
  return up_waves * up_us + (double)(blocks * down) / (double)units * down_us + (only ? border_us : 0.0);
}

/* `direct` rows are read from x and written to their slots without a copy between. */
static double memory_traffic(const mok_load *l, double direct, double minibatches) {
  const double rows = (double)l->rows, hidden = (double)l->hidden, tokens = (double)l->tokens;
  const double expert = (double)(l->up_columns + l->intermediate) * hidden * (double)l->element_bytes;
  double hit = (double)l->local_experts;
  if (rows < hit) hit = rows;
  /* x read, ring_x, y and the slots written and read: once each, as column passes over a minibatch hit in L2; h the same. */
  double bytes = (rows * 7.0 - direct * 4.0) * hidden * 2.0 + rows * 2.0 * (double)l->intermediate * 2.0;
  bytes += (hit + (minibatches > 1.0 ? minibatches - 1.0 : 0.0)) * expert;
  bytes += tokens * hidden * 2.0 * (l->ranks > 1 ? 3.0 : 1.0);
  if (l->shared > 0)
    bytes += (double)(l->shared_up_columns + l->shared) * hidden * (double)l->element_bytes +
             tokens * 2.0 * (3.0 * hidden + 2.0 * (double)l->shared);
  return bytes;
}

double mok_memory_floor_us(const mok_load *l, const mok_gpu *gpu) {
  return us_of(memory_traffic(l, (double)l->local_rows, 1.0), gpu->memory_gbs);
}

double mok_products_floor_us(const mok_load *l, const mok_gpu *gpu) {
  const double routed = (double)l->rows * (double)(l->up_columns + l->intermediate);
  const double shared = (double)l->tokens * (double)(l->shared_up_columns + l->shared);
  return 2.0 * (routed + shared) * (double)l->hidden / ((l->element_bytes == 2 ? gpu->bf16_tflops : gpu->fp8_tflops) * 1e6);
}

mok_tile_cost mok_tile_cost_of(const mok_load *l, const mok_gpu *gpu, const mok_choice *c) {
  mok_tile_cost r = {0};
  r.up_us = mok_tile_us(gpu, c, c->up_n, l->hidden, l->element_bytes) * (c->own_rows == MOK_OWN_DIRECT ? gather_share : 1.0);
  r.down_us = mok_tile_us(gpu, c, c->down_n, l->intermediate, l->element_bytes);
  r.up = mok_tile_columns(l->up_columns, c->up_n);
  r.down = mok_tile_columns(l->hidden, c->down_n);
  r.blocks = mok_padded_rows(l, c->m) / c->m;
  if (l->shared > 0) {
    r.shared_down_us = mok_tile_us(gpu, c, c->down_n, l->shared, l->element_bytes);
    r.shared_up = mok_tile_columns(l->shared_up_columns, c->up_n);
    r.token_blocks = mok_ceil_div(l->tokens, c->m);
  }
  return r;
}

mok_cost mok_cost_of(const mok_load *l, const mok_gpu *gpu, const mok_choice *c, const mok_tile_cost *tile,
                     const mok_comm_cost *comm) {
  mok_cost r = {0};
  const int64_t units = mok_max64(1, c->compute_sms / mok_sms_per_tile(c->m));
  const int64_t up = tile->up, down = tile->down, blocks = tile->blocks;
  r.up_tile_us = tile->up_us;
  r.down_tile_us = tile->down_us;
  const int64_t full = blocks / c->minibatch_blocks, rest = blocks % c->minibatch_blocks;
  const int64_t last = rest > 0 ? rest : mok_min64(blocks, c->minibatch_blocks);
  double routed =
      (double)full * minibatch_us(c->minibatch_blocks, up, down, units, r.up_tile_us, r.down_tile_us, full + (rest > 0) == 1);
  if (rest > 0) routed += minibatch_us(rest, up, down, units, r.up_tile_us, r.down_tile_us, full == 0);
  const int64_t last_tiles = last * down;
  routed += ((double)mok_ceil_div(last_tiles, units) - (double)last_tiles / (double)units) * r.down_tile_us;
  if (tile->token_blocks > 0)
    r.shared_us = (double)mok_ceil_div(tile->token_blocks * tile->shared_up, units) * r.up_tile_us +
                  (double)(tile->token_blocks * down) / (double)units * tile->shared_down_us;
  r.products_us = r.shared_us + routed + comm->interference_us;
  r.comm_us = comm->busy_us;
  r.wire_us = comm->wire_us;
  const double direct = c->own_rows == MOK_OWN_DIRECT ? (double)l->local_rows : 0.0;
  r.memory_us = us_of(memory_traffic(l, direct, (double)(full + (rest > 0))), gpu->memory_gbs);

  const double row_fill = blocks > 0 ? (double)l->rows / (double)(blocks * c->m) : 0.0;
  const double first_rows = (double)(mok_min64(blocks, c->minibatch_blocks) * c->m) * row_fill;
  r.first_us = mok_max_us(0.0, first_rows * comm->pull_us_row - r.shared_us);
  r.last_us = (double)(last * c->m) * row_fill * comm->push_us_row;

  const double barrier = gpu->grid_barrier_us + (l->ranks > 1 ? gpu->flag_round_trip_us : 0.0);
  const double publish = l->ranks > 1 ? us_of((double)l->tokens * (double)l->row_bytes * 2.0, gpu->memory_gbs) : 0.0;
  const double sort = (double)(l->tokens * l->top_k) * sort_us_per_route;
  r.launch_us = gpu->launch_us;
  r.route_us = mok_max_us(publish, sort) + barrier + 2.0 * gpu->grid_barrier_us;
  const double reduce_rows = (double)l->tokens * (double)(l->top_k + 1 + (l->shared > 0));
  r.reduce_us = barrier + us_of(reduce_rows * (double)l->hidden * 2.0, gpu->memory_gbs);

  const double busiest = mok_max_us(r.products_us, mok_max_us(r.comm_us, r.memory_us));
  const double overlapped = mok_max_us(r.products_us + r.first_us + r.last_us, mok_max_us(r.comm_us, r.memory_us));
  r.forward_us = r.launch_us + r.route_us + overlapped + r.reduce_us;
  r.exposed_us = r.forward_us - busiest;
  return r;
}

/* Each product has two gradients. What forward did not save is computed again: the up product from saved rows, or the dispatch
 * and the up product from nothing. */
double mok_backward_us(const mok_model *model, const mok_load *l, const mok_cost *f) {
  const double up_share = (double)l->up_columns / (double)(l->up_columns + l->intermediate);
  const double again = model->save == MOK_SAVE_ALL ? 0.0 : up_share * f->products_us;
  const double wire = model->save == MOK_SAVE_NONE ? 1.5 * f->comm_us : f->comm_us;
  const double work = mok_max_us(2.0 * f->products_us + again + f->first_us + f->last_us, mok_max_us(wire, 2.5 * f->memory_us));
  return f->launch_us + f->route_us + work + f->reduce_us;
}
