/* What one rank has to do, before anything is chosen. */
#include "internal.h"

mok_load mok_load_of(const mok_model *m) {
  mok_load l = {0};
  l.ranks = m->gpus;
  l.tokens = m->tokens_per_gpu;
  l.top_k = m->top_k;
  l.experts = m->experts;
  l.local_experts = mok_local_experts_max(m);
  l.hidden = m->hidden;
  l.intermediate = m->intermediate;
  l.shared = m->shared_experts > 0 ? m->shared_intermediate : 0;
  l.gated = mok_is_gated(m);
  l.up_columns = mok_up_columns(m);
  l.shared_up_columns = (l.gated ? 2 : 1) * l.shared;
  l.element_bytes = mok_element_bytes(m);
  l.row_bytes = m->hidden * MOK_WIRE_ELEMENT_BYTES;
  const int64_t routes = m->tokens_per_gpu * m->top_k;
  l.worst_routes = routes * m->gpus;
  l.rows = mok_ceil_div(l.worst_routes * l.local_experts, m->experts);
  l.local_rows = mok_ceil_div(l.rows, m->gpus);
  l.remote_rows = l.rows - l.local_rows;
  l.sent_rows = routes - routes / m->gpus;
  const int64_t weight_columns = l.local_experts * (l.up_columns + l.intermediate) + l.shared_up_columns + l.shared;
  l.weight_bytes = weight_columns * l.hidden * l.element_bytes;
  return l;
}

/* 1 - 1 / (1 + mu/8)^8, which follows 1 - e^-mu: experts that get a row at all when each expects mu. */
static double share_not_empty(double mu) {
  const double base = 1.0 + mu / 8.0;
  const double square = base * base, fourth = square * square;
  return 1.0 - 1.0 / (fourth * fourth);
}

int64_t mok_padded_rows(const mok_load *l, int64_t m) {
  if (l->rows == 0) return 0;
  const double mu = (double)l->rows / (double)l->local_experts;
  const double full = mu / (double)m + (double)(m - 1) / (double)(2 * m); /* mean of ceil(rows / m), any remainder as likely */
  const double blocks = share_not_empty(mu) * (full > 1.0 ? full : 1.0) * (double)l->local_experts;
  int64_t whole = (int64_t)blocks;
  if ((double)whole < blocks) ++whole;
  return mok_max64(whole * m, mok_round_up(l->rows, m));
}

/* A token may name one expert twice and both routes count, so min(k, E_local) routes of a token are not a bound: k are. */
int64_t mok_capacity_rows(const mok_load *l, int64_t m, int64_t blocks) {
  const int64_t padded_experts = mok_min64(l->local_experts, l->worst_routes);
  return mok_max64(mok_round_up(l->worst_routes + padded_experts * (m - 1), blocks * m), blocks * m);
}

int64_t mok_own_rows_of(const mok_model *m) {
  if (m->own_rows != MOK_AUTO) return m->own_rows;
  const bool built = m->dtype == MOK_BF16 && !(m->passes & MOK_PASS_BACKWARD) && m->comm != MOK_COMM_WARPS;
  const bool has_movers = m->gpus == 1 && m->comm_sms != MOK_AUTO && m->comm_sms > 0; /* the user has given SMs to copies */
  return built && !has_movers ? MOK_OWN_DIRECT : MOK_OWN_COPY;
}

/* Expected distinct remote ranks of a token, (R-1)(1-(1-1/R)^k), against its k(R-1)/R remote routes. */
double mok_wire_share(const mok_load *l, int64_t dedup) {
  if (!dedup || l->ranks == 1) return 1.0;
  const double miss = 1.0 - 1.0 / (double)l->ranks;
  double all_miss = 1.0;
  for (int64_t i = 0; i < l->top_k; ++i) all_miss *= miss;
  return (1.0 - all_miss) * (double)l->ranks / (double)l->top_k;
}
