/* Is what a GPU computed right? */
#include <inttypes.h>

#include "gpu_run.h"

mok_status mok_gpu_run_expect(mok_gpu_run *gpu, int64_t sample, bool all_weights, mok_gpu_expected *out) {
  mok_session *session = gpu->session;
  mok_problem *problem = gpu->problem;
  mok_session_progress(session, "computing the layer with naive kernels");
  MOK_TRY(mok_gpu_run_naive(gpu, &out->naive));
  mok_session_progress(session, "computing the reference");
  mok_expected_choose(session->arena, problem, sample, &out->reference);
  int64_t *used = all_weights ? problem->expert_rows : mok_expected_experts(session->arena, problem, &out->reference);
  MOK_TRY(mok_problem_make_weights(problem, used));
  return mok_expected_compute(session->arena, problem, &out->reference);
}

void mok_gpu_run_judge(const mok_gpu_run *gpu, mok_arena *arena, const mok_gpu_expected *expected, mok_verdict *out) {
  mok_session *session = gpu->session;
  mok_verdict whole;
  mok_verdict_make(arena, gpu->problem, &expected->naive, &whole);
  mok_verdict_make(arena, gpu->problem, &expected->reference, out);
  mok_session_remark(session, "against the naive kernels: rel_l2 %.3e, max_abs %.3e, %" PRId64 " values", whole.rel_l2,
                     whole.max_abs, whole.checked);
  mok_session_remark(session, "against the reference: rel_l2 %.3e, max_abs %.3e, %" PRId64 " values", out->rel_l2, out->max_abs,
                     out->checked);
  if (out->pass && !whole.pass) out->failure = mok_arena_printf(arena, "against the naive kernels: %s", whole.failure);
  out->pass = out->pass && whole.pass;
  out->checked = whole.checked;
  if (whole.rel_l2 > out->rel_l2) out->rel_l2 = whole.rel_l2;
  if (whole.max_abs > out->max_abs) out->max_abs = whole.max_abs;
}
