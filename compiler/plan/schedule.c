/* Schedule fields that the user fixed and no search can meet. Values outside a field's range were refused before. */
#include <inttypes.h>
#include <stdio.h>

#include "internal.h"

#define REFUSE(field, hint, ...) mok_diag_report(diag, MOK_SEVERITY_ERROR, model->loc[MOK_FIELD_##field], hint, __VA_ARGS__)

static void check_sms(const mok_model *model, const mok_gpu *gpu, mok_diag *diag) {
  const int64_t left = gpu->sms - model->reserved_sms;
  const bool pair = model->cluster == 2 || model->tile_m == 256;
  const bool alone = model->gpus == 1 && mok_own_rows_of(model) == MOK_OWN_DIRECT;
  const bool warps = alone || model->comm == MOK_COMM_WARPS; /* one role */
  const int64_t unit = pair ? 2 : 1, roles = warps ? 1 : 2;
  char hint[160];
  if (alone && model->comm_sms > 0)
    REFUSE(comm_sms, "0 or \"auto\"; or own_rows = \"copy\"",
           "schedule.comm_sms = %" PRId64 ", but one rank with own_rows = \"direct\" moves no rows", model->comm_sms);
  if (gpu->sms < roles * unit) {
    snprintf(hint, sizeof hint, "sms = %" PRId64 " or more: one %s for each role", roles * unit, pair ? "pair" : "SM");
    REFUSE(gpu, hint, "topology.gpu has %" PRId64 " SM%s, too few for a kernel", gpu->sms, gpu->sms == 1 ? "" : "s");
    return;
  }
  if (left < roles * unit) {
    snprintf(hint, sizeof hint, "%s; reserved_sms may be at most %" PRId64,
             warps ? "the products need SMs" : "communication and products need SMs each", mok_max64(0, gpu->sms - roles * unit));
    REFUSE(reserved_sms, hint, "schedule.reserved_sms = %" PRId64 " leaves %" PRId64 " of %" PRId64 " SMs%s", model->reserved_sms,
           mok_max64(0, left), gpu->sms, pair ? ", which work in pairs" : "");
    return;
  }
  if (model->comm_sms == MOK_AUTO || warps) return;
  if (model->comm_sms < unit || model->comm_sms > left - unit) {
    snprintf(hint, sizeof hint, "%" PRId64 " to %" PRId64 ", or \"auto\"", unit, left - unit);
    REFUSE(comm_sms, hint,
           "schedule.comm_sms = %" PRId64 " does not leave SMs to both roles (%" PRId64 " of %" PRId64 " are ours)",
           model->comm_sms, left, gpu->sms);
  } else if (pair && model->comm_sms % 2 != 0) {
    snprintf(hint, sizeof hint, "%" PRId64 " or %" PRId64, model->comm_sms - 1, model->comm_sms + 1);
    REFUSE(comm_sms, hint, "schedule.comm_sms = %" PRId64 ", but SMs work in pairs (cluster = 2)", model->comm_sms);
  }
}

static void check_tile(const mok_model *model, const mok_load *l, const mok_gpu *gpu, mok_diag *diag) {
  char hint[160];
  const int64_t k = l->element_bytes == 2 ? 64 : 128;
  if (model->tile_m == 256 && gpu->mma != MOK_MMA_TCGEN05) {
    REFUSE(tile_m, "64 or 128, or \"auto\"", "schedule.tile_m = 256, but %s has no 256-row tiles (Blackwell only)", gpu->name);
    return;
  }
  if (model->tile_m == 256 && model->cluster == 1) {
    REFUSE(cluster, "2, or \"auto\"", "schedule.cluster = 1, but a 256-row tile is the work of two SMs");
    return;
  }
  if (model->tile_k != MOK_AUTO && model->tile_k != k) {
    snprintf(hint, sizeof hint, "%" PRId64 ", or \"auto\": one stage is one 128-byte swizzled row of the operand", k);
    REFUSE(tile_k, hint, "schedule.tile_k = %" PRId64 ", but %s tiles are %" PRId64 " deep", model->tile_k,
           l->element_bytes == 2 ? "bf16" : "fp8", k);
    return;
  }
  mok_choice c = {.m = model->tile_m != MOK_AUTO ? model->tile_m : 64, .k = k};
  c.up_n = c.down_n = model->tile_n != MOK_AUTO ? model->tile_n : 16;
  c.comm = model->comm != MOK_AUTO ? model->comm : MOK_COMM_SMS;
  c.own_rows = mok_own_rows_of(model);
  c.cluster = model->cluster != MOK_AUTO ? model->cluster : mok_sms_per_tile(c.m);
  mok_roles_of(&c, l, gpu);
  const int64_t fit = mok_stages_that_fit(&c, l, gpu), wanted = model->stages != MOK_AUTO ? model->stages : 2;
  if (fit >= wanted) return;
  const int64_t stage = mok_stage_bytes(c.m, c.up_n, c.k, c.cluster, l->element_bytes);
  const mok_field_id at = model->stages != MOK_AUTO   ? MOK_FIELD_stages
                          : model->tile_n != MOK_AUTO ? MOK_FIELD_tile_n
                          : model->tile_m != MOK_AUTO ? MOK_FIELD_tile_m
                                                      : MOK_FIELD_gpu;
  if (fit >= 2) {
    snprintf(hint, sizeof hint, "at most %" PRId64 " stages fit", fit);
  } else {
    snprintf(hint, sizeof hint, "two stages are the least; a smaller tile_m or tile_n would fit");
  }
  mok_diag_report(diag, MOK_SEVERITY_ERROR, model->loc[at], hint,
                  "%" PRId64 " stages of %" PRId64 " x %" PRId64 " x %" PRId64 " tiles are %" PRId64 " bytes, and %s has %" PRId64
                  " bytes of shared memory for them and the tile on its way out",
                  wanted, c.m, c.up_n, c.k, wanted * stage, gpu->name, gpu->shared_bytes_per_block);
}

static void check_rows(const mok_model *model, mok_diag *diag) {
  const bool pair = model->cluster == 2 && (model->tile_m == MOK_AUTO || model->tile_m <= 128);
  const int64_t m = (model->tile_m != MOK_AUTO ? model->tile_m : 64) * (pair ? 2 : 1);
  const char *origin = pair ? "a tile for each CTA of a pair" : model->tile_m != MOK_AUTO ? "tile_m" : "the smallest tile";
  char hint[96];
  if (model->minibatch_rows != MOK_AUTO && model->minibatch_rows % m != 0) {
    snprintf(hint, sizeof hint, "for example %" PRId64, mok_round_up(model->minibatch_rows, m));
    REFUSE(minibatch_rows, hint, "schedule.minibatch_rows = %" PRId64 " is no multiple of %" PRId64 " rows, %s",
           model->minibatch_rows, m, origin);
  }
  if (model->ring_rows != MOK_AUTO && model->ring_rows % m != 0) {
    snprintf(hint, sizeof hint, "for example %" PRId64, mok_round_up(model->ring_rows, m));
    REFUSE(ring_rows, hint, "schedule.ring_rows = %" PRId64 " is no multiple of %" PRId64 " rows, %s", model->ring_rows, m,
           origin);
  }
}

static void check_own_rows(const mok_model *model, mok_diag *diag) {
  if (model->own_rows != MOK_OWN_DIRECT) return;
  const char *hint = "own_rows = \"copy\", or \"auto\"";
  if (model->dtype != MOK_BF16)
    REFUSE(own_rows, hint, "schedule.own_rows = \"direct\", but rows of x must be converted to the products' type on their way");
  if (model->passes & MOK_PASS_BACKWARD)
    REFUSE(own_rows, hint, "schedule.own_rows = \"direct\", but the backward pass needs the dispatched rows");
  if (model->comm == MOK_COMM_WARPS)
    REFUSE(own_rows, hint, "schedule.own_rows = \"direct\", but with comm = \"warps\" the loading warps move rows");
}

void mok_schedule_check(const mok_model *model, const mok_load *l, const mok_gpu *gpu, mok_diag *diag) {
  check_own_rows(model, diag);
  check_sms(model, gpu, diag);
  check_tile(model, l, gpu, diag);
  check_rows(model, diag);
}
