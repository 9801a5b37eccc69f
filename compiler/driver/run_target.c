#include "run_target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver_gpu.h"

/* MOK_OK if the first devices can run the plan's code for `target`. Finer limits are checked when the package is loaded. */
static mok_status find_gpus(mok_session *session, const mok_work *work, const char *target, bool colocate) {
  if (work->plan) MOK_TRY(mok_plan_buildable(work->plan, mok_target_find(target))); /* no GPU changes that */
  const int64_t ranks = work->model->gpus, needed = colocate ? 1 : ranks;
  mok_driver_gpu device;
  MOK_TRY_CTX(mok_driver_gpu_query(session->arena, &device), "looking for %" PRId64 " GPUs to run on", needed);
  if (device.count < needed)
    return MOK_ERROR(MOK_ERR_GPU, "the description needs %" PRId64 " GPUs, the driver sees %d (--colocate puts all ranks on one)",
                     needed, device.count);
  const int number = atoi(target + strlen("sm_"));
  if (number != device.capability)
    return MOK_ERROR(MOK_ERR_GPU, "the code is for %s, compute capability %d.%d, but %s has %d.%d", target, number / 10,
                     number % 10, device.name, device.capability / 10, device.capability % 10);
  /* A package's own numbers are compared with the device when it is loaded. */
  if (work->plan && work->plan->grid > device.sms)
    return MOK_ERROR(MOK_ERR_GPU,
                     "the plan has %" PRId64 " CTAs, one for each SM, but %s has %" PRId64
                     " SMs; plan for it with "
                     "topology.gpu = { base = \"%s\", sms = %" PRId64 " }",
                     work->plan->grid, device.name, device.sms, work->plan->gpu.name, device.sms);
  mok_session_remark(session, "running on %" PRId64 " x %s", needed, device.name);
  return MOK_OK;
}

mok_status mok_run_target(mok_session *session, mok_work *work, mok_run_place *out) {
  const mok_options *options = &session->options;
  const char *flag = options->require_gpu.given ? "--require-gpu" : options->colocate.given ? "--colocate" : NULL;
  const char *target = work->target_name ? work->target_name : work->plan->gpu.arch;
  const bool native = mok_target_find(target) && mok_target_find(target)->native;
  *out = MOK_RUN_HOST;
  if (native && flag && work->target_name) return MOK_ERROR(MOK_ERR_USAGE, "%s contradicts --target %s", flag, target);
  if (native && flag)
    return MOK_ERROR(MOK_ERR_USAGE, "%s: topology.gpu = \"%s\" is no GPU; name a row (mokgen targets) or a --target", flag,
                     work->plan->gpu.name);
  if (!native) {
    mok_status status = find_gpus(session, work, target, options->colocate.given);
    if (!status) *out = options->colocate.given ? MOK_RUN_COLOCATED : MOK_RUN_GPUS;
    else if (flag || work->target_name) return status;
    else mok_session_note(session, "running on the host target: %s", mok_status_text(status));
    mok_status_free(status);
  }
  if (*out == MOK_RUN_HOST) work->target_name = "host";
  else work->target_name = target;
  return MOK_OK;
}

mok_status mok_run_on_gpus(mok_session *session, mok_work *work, mok_run_place *out) {
  const bool colocate = session->options.colocate.given;
  if (!work->package) {
    const char *target = work->target_name ? work->target_name : work->plan->gpu.arch;
    if (!mok_target_find(target) || mok_target_find(target)->native)
      return MOK_ERROR(MOK_ERR_USAGE,
                       "%s is for GPUs, but the code target is %s; name a GPU row in topology.gpu (mokgen targets)",
                       mok_commands[session->options.command].name, target);
    work->target_name = target;
  }
  *out = colocate ? MOK_RUN_COLOCATED : MOK_RUN_GPUS;
  return find_gpus(session, work, work->target_name, colocate);
}
