/* What this version's kernel generator makes of all that can be planned. */
#include "internal.h"

#define NOT_YET(...) MOK_ERROR(MOK_ERR_NO_PLAN, "not in this version: " __VA_ARGS__)

mok_status mok_plan_buildable(const mok_plan *p, const mok_target *target) {
  static const char *const dtypes[] = {"bf16", "fp8_block128", "mxfp8"};
  const mok_model *m = p->model;
  if (!target->templates) return NOT_YET("kernels for %s (%s)", target->name, target->status);
  if (m->dtype != MOK_BF16) return NOT_YET("kernels with dtype \"%s\"; \"bf16\" is there", dtypes[m->dtype]);
  if (m->passes & MOK_PASS_BACKWARD) return NOT_YET("the backward pass; passes = { \"forward\" } is there");
  if (p->comm == MOK_COMM_WARPS) return NOT_YET("kernels with schedule.comm = \"warps\"; \"sms\" and \"epilogue\" are there");
  if (p->wire_dedup != 0) return NOT_YET("kernels with schedule.wire_dedup = \"on\"; \"off\" is there");
  if (p->readiness != MOK_READY_TILE) return NOT_YET("kernels with schedule.readiness = \"minibatch\"; \"tile\" is there");
  if (p->gate_up_m > 128) return NOT_YET("kernels with schedule.tile_m = 256; 64 and 128 are there");
  return MOK_OK;
}
