/* Tiles inside the shared-memory budget, and the roles that follow from them. */
#include <string.h>

#include "internal.h"

int64_t mok_tile_columns(int64_t columns, int64_t n) { return mok_ceil_div(columns, n); }

/* A pair of SMs works on one 256-row tile, each on half of its rows. */
int64_t mok_sms_per_tile(int64_t m) { return m > 128 ? 2 : 1; }

int64_t mok_stage_bytes(int64_t m, int64_t n, int64_t k, int64_t cluster, int64_t element_bytes) {
  const int64_t pair = mok_sms_per_tile(m);
  (void)cluster; /* a multicast operand arrives whole in both CTAs */
  return (m / pair + n / pair) * k * element_bytes;
}

static int64_t cta_rows(const mok_choice *c) { return c->m / mok_sms_per_tile(c->m); }

static int64_t staging_bytes(const mok_choice *c) {
  return cta_rows(c) * (mok_min64(mok_max64(c->up_n, c->down_n), MOK_STAGING_COLUMNS) + MOK_STAGING_PADDING) * 2;
}

/* Barriers of the stages (full and empty, 12 at most) and of the slots, and the CTA's own words. */
enum { SMALL_REGIONS_BYTES = 1024 };

int64_t mok_stages_that_fit(const mok_choice *c, const mok_load *l, const mok_gpu *gpu) {
  const int64_t stage = mok_max64(mok_stage_bytes(c->m, c->up_n, c->k, c->cluster, l->element_bytes),
                                  mok_stage_bytes(c->m, c->down_n, c->k, c->cluster, l->element_bytes));
  int64_t beside = staging_bytes(c) + SMALL_REGIONS_BYTES;
  if (c->comm == MOK_COMM_WARPS) beside += (c->pull_warps + c->push_warps) * c->warp_slots * c->slot_bytes;
  return beside >= gpu->shared_bytes_per_block ? 0 : (gpu->shared_bytes_per_block - beside) / stage;
}

void mok_roles_of(mok_choice *c, const mok_load *l, const mok_gpu *gpu) {
  c->threads = 128 * (1 + cta_rows(c) / 64); /* a loading warpgroup and one warpgroup per 64 rows */
  const int64_t warps = c->threads / 32;
  c->pull_warps = c->push_warps = c->slot_bytes = c->warp_slots = 0;
  if (!mok_moves_rows(l, c)) return;
  switch (c->comm) {
    case MOK_COMM_WARPS: /* the loading warpgroup has three idle warps */
      c->pull_warps = 2;
      c->push_warps = 1;
      break;
    case MOK_COMM_EPILOGUE:
      c->pull_warps = warps;
      c->push_warps = 0;
      break;
    default:
      c->pull_warps = c->push_warps = warps / 2;
  }
  const int64_t pieces = mok_ceil_div(l->row_bytes, MOK_SLOT_LIMIT);
  c->slot_bytes = mok_round_up(mok_ceil_div(l->row_bytes, pieces), 16);
  const int64_t of_all_warps = (c->pull_warps + c->push_warps) * c->slot_bytes;
  const int64_t room = c->comm == MOK_COMM_WARPS ? 2 * of_all_warps : gpu->shared_bytes_per_block - SMALL_REGIONS_BYTES;
  c->warp_slots = mok_max64(1, mok_min64(MOK_MAX_WARP_SLOTS, room / of_all_warps));
}

typedef struct scored_n {
  int64_t n;
  double us;
} scored_n;

/* Keeps the `limit` best of the widths, best first; the wider one first when equal. */
static size_t insert(scored_n *list, size_t count, size_t limit, scored_n value) {
  size_t at = count;
  while (at > 0 && value.us < list[at - 1].us * (1.0 - 1e-9)) --at;
  if (at >= limit) return count;
  const size_t kept = count < limit ? count : limit - 1;
  memmove(list + at + 1, list + at, (kept - at) * sizeof *list);
  list[at] = value;
  return kept + 1;
}

/* Widths by the time of all their tiles in whole waves, alone on the GPU. */
static size_t best_widths(const mok_model *model, const mok_load *l, const mok_gpu *gpu, const mok_choice *shape, int64_t columns,
                          int64_t depth, scored_n *out, size_t limit) {
  size_t count = 0;
  const int64_t fixed = model->tile_n;
  const int64_t blocks = mok_max64(1, mok_padded_rows(l, shape->m) / shape->m);
  const int64_t units = mok_max64(1, (gpu->sms - model->reserved_sms) / mok_sms_per_tile(shape->m));
  for (int64_t n = 256; n >= 16; n -= 16) {
    if (fixed != MOK_AUTO && n != fixed) continue;
    mok_choice c = *shape;
    c.up_n = c.down_n = n;
    const int64_t fit = mok_stages_that_fit(&c, l, gpu);
    c.stages = model->stages != MOK_AUTO ? model->stages : mok_min64(fit, MOK_MAX_STAGES);
    if (c.stages < 2 || c.stages > fit) continue;
    const int64_t tiles = blocks * mok_tile_columns(columns, n);
    const double waves = tiles < 8 * units ? (double)mok_ceil_div(tiles, units) : (double)tiles / (double)units;
    count = insert(out, count, limit, (scored_n){n, waves * mok_tile_us(gpu, &c, n, depth, l->element_bytes)});
  }
  return count;
}

static int64_t max_rows(const mok_gpu *gpu) {
  return gpu->mma == MOK_MMA_HOST ? 64 : 128; /* one CTA's; pairs are costed apart */
}

/* Tiles of one shape: rows, cluster and the way of a rank's own rows are in it. */
static void add_tiles(const mok_model *model, const mok_load *l, const mok_gpu *gpu, const mok_choice *shape,
                      mok_tile_list *out) {
  enum { WIDTHS = 4 };
  scored_n up[WIDTHS], down[WIDTHS];
  const size_t ups = best_widths(model, l, gpu, shape, l->up_columns, l->hidden, up, WIDTHS);
  const size_t downs = best_widths(model, l, gpu, shape, l->hidden, l->intermediate, down, WIDTHS);
  for (size_t i = 0; i < ups; ++i) {
    for (size_t j = 0; j < downs; ++j) {
      mok_choice c = *shape;
      c.up_n = up[i].n;
      c.down_n = down[j].n;
      const int64_t fit = mok_stages_that_fit(&c, l, gpu);
      c.stages = model->stages != MOK_AUTO ? model->stages : mok_min64(fit, MOK_MAX_STAGES);
      if (c.stages < 2 || c.stages > fit) continue;
      out->tiles[out->count++] = c;
    }
  }
}

/* CTAs in pairs that multiply by the same weights: where products run on wgmma, and SMs come in pairs. */
const char *mok_pairs_problem(const mok_model *model, const mok_gpu *gpu) {
  if (gpu->mma != MOK_MMA_WGMMA || model->dtype != MOK_BF16 || model->comm == MOK_COMM_WARPS ||
      (model->passes & MOK_PASS_BACKWARD))
    return "this version does not build them";
  const bool even =
      gpu->sms % 2 == 0 && model->reserved_sms % 2 == 0 && (model->comm_sms == MOK_AUTO || model->comm_sms % 2 == 0);
  return even && gpu->sms - model->reserved_sms >= 4 ? NULL : "SMs of an odd count have no partner";
}

void mok_tiles_list(const mok_model *model, const mok_load *l, const mok_gpu *gpu, int64_t comm, mok_tile_list *out) {
  out->count = 0;
  /* Of several ranks copies, unless asked: rows in place have been measured on one. */
  const int64_t own = model->own_rows == MOK_AUTO && model->gpus > 1 ? MOK_OWN_COPY : mok_own_rows_of(model);
  const int64_t least_own = model->own_rows == MOK_AUTO ? MOK_OWN_COPY : own;
  for (int64_t m = model->tile_m != MOK_AUTO ? model->tile_m : max_rows(gpu); m >= 64; m /= 2) {
    const int64_t one = model->cluster != MOK_AUTO ? model->cluster : mok_sms_per_tile(m);
    const int64_t most = model->cluster == MOK_AUTO && !mok_pairs_problem(model, gpu) ? 2 : one;
    for (int64_t cluster = one; cluster <= most; ++cluster) {
      for (int64_t way = own; way >= least_own; --way) {
        mok_choice shape = {.m = m, .up_n = 16, .down_n = 16, .k = l->element_bytes == 2 ? 64 : 128, .comm = comm};
        shape.own_rows = way;
        shape.cluster = cluster;
        mok_roles_of(&shape, l, gpu);
        add_tiles(model, l, gpu, &shape, out);
      }
    }
    if (model->tile_m != MOK_AUTO) break;
  }
}
