/* Rules that relate fields of a description, and what is legal but odd. */
#include <inttypes.h>
#include <string.h>

#include "../target/target.h"
#include "model.h"

#define FAIL(field, hint, ...) mok_diag_report(diag, MOK_SEVERITY_ERROR, m->loc[MOK_FIELD_##field], hint, __VA_ARGS__)
#define WARN(field, hint, ...) mok_diag_report(diag, MOK_WARNING, m->loc[MOK_FIELD_##field], hint, __VA_ARGS__)

static const char name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

bool mok_model_name_ok(const char *name) {
  const size_t size = strlen(name);
  return size >= 1 && size <= 64 && strspn(name, name_letters) == size;
}

static void check_name(const mok_model *m, mok_diag *diag) {
  if (mok_model_name_ok(m->name)) return;
  const char *hint = "letters, digits, '.', '_' and '-'; 1 to 64 of them";
  if (m->given[MOK_FIELD_name]) {
    FAIL(name, hint, "model.name \"%.80s\" is not a legal name", m->name);
  } else {
    FAIL(name, "give model.name: letters, digits, '.', '_' and '-'; 1 to 64 of them",
         "the file's stem \"%.80s\" is not a legal name", m->name);
  }
}

static void check_multiple(const mok_model *m, mok_diag *diag, mok_field_id field, int64_t value) {
  const int64_t granule = mok_model_granule(m->dtype);
  if (value % granule == 0) return;
  const int64_t below = value / granule * granule, above = below + granule;
  char hint[96];
  if (below >= (int64_t)mok_fields[field].min && below > 0) {
    snprintf(hint, sizeof hint, "the nearest legal values are %" PRId64 " and %" PRId64, below, above);
  } else {
    snprintf(hint, sizeof hint, "the nearest legal value is %" PRId64, above);
  }
  mok_diag_report(diag, MOK_SEVERITY_ERROR, m->loc[field], hint,
                  "model.%s is %" PRId64 ", which is no multiple of %" PRId64 " (dtype %s)", mok_fields[field].name, value,
                  granule,
                  m->dtype == MOK_BF16           ? "bf16"
                  : m->dtype == MOK_FP8_BLOCK128 ? "fp8_block128"
                                                 : "mxfp8");
}

static void check_shared(const mok_model *m, mok_diag *diag) {
  if (!m->given[MOK_FIELD_shared_intermediate]) return;
  if (m->shared_experts == 0 && m->shared_intermediate > 0) {
    FAIL(shared_intermediate, "add shared_experts = 1, or drop shared_intermediate",
         "model.shared_intermediate is %" PRId64 ", but model.shared_experts is 0", m->shared_intermediate);
  } else if (m->shared_experts > 0 && m->shared_intermediate == 0) {
    FAIL(shared_intermediate, "drop shared_intermediate: the default is shared_experts * intermediate",
         "model.shared_intermediate is 0, but model.shared_experts is %" PRId64, m->shared_experts);
  } else {
    check_multiple(m, diag, MOK_FIELD_shared_intermediate, m->shared_intermediate);
  }
}

static void check_passes(const mok_model *m, mok_diag *diag) {
  if (!(m->passes & MOK_PASS_FORWARD)) {
    FAIL(passes, "passes = { \"forward\", \"backward\" }", "workload.passes has no \"forward\", which backward needs");
  }
  if (m->passes & MOK_PASS_BACKWARD) return;
  if (m->save != MOK_SAVE_ALL) {
    WARN(save, "add \"backward\" to passes, or drop save", "workload.save has no effect without the backward pass");
  }
  if (m->imbalance.value != 2.0) {
    WARN(imbalance, "add \"backward\" to passes, or drop imbalance: forward never drops a route",
         "workload.imbalance has no effect without the backward pass");
  }
}

static void check_tiles(const mok_model *m, mok_diag *diag) {
  if (m->tile_m != MOK_AUTO && m->tile_m != 64 && m->tile_m != 128 && m->tile_m != 256) {
    FAIL(tile_m, "64, 128 or 256, or \"auto\"", "schedule.tile_m is %" PRId64 ", which is no tile height", m->tile_m);
  }
  if (m->tile_n != MOK_AUTO && m->tile_n % 16 != 0) {
    FAIL(tile_n, "16, 32, ... 256, or \"auto\"", "schedule.tile_n is %" PRId64 ", which is no multiple of 16", m->tile_n);
  }
  if (m->tile_k != MOK_AUTO && m->tile_k % 16 != 0) {
    FAIL(tile_k, "16, 32, ... 256, or \"auto\"", "schedule.tile_k is %" PRId64 ", which is no multiple of 16", m->tile_k);
  }
}

static void check_ring(const mok_model *m, mok_diag *diag) {
  if (m->ring_rows == MOK_AUTO || m->minibatch_rows == MOK_AUTO || m->ring_rows % m->minibatch_rows == 0) return;
  char hint[96];
  const int64_t batches = m->ring_rows / m->minibatch_rows;
  snprintf(hint, sizeof hint, "for example ring_rows = %" PRId64 ", %" PRId64 " minibatches", (batches + 1) * m->minibatch_rows,
           batches + 1);
  FAIL(ring_rows, hint, "schedule.ring_rows is %" PRId64 ", which is no multiple of minibatch_rows (%" PRId64 ")", m->ring_rows,
       m->minibatch_rows);
}

/* At least one SM must be left to compute. */
static void check_sms(const mok_model *m, mok_diag *diag) {
  const mok_gpu *row = m->gpu.row ? mok_gpu_find(m->gpu.row) : NULL;
  if (m->gpu.sms != MOK_AUTO && row && m->gpu.sms > row->sms) {
    WARN(gpu, NULL, "topology.gpu has sms = %" PRId64 ", but %s has %" PRId64, m->gpu.sms, row->name, row->sms);
  }
  const int64_t sms = m->gpu.sms != MOK_AUTO ? m->gpu.sms : row ? row->sms : MOK_AUTO;
  if (sms == MOK_AUTO) return; /* gpu = "auto": the planner knows the count, not we */
  const int64_t comm = m->comm_sms == MOK_AUTO ? 0 : m->comm_sms;
  char hint[96];
  snprintf(hint, sizeof hint, "together they may take at most %" PRId64, sms - 1);
  if (comm + m->reserved_sms < sms) return;
  if (m->reserved_sms == 0 || comm >= sms) {
    FAIL(comm_sms, hint, "schedule.comm_sms is %" PRId64 ", which leaves none of %" PRId64 " SMs to compute", comm, sms);
  } else if (comm == 0) {
    FAIL(reserved_sms, hint, "schedule.reserved_sms is %" PRId64 ", which leaves none of %" PRId64 " SMs to compute",
         m->reserved_sms, sms);
  } else {
    FAIL(reserved_sms, hint,
         "schedule.comm_sms (%" PRId64 ") and reserved_sms (%" PRId64 ") leave none of %" PRId64 " SMs to compute", comm,
         m->reserved_sms, sms);
  }
}

static void check_oddities(const mok_model *m, mok_diag *diag) {
  if (m->top_k > m->experts) {
    WARN(top_k, NULL, "model.top_k is %" PRId64 " with %" PRId64 " expert%s: a token must visit one of them twice", m->top_k,
         m->experts, m->experts == 1 ? "" : "s");
  }
  if (m->experts < m->gpus) {
    WARN(gpus, NULL, "topology.gpus is %" PRId64 " with %" PRId64 " expert%s: %" PRId64 " of the ranks own none", m->gpus,
         m->experts, m->experts == 1 ? "" : "s", m->gpus - m->experts);
  }
  if (m->clamp.present && m->clamp.value == 0) WARN(clamp, NULL, "model.clamp is 0: every expert's output is then 0");
  if (m->tokens_per_gpu == 0) WARN(tokens_per_gpu, NULL, "workload.tokens_per_gpu is 0: the kernel will have nothing to do");
  if (m->comm_sms != MOK_AUTO && m->comm_sms > 0 && m->comm == MOK_COMM_WARPS) {
    WARN(comm_sms, "comm = \"sms\" gives SMs to communication", "schedule.comm_sms has no effect with comm = \"warps\"");
  }
}

void mok_model_finish(mok_model *model, const char *file_stem, mok_diag *diag) {
  if (!model->given[MOK_FIELD_name]) model->name = file_stem;
  if (!model->given[MOK_FIELD_shared_intermediate]) model->shared_intermediate = model->shared_experts * model->intermediate;
  const mok_model *m = model;
  check_name(m, diag);
  check_multiple(m, diag, MOK_FIELD_hidden, m->hidden);
  check_multiple(m, diag, MOK_FIELD_intermediate, m->intermediate);
  check_shared(m, diag);
  check_passes(m, diag);
  check_tiles(m, diag);
  check_ring(m, diag);
  check_sms(m, diag);
  check_oddities(m, diag);
}
