/* The reason of every number. */
#include <inttypes.h>

#include "internal.h"

#define D PRId64
#define WHY(field, ...) p->why[MOK_PLAN_##field] = mok_arena_printf(arena, __VA_ARGS__)

const char *mok_bytes_text(mok_arena *arena, int64_t bytes) {
  static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  if (bytes < 10000) return mok_arena_printf(arena, "%" D " B", bytes);
  int64_t scale = 1;
  size_t unit = 0;
  while (unit < 5 && bytes / scale >= 1000) {
    scale *= 1000;
    ++unit;
  }
  int64_t hundredths = (int64_t)((double)bytes * 100.0 / (double)scale + 0.5);
  if (hundredths >= 100000 && unit < 5) {
    hundredths = 100;
    ++unit;
  }
  if (hundredths >= 10000) return mok_arena_printf(arena, "%" D " %s", (hundredths + 50) / 100, units[unit]);
  if (hundredths >= 1000)
    return mok_arena_printf(arena, "%" D ".%" D " %s", hundredths / 100, hundredths % 100 / 10, units[unit]);
  return mok_arena_printf(arena, "%" D ".%02" D " %s", hundredths / 100, hundredths % 100, units[unit]);
}

const char *mok_decimal(mok_arena *arena, double value, int digits) {
  int64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const int64_t scaled = (int64_t)(value * (double)scale + (value < 0 ? -0.5 : 0.5)), whole = scaled / scale;
  const int64_t rest = scaled < 0 ? -(scaled % scale) : scaled % scale;
  if (digits == 0) return mok_arena_printf(arena, "%" D, whole);
  return mok_arena_printf(arena, "%s%" D ".%0*" D, scaled < 0 && whole == 0 ? "-" : "", whole, digits, rest);
}

const char *mok_short_text(mok_arena *arena, double value) {
  return mok_decimal(arena, value, value < 1 ? 2 : value < 100 ? 1 : 0);
}

/* "fixed by schedule.<key>" for what the user fixed, else the planner's own reason. */
#define CHOSEN(field, model_field, ...) \
  p->why[MOK_PLAN_##field] = m->model_field != MOK_AUTO ? "fixed by schedule." #model_field : mok_arena_printf(arena, __VA_ARGS__)

static double percent(double part, double whole) { return whole > 0 ? 100.0 * part / whole : 0.0; }

static void reasons_of_sms(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_choice *c, const mok_cost *cost) {
  const mok_model *m = p->model;
  if (m->gpu.sms != MOK_AUTO) WHY(sms_total, "topology.gpu overrides the row's count");
  else WHY(sms_total, "row %s", p->gpu.name);
  const double rows_bytes = (double)mok_moved_rows(l, c) * (double)l->row_bytes;
  if (!mok_moves_rows(l, c)) WHY(sms_comm, "none: nothing to move");
  else if (c->comm == MOK_COMM_WARPS) WHY(sms_comm, "none: comm = \"warps\" moves rows in the compute CTAs");
  else if (m->comm_sms != MOK_AUTO) WHY(sms_comm, "fixed by schedule.comm_sms");
  else
    WHY(sms_comm, "need %s GB/s of rows %s; these take %s us of the products' %s, margin included",
        mok_short_text(arena, cost->products_us > 0 ? rows_bytes / cost->products_us / 1e3 : 0.0),
        c->comm == MOK_COMM_EPILOGUE ? "in" : "each way", mok_short_text(arena, cost->comm_us),
        mok_short_text(arena, cost->products_us));
  WHY(sms_compute, "all%s%s", c->comm_sms > 0 ? " others" : "", c->cluster == 2 ? ", in pairs" : "");
  if (p->sms_reserved > m->reserved_sms) WHY(sms_reserved, "schedule.reserved_sms, and what no pair could use");
  else WHY(sms_reserved, "schedule.reserved_sms");
  WHY(grid, "one CTA per SM, all co-resident");
  WHY(threads, "one loading warpgroup and one per 64 rows of a CTA's tile");
  WHY(warps, "threads / 32");
}

static void reasons_of_tiles(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_choice *c, const mok_cost *cost,
                             const mok_alternatives *other) {
  const mok_model *m = p->model;
  const double up_ideal = (double)l->up_columns, down_ideal = (double)l->hidden;
  const int64_t up = mok_tile_columns(l->up_columns, c->up_n), down = mok_tile_columns(l->hidden, c->down_n);
  if (m->cluster != MOK_AUTO) WHY(cluster, "fixed by schedule.cluster");
  else if (c->m > 128) WHY(cluster, "two SMs share a 256-row tile");
  else if (c->cluster == 2 && other->cluster_us > 0)
    WHY(cluster, "pairs multicast weights to each other: predicted %s us, single CTAs %s",
        mok_short_text(arena, cost->forward_us), mok_short_text(arena, other->cluster_us));
  else if (c->cluster == 2) WHY(cluster, "pairs multicast weights to each other");
  else if (other->cluster_us > 0 && other->cluster_us < 0.98 * cost->forward_us && mok_pairs_problem(m, &p->gpu))
    WHY(cluster, "pairs of CTAs are predicted at %s us against %s, but %s", mok_short_text(arena, other->cluster_us),
        mok_short_text(arena, cost->forward_us), mok_pairs_problem(m, &p->gpu));
  else WHY(cluster, "pairs of CTAs would not pay by 2 %%");
  const double pad = p->expected_rows > 0 ? (double)p->padded_rows / (double)p->expected_rows : 1.0;
  CHOSEN(gate_up_m, tile_m, "%s rows an expert, %s with padding for each real one; best predicted of 64 and 128",
         mok_short_text(arena, (double)l->rows / (double)l->local_experts), mok_decimal(arena, pad, 2));
  CHOSEN(down_m, tile_m, "that of the up tile: one row block is one unit of both products");
  CHOSEN(gate_up_n, tile_n, "%" D " tiles across %" D " columns, %s %% beyond the edge; %s us a tile", up, l->up_columns,
         mok_decimal(arena, percent((double)(up * c->up_n) - up_ideal, up_ideal), 1), mok_decimal(arena, cost->up_tile_us, 1));
  CHOSEN(down_n, tile_n, "%" D " tiles across %" D " columns, %s %% beyond the edge; %s us a tile", down, l->hidden,
         mok_decimal(arena, percent((double)(down * c->down_n) - down_ideal, down_ideal), 1),
         mok_decimal(arena, cost->down_tile_us, 1));
  WHY(gate_up_k, "one 128-byte swizzled row of the operand");
  WHY(down_k, "one 128-byte swizzled row of the operand");
  const int64_t stage = mok_max64(mok_stage_bytes(c->m, c->up_n, c->k, c->cluster, l->element_bytes),
                                  mok_stage_bytes(c->m, c->down_n, c->k, c->cluster, l->element_bytes));
  const int64_t fit = mok_stages_that_fit(c, l, &p->gpu);
  if (m->stages != MOK_AUTO) WHY(gate_up_stages, "fixed by schedule.stages; %" D " would fit", fit);
  else
    WHY(gate_up_stages, "%" D " of %" D " B%s in %" D " B beside the outgoing tile", c->stages, stage,
        fit > c->stages ? ", enough to hide latency," : ", all that fit", p->gpu.shared_bytes_per_block);
  WHY(down_stages, "that of the up tile: both products share the pipeline");
}

static void reasons_of_rows(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_choice *c,
                            const mok_alternatives *other) {
  const mok_model *m = p->model;
  const int64_t up = mok_tile_columns(l->up_columns, c->up_n), down = mok_tile_columns(l->hidden, c->down_n);
  const int64_t units = mok_max64(1, c->compute_sms / mok_sms_per_tile(c->m));
  const double up_waves = (double)(c->minibatch_blocks * up) / (double)units;
  const double down_waves = (double)(c->minibatch_blocks * down) / (double)units;
  const int64_t minibatches = mok_ceil_div(p->padded_rows, p->minibatch_rows);
  WHY(two_wave_rows, "ceil(2 x %" D " SMs x 128 x 256 / min(%" D ", %" D "))", p->gpu.sms, l->up_columns, l->hidden);
  if (m->minibatch_rows != MOK_AUTO)
    WHY(minibatch_rows, "fixed by schedule.minibatch_rows; %" D " of them expected", minibatches);
  else if (up_waves < (double)m->waves || down_waves < (double)m->waves)
    WHY(minibatch_rows, "all rows there can be: too few for %" D " waves", m->waves);
  else
    WHY(minibatch_rows, "%" D " waves or more in both products; %" D " minibatch%s expected; larger ones overlap less", m->waves,
        minibatches, minibatches == 1 ? "" : "es");
  WHY(waves_gate_up, "%" D " tiles on %" D " SMs: %s", c->minibatch_blocks * up, c->compute_sms, mok_decimal(arena, up_waves, 2));
  WHY(waves_down, "%" D " tiles on %" D " SMs: %s", c->minibatch_blocks * down, c->compute_sms,
      mok_decimal(arena, down_waves, 2));
  WHY(idle_permille, "last wave of each product, weighted by tile time%s",
      mok_fills_waves(p) ? "; tiles of the minibatch beside it fill it" : "");

  const bool moves = mok_moves_rows(l, c);
  const int64_t ring = p->ring_rows / p->minibatch_rows, laps = mok_ceil_div(p->capacity_rows, p->ring_rows);
  if (m->ring_rows != MOK_AUTO)
    WHY(ring_rows, "fixed by schedule.ring_rows: %" D " minibatch%s, up to %" D " laps", ring, ring == 1 ? "" : "es", laps);
  else if (ring < other->ring_wanted)
    WHY(ring_rows, "%" D " minibatch%s: memory has no room for %" D, ring, ring == 1 ? "" : "es", other->ring_wanted);
  else if (ring < (moves ? MOK_RING_MINIBATCHES : MOK_PRODUCT_MINIBATCHES))
    WHY(ring_rows, "%" D " minibatch%s hold%s all rows there can be: never a second lap", ring, ring == 1 ? "" : "es",
        ring == 1 ? "s" : "");
  else if (!moves) WHY(ring_rows, "%" D " minibatches: one that is filled, one that waits its turn, one that is read", ring);
  else
    WHY(ring_rows, "%" D " minibatches; 2 would stall dispatch behind %s", ring,
        c->comm == MOK_COMM_EPILOGUE ? "the down product" : "combine");
  WHY(ring_slots, "one row block of %" D " rows each; worst case %" D " lap%s", c->m, laps, laps == 1 ? "" : "s");
  WHY(ring_bytes, "%" D " rows of %s", p->ring_rows, !moves ? "h" : c->comm == MOK_COMM_EPILOGUE ? "x, h" : "x, h and y");
  WHY(capacity_rows, "every route of %" D " rank%s on one, %" D " x %" D " x %" D ", and padding: never a dropped route",
      l->ranks, l->ranks == 1 ? "" : "s", l->ranks, l->tokens, l->top_k);
  WHY(row_padding, "the row tile: a block belongs to one expert");
  WHY(expected_rows, "%" D " tokens x %" D " x %" D " rank%s over %" D " experts, %" D " of them here", l->tokens, l->top_k,
      l->ranks, l->ranks == 1 ? "" : "s", l->experts, l->local_experts);
  WHY(padded_rows, "about half a tile for each expert that gets rows");
}

static void reasons_of_memory(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_choice *c) {
  const mok_model *m = p->model;
  const mok_region *combine = mok_layout_find(&p->layout, "combine");
  WHY(symmetric_bytes, "%s; %s of it the combine slots", mok_bytes_text(arena, p->symmetric_bytes),
      mok_bytes_text(arena, combine->bytes));
  WHY(local_bytes, "%s; %s of it the rings", mok_bytes_text(arena, p->local_bytes), mok_bytes_text(arena, p->ring_bytes));
  static const char *const saved[] = {"x, gate, up and h of each row", "x of each row", "only the route of each row"};
  if (p->saved_bytes > 0)
    WHY(saved_bytes, "%s: %s, up to %s times the balanced rows", mok_bytes_text(arena, p->saved_bytes), saved[m->save],
        mok_decimal(arena, m->imbalance.present ? m->imbalance.value : 1.0, 2));
  else WHY(saved_bytes, "no backward pass asked for");
  WHY(weight_bytes, "%s; %" D " experts%s; the caller's", mok_bytes_text(arena, p->weight_bytes), l->local_experts,
      l->shared > 0 ? " and the shared one" : "");
  WHY(shared_bytes_per_cta, "of %" D "; %s", p->gpu.shared_bytes_per_block,
      !mok_moves_rows(l, c)       ? "stages and outgoing tile"
      : c->comm == MOK_COMM_WARPS ? "stages, outgoing tile and slots together"
                                  : "the larger of the two roles");
}

static void reasons_of_comm(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_choice *c,
                            const mok_alternatives *other) {
  const mok_model *m = p->model;
  static const char *const words[] = {"sms", "warps", "epilogue"};
  if (l->ranks == 1) {
    WHY(dispatch_bytes, "one rank: nothing on the wire");
    WHY(combine_bytes, "one rank: nothing on the wire");
  } else {
    WHY(dispatch_bytes, "%s: %" D " of %" D " rows come from peers", mok_bytes_text(arena, p->dispatch_bytes), l->remote_rows,
        l->rows);
    WHY(combine_bytes, "%s: the same rows back", mok_bytes_text(arena, p->combine_bytes));
  }
  if (c->own_rows == MOK_OWN_DIRECT) WHY(local_copy_bytes, "its own rows are read from x and written to their slots");
  else WHY(local_copy_bytes, "%s: %" D " rows of its own, in and out", mok_bytes_text(arena, p->local_copy_bytes), l->local_rows);
  if (m->own_rows != MOK_AUTO) WHY(own_rows, "fixed by schedule.own_rows");
  else if (m->dtype != MOK_BF16) WHY(own_rows, "rows are converted to the products' type on their way");
  else if (m->passes & MOK_PASS_BACKWARD) WHY(own_rows, "the backward pass needs the dispatched rows");
  else if (c->comm == MOK_COMM_WARPS) WHY(own_rows, "the loading warps move rows");
  else if (c->own_rows == MOK_OWN_COPY && l->ranks == 1 && m->comm_sms != MOK_AUTO)
    WHY(own_rows, "schedule.comm_sms is there to copy them");
  else
    WHY(own_rows, "predicted %s us, \"%s\" %s%s", mok_short_text(arena, other->own_rows_us[c->own_rows]),
        c->own_rows == MOK_OWN_DIRECT ? "copy" : "direct", mok_short_text(arena, other->own_rows_us[!c->own_rows]),
        l->ranks > 1 ? "; of several ranks unmeasured, so only on request" : "");
  if (m->comm != MOK_AUTO) {
    WHY(comm, "fixed by schedule.comm");
  } else if (!mok_moves_rows(l, c)) {
    WHY(comm, "nothing to move");
  } else {
    mok_buf text = mok_buf_make(arena);
    const double mine = other->forward_us[c->comm];
    bool better[3] = {false};
    mok_buf_printf(&text, "predicted %s us", mok_short_text(arena, mine));
    for (int i = 0; i < 3; ++i) {
      if (i == c->comm || other->forward_us[i] <= 0) continue;
      mok_buf_printf(&text, ", \"%s\" %s", words[i], mok_short_text(arena, other->forward_us[i]));
      better[i] = other->forward_us[i] < 0.98 * mine;
    }
    if (better[MOK_COMM_WARPS]) mok_buf_puts(&text, "; \"warps\" is not in this version");
    p->why[MOK_PLAN_comm] = text.data;
  }
  CHOSEN(readiness, readiness, "a tile waits for its own row block, not for its minibatch");
  if (m->wire_dedup != MOK_AUTO) {
    WHY(wire_dedup, "fixed by schedule.wire_dedup; predicted %s us off, %s on", mok_short_text(arena, other->dedup_us[0]),
        mok_short_text(arena, other->dedup_us[1]));
  } else if (l->ranks == 1) {
    WHY(wire_dedup, "one rank: nothing on the wire");
  } else {
    const double share = mok_wire_share(l, 1);
    const bool pays = other->dedup_us[1] > 0 && other->dedup_us[1] < 0.98 * other->dedup_us[0];
    WHY(wire_dedup, "on would send %.0f %% of the rows: predicted %s us, off %s%s", 100.0 * share,
        mok_short_text(arena, other->dedup_us[1]), mok_short_text(arena, other->dedup_us[0]),
        pays ? "; this version builds off only" : "");
  }
  if (!mok_moves_rows(l, c)) {
    static const mok_plan_id none[] = {MOK_PLAN_dispatch_rows, MOK_PLAN_pull_warps, MOK_PLAN_push_warps, MOK_PLAN_slot_bytes,
                                       MOK_PLAN_warp_slots};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i) p->why[none[i]] = "nothing to move";
    return;
  }
  const int64_t tasks = p->minibatch_rows / p->dispatch_rows;
  WHY(dispatch_rows, "%" D " tasks a minibatch for %" D " pulling warps", tasks,
      (c->comm == MOK_COMM_WARPS ? c->compute_sms : c->comm_sms) * c->pull_warps);
  static const char *const pulls[] = {"half of a CTA's warps", "idle warps of the loading warpgroup", "all warps of a CTA"};
  static const char *const pushes[] = {"the other half", "idle warps of the loading warpgroup",
                                       "none: the epilogue stores to peers"};
  WHY(pull_warps, "%s: several issuers fill the link with the fewest SMs", pulls[c->comm]);
  WHY(push_warps, "%s", pushes[c->comm]);
  const int64_t pieces = mok_ceil_div(l->row_bytes, c->slot_bytes);
  if (pieces == 1) WHY(slot_bytes, "a whole row");
  else WHY(slot_bytes, "a row of %" D " B in %" D " pieces of at most %d B", l->row_bytes, pieces, MOK_SLOT_LIMIT);
  WHY(warp_slots, "%" D " B in flight in one CTA", (c->pull_warps + c->push_warps) * c->warp_slots * c->slot_bytes);
}

static void reasons_of_times(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_cost *cost) {
  const mok_model *m = p->model;
  const double floor_us = mok_products_floor_us(l, &p->gpu), memory_floor = mok_memory_floor_us(l, &p->gpu);
  const char *limit = cost->products_us >= cost->comm_us && cost->products_us >= cost->memory_us ? "the products"
                      : cost->comm_us >= cost->memory_us                                         ? "moving rows"
                                                                                                 : "the memory";
  WHY(forward_us, "limited by %s; %.0f %% of the roofline", limit,
      p->forward_us > 0 ? percent(p->roofline_us, p->forward_us) : 0.0);
  if (!(m->passes & MOK_PASS_BACKWARD)) WHY(backward_us, "no backward pass asked for");
  else
    WHY(backward_us, "two gradients of each product%s", m->save == MOK_SAVE_ALL ? "" : ", and what forward did not save again");
  WHY(roofline_us, "%s",
      floor_us >= cost->wire_us && floor_us >= memory_floor ? "the products without padding, at peak"
      : cost->wire_us >= memory_floor                       ? "the wire"
                                                            : "the memory");
  WHY(products_us, "%.0f %% of %s TFLOP/s on all SMs", percent(floor_us, cost->products_us),
      mok_short_text(arena, l->element_bytes == 2 ? p->gpu.bf16_tflops : p->gpu.fp8_tflops));
  if (l->ranks == 1) WHY(wire_us, "one rank: nothing on the wire");
  else WHY(wire_us, "dispatch and combine of one direction at %.0f GB/s", p->gpu.link_gbs);
  WHY(memory_us, "at %.0f GB/s; each minibatch reads its experts' weights again", p->gpu.memory_gbs);
  WHY(exposed_us, "launch %s, routing %s, first dispatch %s, last combine %s, reduce %s", mok_short_text(arena, cost->launch_us),
      mok_short_text(arena, cost->route_us), mok_short_text(arena, cost->first_us), mok_short_text(arena, cost->last_us),
      mok_short_text(arena, cost->reduce_us));
}

void mok_reasons(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_choice *c, const mok_cost *cost,
                 const mok_alternatives *other) {
  reasons_of_sms(arena, p, l, c, cost);
  reasons_of_tiles(arena, p, l, c, cost, other);
  reasons_of_rows(arena, p, l, c, other);
  reasons_of_memory(arena, p, l, c);
  reasons_of_comm(arena, p, l, c, other);
  reasons_of_times(arena, p, l, cost);
}
