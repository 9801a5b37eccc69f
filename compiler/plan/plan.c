/* Entry of the planner: load, search, ring, memory, numbers, reasons. */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>

#include "internal.h"

const mok_plan_info mok_plan_fields[MOK_NUM_PLAN] = {
#define MOK_PLAN(group_, sub_, key_, name_, kind_, unit_, doc_) \
  {.group = group_,                                             \
   .sub = sub_,                                                 \
   .key = key_,                                                 \
   .name = #name_,                                              \
   .kind = MOK_PK_##kind_,                                      \
   .unit = unit_,                                               \
   .doc = doc_,                                                 \
   .offset = offsetof(mok_plan, name_)},
#include "plan_fields.def"
#undef MOK_PLAN
};

/* Rows that fill two waves of 128x256 tiles on every SM in both products. */
static int64_t two_wave_rows(const mok_load *l, int64_t sms) {
  return mok_ceil_div(2 * sms * 128 * 256, mok_min64(l->up_columns, l->hidden));
}

static double round3(double us) { return (double)(int64_t)(us * 1000.0 + 0.5) / 1000.0; }

static int64_t rank_bytes(const mok_layout *layout) { return layout->bytes[MOK_SPACE_HEAP] + layout->bytes[MOK_SPACE_LOCAL]; }

/* Bytes of one rank with a ring of `minibatches`. */
static int64_t bytes_with(const mok_model *model, mok_choice c, int64_t minibatches) {
  const mok_load load = mok_load_of(model);
  c.ring_blocks = minibatches * c.minibatch_blocks;
  return mok_rank_bytes(model, &c, mok_capacity_rows(&load, c.m, mok_blocks_at_once(&c)));
}

/* Sets the ring. Returns the minibatches wanted before capacity and memory cut them. */
static int64_t choose_ring(const mok_model *model, const mok_load *l, const mok_gpu *gpu, mok_choice *c) {
  if (model->ring_rows != MOK_AUTO) {
    c->ring_blocks = model->ring_rows / c->m;
    return c->ring_blocks / c->minibatch_blocks;
  }
  const int64_t most = mok_moves_rows(l, c) ? MOK_RING_MINIBATCHES : MOK_PRODUCT_MINIBATCHES;
  const int64_t needed = mok_ceil_div(mok_capacity_rows(l, c->m, mok_blocks_at_once(c)) / c->m, c->minibatch_blocks);
  int64_t minibatches = mok_min64(most, needed);
  const int64_t free_bytes = gpu->memory_bytes - (l->weight_bytes < gpu->memory_bytes ? l->weight_bytes : 0);
  while (minibatches > 1 && bytes_with(model, *c, minibatches) > free_bytes) --minibatches;
  c->ring_blocks = minibatches * c->minibatch_blocks;
  return mok_min64(most, needed);
}

/* Largest token count whose workspace fits, -1: none. */
static int64_t tokens_that_fit(const mok_model *model, const mok_choice *c, int64_t budget) {
  mok_model probe = *model;
  const int64_t minibatches = c->ring_blocks / c->minibatch_blocks;
  int64_t low = -1, high = model->tokens_per_gpu;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    probe.tokens_per_gpu = middle;
    if (bytes_with(&probe, *c, minibatches) <= budget) low = middle;
    else high = middle;
  }
  return low;
}

static mok_status refuse_memory(mok_arena *arena, mok_diag *diag, const mok_model *model, const mok_gpu *gpu, const mok_choice *c,
                                const mok_layout *layout) {
  const int64_t bytes = rank_bytes(layout), fit = tokens_that_fit(model, c, gpu->memory_bytes);
  const mok_field_id at = fit < 0 && model->ring_rows != MOK_AUTO        ? MOK_FIELD_ring_rows
                          : fit < 0 && model->minibatch_rows != MOK_AUTO ? MOK_FIELD_minibatch_rows
                                                                         : MOK_FIELD_tokens_per_gpu;
  const char *hint = fit >= 0 ? mok_arena_printf(arena, "tokens_per_gpu up to %" PRId64 " would fit beside nothing else", fit)
                              : "the rings alone are larger than the GPU: a smaller minibatch_rows and ring_rows would fit";
  mok_diag_report(diag, MOK_SEVERITY_ERROR, model->loc[at], hint,
                  "no plan fits the memory of %s: one rank needs %s (%s symmetric, %s local) of %s, %s too much", gpu->name,
                  mok_bytes_text(arena, bytes), mok_bytes_text(arena, layout->bytes[MOK_SPACE_HEAP]),
                  mok_bytes_text(arena, layout->bytes[MOK_SPACE_LOCAL]), mok_bytes_text(arena, gpu->memory_bytes),
                  mok_bytes_text(arena, bytes - gpu->memory_bytes));
  return mok_diag_status(diag, MOK_ERR_NO_PLAN);
}

/* Predictions of what was not chosen, for the reasons: the same tile where the tile is not the question. */
static mok_alternatives price_others(const mok_model *model, const mok_load *l, const mok_gpu *gpu, const mok_choice *chosen,
                                     const mok_cost *cost) {
  mok_alternatives other = {0};
  mok_choice c;
  mok_cost r;
  for (int64_t comm = 0; comm < 3; ++comm) {
    mok_tile_list list;
    if (comm == chosen->comm || !mok_moves_rows(l, chosen)) {
      other.forward_us[comm] = cost->forward_us;
      continue;
    }
    mok_model moved = *model;
    moved.comm_sms = MOK_AUTO;
    moved.own_rows = chosen->own_rows;
    moved.tile_m = chosen->m;
    mok_tiles_list(&moved, l, gpu, comm, &list);
    for (size_t i = 0; i < list.count; ++i) {
      mok_choice tile = list.tiles[i];
      if (tile.up_n != chosen->up_n || tile.down_n != chosen->down_n) continue;
      tile.dedup = chosen->dedup;
      tile.readiness = chosen->readiness;
      if (!mok_search_tile(&moved, l, gpu, &tile, &c, &r)) continue;
      if (other.forward_us[comm] <= 0 || r.forward_us < other.forward_us[comm]) other.forward_us[comm] = r.forward_us;
    }
  }
  mok_choice tile = *chosen;
  tile.dedup = !chosen->dedup;
  other.dedup_us[chosen->dedup] = cost->forward_us;
  if (mok_search_tile(model, l, gpu, &tile, &c, &r)) other.dedup_us[tile.dedup] = r.forward_us;

  mok_model movers = *model;
  movers.comm_sms = MOK_AUTO;
  tile = *chosen;
  tile.own_rows = !chosen->own_rows;
  mok_roles_of(&tile, l, gpu);
  other.own_rows_us[chosen->own_rows] = cost->forward_us;
  if (mok_search_tile(&movers, l, gpu, &tile, &c, &r)) other.own_rows_us[tile.own_rows] = r.forward_us;

  tile = *chosen;
  if (model->cluster == MOK_AUTO && model->comm_sms == MOK_AUTO && gpu->mma != MOK_MMA_HOST &&
      gpu->sms - model->reserved_sms >= 4) {
    tile.cluster = 3 - chosen->cluster;
    if (gpu->mma == MOK_MMA_TCGEN05 && chosen->m == 128 && model->tile_m == MOK_AUTO) tile.m = 256;
    mok_roles_of(&tile, l, gpu);
    if (tile.m == chosen->m || tile.cluster == 2)
      if (mok_search_tile(model, l, gpu, &tile, &c, &r)) other.cluster_us = r.forward_us;
  }
  return other;
}

/* Rows of one task: the more the cheaper to signal, but every warp that moves rows gets four tasks of a minibatch. */
static int64_t choose_dispatch_rows(const mok_choice *c) {
  if (c->pull_warps == 0) return 0;
  const int64_t warps = mok_max64(1, (c->comm == MOK_COMM_WARPS ? c->compute_sms : c->comm_sms) * c->pull_warps);
  int64_t rows = 32;
  while (rows > 4 && c->minibatch_blocks * c->m / rows < 4 * warps) rows /= 2;
  return rows;
}

static int64_t idle_permille(const mok_load *l, const mok_choice *c) {
  const int64_t units = mok_max64(1, c->compute_sms / mok_sms_per_tile(c->m));
  const int64_t blocks = mok_min64(c->minibatch_blocks, mok_max64(1, mok_padded_rows(l, c->m) / c->m));
  const int64_t up = blocks * mok_tile_columns(l->up_columns, c->up_n), down = blocks * mok_tile_columns(l->hidden, c->down_n);
  const double up_work = (double)c->up_n * (double)mok_round_up(l->hidden, c->k);
  const double down_work = (double)c->down_n * (double)mok_round_up(l->intermediate, c->k);
  const double held =
      (double)(mok_ceil_div(up, units) * units) * up_work + (double)(mok_ceil_div(down, units) * units) * down_work;
  return (int64_t)(1000.0 * (1.0 - ((double)up * up_work + (double)down * down_work) / held) + 0.5);
}

static void fill(mok_plan *p, const mok_model *model, const mok_load *l, const mok_choice *c, const mok_cost *cost) {
  const int64_t units = mok_max64(1, c->compute_sms / mok_sms_per_tile(c->m));
  p->sms_total = p->gpu.sms;
  p->sms_comm = c->comm_sms;
  p->sms_compute = c->compute_sms;
  p->sms_reserved = p->gpu.sms - c->comm_sms - c->compute_sms;
  p->grid = c->comm_sms + c->compute_sms;
  p->threads = c->threads;
  p->warps = c->threads / 32;
  p->cluster = c->cluster;
  p->gate_up_m = p->down_m = c->m;
  p->gate_up_n = c->up_n;
  p->down_n = c->down_n;
  p->gate_up_k = p->down_k = c->k;
  p->gate_up_stages = p->down_stages = c->stages;
  p->two_wave_rows = two_wave_rows(l, p->gpu.sms);
  p->minibatch_rows = c->minibatch_blocks * c->m;
  p->waves_gate_up = mok_ceil_div(c->minibatch_blocks * mok_tile_columns(l->up_columns, c->up_n), units);
  p->waves_down = mok_ceil_div(c->minibatch_blocks * mok_tile_columns(l->hidden, c->down_n), units);
  p->idle_permille = idle_permille(l, c);
  p->ring_rows = c->ring_blocks * c->m;
  p->ring_slots = c->ring_blocks;
  p->capacity_rows = mok_capacity_rows(l, c->m, mok_blocks_at_once(c));
  p->row_padding = c->m;
  p->expected_rows = l->rows;
  p->padded_rows = mok_padded_rows(l, c->m);
  p->symmetric_bytes = p->layout.bytes[MOK_SPACE_HEAP];
  p->local_bytes = p->layout.bytes[MOK_SPACE_LOCAL];
  p->saved_bytes = mok_saved_bytes(model, l, c->m);
  p->weight_bytes = l->weight_bytes;
  p->shared_bytes_per_cta = p->layout.bytes[MOK_SPACE_SHARED];
  static const char *const rings[] = {"ring_x", "ring_x_scales", "ring_h", "ring_h_scales", "ring_y"};
  for (size_t i = 0; i < sizeof rings / sizeof rings[0]; ++i) {
    const mok_region *ring = mok_layout_find(&p->layout, rings[i]);
    if (ring) p->ring_bytes += ring->bytes;
  }
  const double share = mok_wire_share(l, c->dedup);
  p->dispatch_bytes = p->combine_bytes = (int64_t)((double)(l->remote_rows * l->row_bytes) * share);
  p->local_copy_bytes = c->own_rows == MOK_OWN_DIRECT ? 0 : 2 * l->local_rows * l->row_bytes;
  p->comm = c->comm;
  p->own_rows = c->own_rows;
  p->readiness = c->readiness;
  p->wire_dedup = c->dedup;
  p->dispatch_rows = choose_dispatch_rows(c);
  p->pull_warps = c->pull_warps;
  p->push_warps = c->push_warps;
  p->slot_bytes = c->slot_bytes;
  p->warp_slots = c->warp_slots;
  p->forward_us = round3(cost->forward_us);
  p->backward_us = model->passes & MOK_PASS_BACKWARD ? round3(mok_backward_us(model, l, cost)) : 0.0;
  p->products_us = round3(cost->products_us);
  p->wire_us = round3(cost->wire_us);
  p->memory_us = round3(cost->memory_us);
  p->exposed_us = round3(cost->exposed_us);
  p->roofline_us =
      round3(mok_max_us(mok_products_floor_us(l, &p->gpu), mok_max_us(cost->wire_us, mok_memory_floor_us(l, &p->gpu))));
}

/* The best of the placements that kernels are built for; on equal terms communication SMs, which take nothing from the
 * products. */
static bool search_placements(const mok_model *model, const mok_load *l, const mok_gpu *gpu, int64_t dedup, mok_choice *best,
                              mok_cost *best_cost) {
  if (model->comm != MOK_AUTO) return mok_search(model, l, gpu, model->comm, dedup, best, best_cost);
  static const int64_t placements[] = {MOK_COMM_SMS, MOK_COMM_EPILOGUE};
  bool found = false;
  for (size_t i = 0; i < sizeof placements / sizeof placements[0]; ++i) {
    mok_choice c;
    mok_cost cost;
    if (!mok_search(model, l, gpu, placements[i], dedup, &c, &cost)) continue;
    if (found && (!mok_moves_rows(l, &c) || cost.forward_us >= 0.99 * best_cost->forward_us)) continue;
    *best = c;
    *best_cost = cost;
    found = true;
  }
  return found;
}

mok_status mok_plan_make(mok_arena *arena, mok_diag *diag, const mok_model *model, const mok_gpu *gpu, const mok_plan **out) {
  *out = NULL;
  mok_plan *p = MOK_NEW(arena, mok_plan);
  p->model = model;
  p->gpu = *gpu;
  if (model->gpu.sms != MOK_AUTO) p->gpu.sms = model->gpu.sms;
  const mok_load load = mok_load_of(model);

  const int errors = mok_diag_errors(diag);
  mok_schedule_check(model, &load, &p->gpu, diag);
  if (mok_diag_errors(diag) > errors) return mok_diag_status(diag, MOK_ERR_NO_PLAN);

  const int64_t dedup = model->wire_dedup != MOK_AUTO ? model->wire_dedup : 0;
  mok_choice c;
  mok_cost cost;
  if (!search_placements(model, &load, &p->gpu, dedup, &c, &cost)) {
    mok_diag_report(diag, MOK_SEVERITY_ERROR, model->loc[MOK_FIELD_gpu], "leave tile_m, tile_n and stages to the planner",
                    "no tile fits the %" PRId64 " bytes of shared memory of %s with this schedule", p->gpu.shared_bytes_per_block,
                    p->gpu.name);
    return mok_diag_status(diag, MOK_ERR_NO_PLAN);
  }
  const int64_t ring_wanted = choose_ring(model, &load, &p->gpu, &c);
  p->layout = mok_layout_of(arena, model, &c, mok_capacity_rows(&load, c.m, mok_blocks_at_once(&c)));
  if (rank_bytes(&p->layout) > p->gpu.memory_bytes) return refuse_memory(arena, diag, model, &p->gpu, &c, &p->layout);

  fill(p, model, &load, &c, &cost);
  mok_alternatives other = price_others(model, &load, &p->gpu, &c, &cost);
  other.ring_wanted = ring_wanted;
  mok_reasons(arena, p, &load, &c, &cost, &other);
  mok_warnings(arena, p, &load, &cost, &other);
  MOK_TRY_CTX(mok_plan_verify(arena, p), "checking the plan of %s", model->name);
  *out = p;
  return MOK_OK;
}
