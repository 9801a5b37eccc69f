/* What idles and what overruns, said plainly. */
#include <inttypes.h>

#include "internal.h"

#define D PRId64
enum { MAX_WARNINGS = 12 };

typedef struct list {
  mok_arena *arena;
  const char **texts;
  size_t count;
} list;

#define WARN(...) to.texts[to.count++] = mok_arena_printf(arena, __VA_ARGS__)

void mok_warnings(mok_arena *arena, mok_plan *p, const mok_load *l, const mok_cost *cost, const mok_alternatives *other) {
  const mok_model *m = p->model;
  list to = {arena, MOK_NEW_ARRAY(arena, MAX_WARNINGS, const char *), 0};
  const int64_t workspace = p->symmetric_bytes + p->local_bytes + p->saved_bytes;
  if (workspace + p->weight_bytes > p->gpu.memory_bytes)
    WARN("memory overrun: %s of weights and %s of workspace are %s more than the %s of %s; more ranks or fewer layers a GPU help",
         mok_bytes_text(arena, p->weight_bytes), mok_bytes_text(arena, workspace),
         mok_bytes_text(arena, workspace + p->weight_bytes - p->gpu.memory_bytes), mok_bytes_text(arena, p->gpu.memory_bytes),
         p->gpu.name);
  if (l->experts < l->ranks)
    WARN("%" D " of %" D " ranks own no expert and only send; the others carry %s times the average", l->ranks - l->experts,
         l->ranks, mok_decimal(arena, (double)l->ranks / (double)l->experts, 1));
  else if (l->experts % l->ranks != 0)
    WARN("%" D " experts do not divide by %" D " ranks: ranks with %" D " wait for those with %" D, l->experts, l->ranks,
         l->local_experts - 1, l->local_experts);
  if (l->rows == 0) {
    WARN("no tokens: the kernel has nothing to do");
  } else {
    const int64_t up = p->padded_rows / p->gate_up_m * mok_tile_columns(l->up_columns, p->gate_up_n);
    const int64_t down = p->padded_rows / p->down_m * mok_tile_columns(l->hidden, p->down_n);
    const int64_t fewer = mok_min64(up, down);
    if (fewer < m->waves * p->sms_compute)
      WARN("few rows: %" D " up and %" D " down tiles for %" D " compute SMs, where %" D " waves want %" D " of each; %" D
           " %% of a wave idles",
           up, down, p->sms_compute, m->waves, m->waves * p->sms_compute, (p->idle_permille + 5) / 10);
    else if (p->waves_gate_up < m->waves || p->waves_down < m->waves)
      WARN("a minibatch of %" D " rows fills less than %" D " waves of %" D " SMs", p->minibatch_rows, m->waves, p->sms_compute);
    else if (p->idle_permille >= 150 && !mok_fills_waves(p))
      WARN("%" D " %% of the compute SMs' time idles in partial waves of a minibatch", (p->idle_permille + 5) / 10);
    const double padding = (double)(p->padded_rows - p->expected_rows) / (double)p->expected_rows;
    if (padding >= 0.2)
      WARN("padding: %s rows an expert in blocks of %" D ", so %" D " rows are computed for %" D " real ones",
           mok_short_text(arena, (double)l->rows / (double)l->local_experts), p->row_padding, p->padded_rows, p->expected_rows);
    if (cost->comm_us > 1.05 * cost->products_us && cost->comm_us >= cost->memory_us) /* closer, SMs are split as they should */
      WARN("moving rows takes %s us, the products %s: tensor cores idle about %.0f %% of the layer",
           mok_short_text(arena, cost->comm_us), mok_short_text(arena, cost->products_us),
           100.0 * (1.0 - cost->products_us / cost->forward_us));
    else if (cost->memory_us > cost->products_us)
      WARN("memory traffic takes %s us, the products %s: tensor cores idle about %.0f %% of the layer",
           mok_short_text(arena, cost->memory_us), mok_short_text(arena, cost->products_us),
           100.0 * (1.0 - cost->products_us / cost->forward_us));
  }
  if (p->ring_rows < 2 * p->minibatch_rows && p->capacity_rows > p->ring_rows)
    WARN("the ring holds one minibatch: %s of the next one waits for %s of this one",
         p->pull_warps == 0 ? "the up product" : "dispatch",
         p->pull_warps == 0             ? "the down product"
         : p->comm == MOK_COMM_EPILOGUE ? "the products"
                                        : "combine");
  if (m->wire_dedup == MOK_AUTO && other->dedup_us[1] > 0 && other->dedup_us[1] < 0.95 * other->dedup_us[0])
    WARN("one copy per (token, rank) on the wire is predicted %.0f %% faster; not in this version",
         100.0 * (other->dedup_us[0] / other->dedup_us[1] - 1.0));
  p->warnings = to.texts;
  p->warning_count = to.count;
}
