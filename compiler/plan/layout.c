/* The memory map: every region of a plan, once. */
#include <string.h>

#include "internal.h"

enum { MAX_REGIONS = 40 };

typedef struct map {
  mok_region *regions;
  size_t count;
  int64_t bytes[MOK_NUM_SPACES];
} map;

static int64_t element_size(const char *element) {
  static const struct {
    const char *name;
    int64_t bytes;
  } sizes[] = {{"bf16", 2}, {"i32", 4}, {"u32", 4}, {"f32", 4}, {"route", 8}, {"byte", 1}, {"e4m3", 1}, {"e8m0", 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
    if (strcmp(sizes[i].name, element) == 0) return sizes[i].bytes;
  return 0;
}

static void add_at(map *to, mok_region region) {
  region.bytes = region.rows * region.columns * element_size(region.element);
  to->regions[to->count++] = region;
  to->bytes[region.space] = mok_max64(to->bytes[region.space], region.offset + region.bytes);
}

static void add(map *to, mok_space space, const char *name, const char *element, int64_t rows, int64_t columns, const char *doc) {
  const int64_t align = space == MOK_SPACE_HEAP ? 128 : 256;
  add_at(to, (mok_region){.name = name,
                          .space = space,
                          .element = element,
                          .rows = rows,
                          .columns = columns,
                          .align = align,
                          .offset = mok_round_up(to->bytes[space], align),
                          .role = "",
                          .doc = doc});
}

/* An operand of a product: its values, and the scales that block formats keep beside them. */
static void add_operand(map *to, const mok_model *m, const char *name, const char *scales, int64_t rows, int64_t columns,
                        const char *doc) {
  switch (m->dtype) {
    case MOK_FP8_BLOCK128:
      add(to, MOK_SPACE_LOCAL, name, "e4m3", rows, columns, doc);
      add(to, MOK_SPACE_LOCAL, scales, "f32", rows, mok_ceil_div(columns, 128), "one scale per 128 columns");
      break;
    case MOK_MXFP8:
      add(to, MOK_SPACE_LOCAL, name, "e4m3", rows, columns, doc);
      add(to, MOK_SPACE_LOCAL, scales, "e8m0", rows, mok_ceil_div(columns, 32), "one scale per 32 columns");
      break;
    default:
      add(to, MOK_SPACE_LOCAL, name, "bf16", rows, columns, doc);
  }
}

static void add_heap(map *to, const mok_model *m) {
  const int64_t routes = m->tokens_per_gpu * m->top_k;
  add(to, MOK_SPACE_HEAP, "flags", "u32", 2 * m->gpus, 32, "one 128-byte line per (rank barrier, peer)");
  if (m->gpus > 1) add(to, MOK_SPACE_HEAP, "x", "bf16", m->tokens_per_gpu, m->hidden, "this rank's tokens, read by peers");
  add(to, MOK_SPACE_HEAP, "route_offsets", "i32", m->experts + 1, 1, "first entry of each expert in route_list");
  add(to, MOK_SPACE_HEAP, "route_list", "i32", routes, 1, "this rank's valid routes, sorted by expert");
  add(to, MOK_SPACE_HEAP, "combine", "bf16", routes, m->hidden, "y of each route, written by the expert's owner");
  if (m->passes & MOK_PASS_BACKWARD && m->gpus > 1)
    add(to, MOK_SPACE_HEAP, "dy", "bf16", m->tokens_per_gpu, m->hidden, "gradient of out, read by peers");
}

static bool moves_rows(const mok_model *m, const mok_choice *c) { return m->gpus > 1 || c->own_rows != MOK_OWN_DIRECT; }

static void add_local(map *to, const mok_model *m, const mok_choice *c, int64_t capacity_rows) {
  const int64_t experts = mok_local_experts_max(m), blocks = capacity_rows / c->m, ring = c->ring_blocks * c->m;
  const bool shared = m->shared_experts > 0, moves = moves_rows(m, c), y = moves && c->comm != MOK_COMM_EPILOGUE;
  const int64_t per_block = 2 + moves + y; /* of h, and who is done with it; x has arrived; y's reader is done with it */
  const int64_t at_once = mok_blocks_at_once(c);
  const int64_t words = per_block * blocks + (shared ? mok_ceil_div(m->tokens_per_gpu, c->m * at_once) * at_once : 0);
  add(to, MOK_SPACE_LOCAL, "control", "u32", 8, 32, "epoch, ticket, exits, grid barrier, abort, error record, spare");
  add(to, MOK_SPACE_LOCAL, "counters", "u32", 2, words, "two sets by epoch parity");
  add(to, MOK_SPACE_LOCAL, "expert_base", "i32", experts + 1, 1, "first padded row of each local expert");
  add(to, MOK_SPACE_LOCAL, "expert_rows", "i32", experts, 1, "real rows of each local expert");
  add(to, MOK_SPACE_LOCAL, "block_expert", "i32", blocks, 1, "local expert and real rows of each row block");
  add(to, MOK_SPACE_LOCAL, "row_source", "route", capacity_rows, 1, "rank and route of each padded row; rank -1: padding");
  if (moves) add_operand(to, m, "ring_x", "ring_x_scales", ring, m->hidden, "dispatched rows");
  add_operand(to, m, "ring_h", "ring_h_scales", ring, m->intermediate, "activations");
  if (y) add(to, MOK_SPACE_LOCAL, "ring_y", "bf16", ring, m->hidden, "expert outputs");
  if (m->passes & MOK_PASS_BACKWARD) {
    add(to, MOK_SPACE_LOCAL, "ring_dy", "bf16", ring, m->hidden, "dispatched gradients of y");
    add(to, MOK_SPACE_LOCAL, "ring_dh", "bf16", ring, mok_up_columns(m), "gradients of gate and up");
    add(to, MOK_SPACE_LOCAL, "ring_dx", "bf16", ring, m->hidden, "gradients of x");
  }
  if (shared) {
    add_operand(to, m, "shared_h", "shared_h_scales", m->tokens_per_gpu, m->shared_intermediate, "shared expert's activations");
    add(to, MOK_SPACE_LOCAL, "shared_y", "bf16", m->tokens_per_gpu, m->hidden, "shared expert's output");
  }
}

static void add_shared(map *to, const mok_model *m, const mok_choice *c) {
  const int64_t element = mok_element_bytes(m);
  const int64_t stage = mok_max64(mok_stage_bytes(c->m, c->up_n, c->k, c->cluster, element),
                                  mok_stage_bytes(c->m, c->down_n, c->k, c->cluster, element));
  const int64_t out_columns = mok_min64(mok_max64(c->up_n, c->down_n), MOK_STAGING_COLUMNS);
  mok_region r = {.space = MOK_SPACE_SHARED, .role = "compute", .align = MOK_SHARED_ALIGN};

  r.name = "pipeline", r.element = "byte", r.rows = c->stages, r.columns = stage, r.doc = "A and B of each stage";
  add_at(to, r);
  r.offset = mok_round_up(r.offset + c->stages * stage, r.align);
  r.name = "staging", r.element = "bf16", r.rows = c->m / mok_sms_per_tile(c->m), r.columns = out_columns + MOK_STAGING_PADDING;
  r.doc = "a tile on its way out, up to 128 columns at a time; 8 of padding";
  add_at(to, r);
  r.align = 128;
  r.offset = mok_round_up(r.offset + r.rows * r.columns * 2, r.align);
  r.name = "barriers", r.element = "byte", r.rows = 2 * c->stages, r.columns = 8, r.doc = "full, then empty, of each stage";
  add_at(to, r);

  const int64_t slots = (c->pull_warps + c->push_warps) * c->warp_slots;
  if (slots > 0) {
    r.role = "comm";
    r.offset = c->comm == MOK_COMM_WARPS ? mok_round_up(to->bytes[MOK_SPACE_SHARED], r.align) : 0;
    r.name = "slots", r.rows = slots, r.columns = c->slot_bytes, r.doc = "pieces of rows on their way; pulling warps first";
    add_at(to, r);
    r.offset = mok_round_up(r.offset + slots * c->slot_bytes, r.align);
    r.name = "slot_barriers", r.columns = 8, r.doc = "one per slot";
    add_at(to, r);
  }

  r.role = "";
  r.offset = mok_round_up(to->bytes[MOK_SPACE_SHARED], r.align);
  r.name = "cta", r.element = "u32", r.rows = 64, r.columns = 1, r.doc = "what one thread tells its CTA";
  add_at(to, r);
}

/* By space, then offset; regions of two roles that start at one place keep the order they were added in. */
static void sort_regions(map *to) {
  for (size_t i = 1; i < to->count; ++i) {
    const mok_region r = to->regions[i];
    size_t at = i;
    for (; at > 0; --at) {
      const mok_region *before = &to->regions[at - 1];
      if (before->space < r.space || (before->space == r.space && before->offset <= r.offset)) break;
      to->regions[at] = *before;
    }
    to->regions[at] = r;
  }
}

static void build(map *to, const mok_model *model, const mok_choice *c, int64_t capacity_rows) {
  add_heap(to, model);
  add_local(to, model, c, capacity_rows);
  add_shared(to, model, c);
  to->bytes[MOK_SPACE_HEAP] = mok_round_up(to->bytes[MOK_SPACE_HEAP], 256);
  to->bytes[MOK_SPACE_LOCAL] = mok_round_up(to->bytes[MOK_SPACE_LOCAL], 256);
}

mok_layout mok_layout_of(mok_arena *arena, const mok_model *model, const mok_choice *c, int64_t capacity_rows) {
  map to = {.regions = MOK_NEW_ARRAY(arena, MAX_REGIONS, mok_region)};
  build(&to, model, c, capacity_rows);
  sort_regions(&to);
  mok_layout layout = {.regions = to.regions, .count = to.count};
  memcpy(layout.bytes, to.bytes, sizeof layout.bytes);
  return layout;
}

int64_t mok_rank_bytes(const mok_model *model, const mok_choice *c, int64_t capacity_rows) {
  mok_region regions[MAX_REGIONS];
  map to = {.regions = regions};
  build(&to, model, c, capacity_rows);
  return to.bytes[MOK_SPACE_HEAP] + to.bytes[MOK_SPACE_LOCAL];
}

/* Rows within the imbalance bound, each with what workload.save keeps and its route. */
int64_t mok_saved_bytes(const mok_model *m, const mok_load *l, int64_t tile_rows) {
  if (!(m->passes & MOK_PASS_BACKWARD)) return 0;
  const double bound = (m->imbalance.present ? m->imbalance.value : 1.0) * (double)l->rows;
  int64_t rows = (int64_t)bound;
  if ((double)rows < bound) ++rows;
  rows = mok_min64(mok_round_up(rows + l->local_experts * (tile_rows - 1), tile_rows), mok_capacity_rows(l, tile_rows, 1));
  int64_t columns = 0;
  if (m->save != MOK_SAVE_NONE) columns += m->hidden;
  if (m->save == MOK_SAVE_ALL) columns += l->up_columns + m->intermediate;
  return rows * (columns * 2 + 8);
}

const mok_region *mok_layout_find(const mok_layout *layout, const char *name) {
  for (size_t i = 0; i < layout->count; ++i)
    if (strcmp(layout->regions[i].name, name) == 0) return &layout->regions[i];
  return NULL;
}

const char *mok_space_name(mok_space space) {
  static const char *const names[MOK_NUM_SPACES] = {"heap", "local", "shared"};
  return names[space];
}
