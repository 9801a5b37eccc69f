/* The search: SM split and minibatch of every tile worth costing. Ties go to the simpler plan: a candidate must be better than
 * one found before by some share, and the order is larger tiles, fewer communication SMs, smaller minibatches. */
#include "internal.h"

enum { MINIBATCH_STEPS = 32, MAX_COMM_SMS = 512, MAX_RING_MINIBATCHES = 64 };

/* Fewest row blocks whose tiles give every compute SM `waves` tiles in both products. */
static int64_t blocks_of_waves(const mok_load *l, const mok_choice *c, int64_t waves) {
  const int64_t units = mok_max64(1, c->compute_sms / mok_sms_per_tile(c->m));
  const int64_t up = mok_tile_columns(l->up_columns, c->up_n), down = mok_tile_columns(l->hidden, c->down_n);
  return mok_max64(1, mok_ceil_div(waves * units, mok_min64(up, down)));
}

/* `slack` weighs the products' own time: what the layer is bound by decides, but among plans bound by memory or the wire idle
 * tensor cores are the margin. */
typedef struct rule_of_ties {
  double share, slack;
} rule_of_ties;
static const rule_of_ties within_tile = {0.002, 0.05}, among_tiles = {0.02, 0.2};

static double score(rule_of_ties ties, const mok_cost *cost) { return cost->forward_us + ties.slack * cost->products_us; }

static void keep_better(rule_of_ties ties, const mok_choice *c, const mok_cost *cost, mok_choice *best, mok_cost *best_cost,
                        bool *found) {
  if (*found && score(ties, cost) >= score(ties, best_cost) * (1.0 - ties.share)) return;
  *best = *c;
  *best_cost = *cost;
  *found = true;
}

/* Minibatches of one tile and SM split. */
static void search_minibatch(const mok_model *model, const mok_load *l, const mok_gpu *gpu, const mok_tile_cost *tile,
                             mok_choice *c, mok_choice *best, mok_cost *best_cost, bool *found) {
  const mok_comm_cost comm = mok_comm_cost_of(l, gpu, c);
  if (model->minibatch_rows != MOK_AUTO) {
    c->minibatch_blocks = model->minibatch_rows / c->m;
    if (c->minibatch_blocks % mok_blocks_at_once(c) != 0) return;
    const mok_cost cost = mok_cost_of(l, gpu, c, tile, &comm);
    keep_better(within_tile, c, &cost, best, best_cost, found);
    return;
  }
  const int64_t capacity = mok_capacity_rows(l, c->m, mok_blocks_at_once(c)) / c->m;
  const int64_t least = mok_min64(blocks_of_waves(l, c, model->waves), capacity);
  const int64_t step = mok_max64(1, least / 16);
  if (model->ring_rows != MOK_AUTO) { /* the minibatch divides the ring */
    const int64_t ring = model->ring_rows / c->m;
    for (int64_t count = mok_min64(mok_max64(1, ring / least), MAX_RING_MINIBATCHES); count >= 1; --count) {
      if (ring % count != 0) continue;
      c->minibatch_blocks = ring / count;
      if (c->minibatch_blocks % mok_blocks_at_once(c) != 0) continue;
      const mok_cost cost = mok_cost_of(l, gpu, c, tile, &comm);
      keep_better(within_tile, c, &cost, best, best_cost, found);
    }
    return;
  }
  const int64_t expected = mok_max64(1, tile->blocks);
  for (int64_t i = 0; i < MINIBATCH_STEPS; ++i) {
    const int64_t blocks = mok_round_up(least + i * step, mok_blocks_at_once(c));
    if (blocks > capacity || (i > 0 && blocks >= expected + step)) break;
    c->minibatch_blocks = blocks;
    const mok_cost cost = mok_cost_of(l, gpu, c, tile, &comm);
    keep_better(within_tile, c, &cost, best, best_cost, found);
  }
}

bool mok_search_tile(const mok_model *model, const mok_load *l, const mok_gpu *gpu, const mok_choice *tile, mok_choice *best,
                     mok_cost *best_cost) {
  if (model->minibatch_rows != MOK_AUTO && model->minibatch_rows % tile->m != 0) return false;
  if (model->ring_rows != MOK_AUTO && model->ring_rows % tile->m != 0) return false;
  const int64_t sms = gpu->sms - model->reserved_sms;
  const mok_tile_cost tile_cost = mok_tile_cost_of(l, gpu, tile);
  mok_choice c = *tile;
  bool found = false;
  if (c.comm == MOK_COMM_WARPS || !mok_moves_rows(l, &c)) {
    c.comm_sms = 0;
    c.compute_sms = sms / c.cluster * c.cluster;
    if (c.compute_sms > 0) search_minibatch(model, l, gpu, &tile_cost, &c, best, best_cost, &found);
    return found;
  }
  const bool fixed = model->comm_sms != MOK_AUTO;
  const int64_t first = fixed ? model->comm_sms : c.cluster;
  const int64_t last = fixed ? model->comm_sms : mok_min64(sms - c.cluster, MAX_COMM_SMS);
  double products_before = 0;
  for (int64_t comm = first; comm <= last; comm += c.cluster) {
    c.comm_sms = comm;
    c.compute_sms = (sms - comm) / c.cluster * c.cluster;
    if (comm < 1 || c.compute_sms < 1) continue;
    mok_choice at_split;
    mok_cost at_split_cost;
    bool split_found = false;
    search_minibatch(model, l, gpu, &tile_cost, &c, &at_split, &at_split_cost, &split_found);
    if (!split_found) continue;
    keep_better(within_tile, &at_split, &at_split_cost, best, best_cost, &found);
    /* More communication SMs only lengthen the products from here on. */
    if (at_split_cost.products_us > best_cost->forward_us && at_split_cost.products_us > products_before) break;
    products_before = at_split_cost.products_us;
  }
  return found;
}

bool mok_search(const mok_model *model, const mok_load *l, const mok_gpu *gpu, int64_t comm, int64_t dedup, mok_choice *best,
                mok_cost *best_cost) {
  mok_tile_list list;
  mok_tiles_list(model, l, gpu, comm, &list);
  bool found = false;
  for (size_t i = 0; i < list.count; ++i) {
    mok_choice tile = list.tiles[i], here;
    mok_cost here_cost;
    tile.dedup = dedup;
    tile.readiness = model->readiness != MOK_AUTO ? model->readiness : MOK_READY_TILE;
    if (mok_search_tile(model, l, gpu, &tile, &here, &here_cost))
      keep_better(among_tiles, &here, &here_cost, best, best_cost, &found);
  }
  return found;
}
