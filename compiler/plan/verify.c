/* The constraints of a plan, from the description and the plan alone: nothing here calls a rule. */
#include <inttypes.h>
#include <string.h>

#include "plan.h"

#define D PRId64

typedef struct verifier {
  const mok_plan *plan;
  mok_status status; /* first violation */
} verifier;

/* A rule of one field. `text` says what must hold. */
static void rule(verifier *v, bool holds, const char *name, int64_t value, const char *text) {
  if (holds || v->status) return;
  v->status = MOK_ERROR(MOK_ERR_CODEGEN, "plan of %s: %s = %" D " breaks the rule: %s", v->plan->model->name, name, value, text);
}
#define RULE(field, holds, text) rule(v, (holds), #field, (int64_t)p->field, text)
/* A field the user fixed is taken as it is. */
#define KEEPS(field, model_field) \
  RULE(field, m->model_field == MOK_AUTO || p->field == m->model_field, "schedule." #model_field " fixes it")

static int64_t ceil_to(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
static int64_t tiles_over(int64_t columns, int64_t n) { return ceil_to(columns, n) / n; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* A single rank that reads and writes its rows in place has none to copy. */
static bool moves_rows(const mok_plan *p) { return !(p->model->gpus == 1 && p->own_rows == MOK_OWN_DIRECT); }

static void check_ctas(verifier *v) {
  const mok_plan *p = v->plan;
  const mok_model *m = p->model;
  RULE(sms_total, p->sms_total == p->gpu.sms && p->sms_total > 0, "SMs of the GPU row");
  RULE(sms_total, m->gpu.sms == MOK_AUTO || p->sms_total == m->gpu.sms, "topology.gpu.sms fixes it");
  if (moves_rows(p)) {
    RULE(sms_comm, p->comm == MOK_COMM_WARPS ? p->sms_comm == 0 : p->sms_comm >= 1, "one SM at least, none with comm = warps");
    if (p->comm != MOK_COMM_WARPS) KEEPS(sms_comm, comm_sms);
  } else {
    RULE(sms_comm, p->sms_comm == 0, "nobody moves rows");
    RULE(sms_comm, m->comm_sms == MOK_AUTO || m->comm_sms == 0, "schedule.comm_sms asks for none");
  }
  RULE(sms_compute, p->sms_compute >= 1, "one SM at least");
  RULE(sms_reserved, p->sms_reserved >= m->reserved_sms, "schedule.reserved_sms at least");
  RULE(sms_reserved, p->sms_comm + p->sms_compute + p->sms_reserved == p->sms_total, "comm + compute + reserved = total");
  RULE(sms_reserved, p->cluster == 2 || p->sms_reserved == m->reserved_sms, "no SM idles without a reason");
  RULE(grid, p->grid == p->sms_comm + p->sms_compute, "one CTA on each SM that is not reserved");
  RULE(cluster, p->cluster == 1 || p->cluster == 2, "1 or 2");
  if (v->status) return;
  RULE(cluster, p->sms_comm % p->cluster == 0 && p->sms_compute % p->cluster == 0, "divides the CTAs of both roles");
  KEEPS(cluster, cluster);
  const int64_t cta_rows = p->gate_up_m == 256 ? 128 : p->gate_up_m;
  RULE(threads, p->threads == 128 + 2 * cta_rows, "a loading warpgroup, and one warpgroup per 64 rows");
  RULE(threads, 128 * 40 + (p->threads - 128) * 232 <= p->gpu.registers_per_sm, "40 and 232 registers a thread fit an SM");
  RULE(warps, p->warps * 32 == p->threads, "threads / 32");
}

static void check_tiles(verifier *v) {
  const mok_plan *p = v->plan;
  const mok_model *m = p->model;
  const bool blackwell = p->gpu.mma == MOK_MMA_TCGEN05;
  RULE(gate_up_m, p->gate_up_m == 64 || p->gate_up_m == 128 || (p->gate_up_m == 256 && blackwell && p->cluster == 2),
       "64 or 128, or 256 on a Blackwell pair");
  RULE(down_m, p->down_m == p->gate_up_m, "both products share row blocks");
  RULE(row_padding, p->row_padding == p->gate_up_m, "a row block is one tile high");
  RULE(gate_up_n, p->gate_up_n >= 16 && p->gate_up_n <= 256 && p->gate_up_n % 16 == 0, "16, 32, ... 256");
  RULE(down_n, p->down_n >= 16 && p->down_n <= 256 && p->down_n % 16 == 0, "16, 32, ... 256");
  const int64_t bytes = m->dtype == MOK_BF16 ? 2 : 1;
  RULE(gate_up_k, p->gate_up_k * bytes == 128, "128 bytes of one operand row");
  RULE(down_k, p->down_k * bytes == 128, "128 bytes of one operand row");
  RULE(gate_up_stages, p->gate_up_stages >= 2 && p->gate_up_stages <= 12, "2 to 12");
  RULE(down_stages, p->down_stages == p->gate_up_stages, "both products share the pipeline");
  KEEPS(gate_up_m, tile_m);
  KEEPS(gate_up_n, tile_n);
  KEEPS(down_n, tile_n);
  KEEPS(gate_up_k, tile_k);
  KEEPS(gate_up_stages, stages);
}

static void check_minibatch(verifier *v) {
  const mok_plan *p = v->plan;
  const mok_model *m = p->model;
  const int64_t up_columns = mok_is_gated(m) ? 2 * m->intermediate : m->intermediate;
  const int64_t narrow = least(up_columns, m->hidden), tile_elements = INT64_C(2) * p->gpu.sms * 128 * 256;
  RULE(two_wave_rows, p->two_wave_rows * narrow >= tile_elements && (p->two_wave_rows - 1) * narrow < tile_elements,
       "fewest rows with two 128x256 tiles for every SM");
  const int64_t step = p->row_padding * (p->gate_up_m == 256 ? 1 : p->cluster);
  RULE(minibatch_rows, p->minibatch_rows > 0 && p->minibatch_rows % step == 0, "a row tile for each CTA of a cluster");
  KEEPS(minibatch_rows, minibatch_rows);
  if (v->status) return;
  const int64_t slots = p->gate_up_m == 256 ? p->sms_compute / 2 : p->sms_compute;
  const int64_t blocks = p->minibatch_rows / p->row_padding;
  const int64_t up = tiles_over(up_columns, p->gate_up_n), down = tiles_over(m->hidden, p->down_n);
  RULE(waves_gate_up, p->waves_gate_up == tiles_over(blocks * up, slots), "tiles of a minibatch over compute SMs, rounded up");
  RULE(waves_down, p->waves_down == tiles_over(blocks * down, slots), "tiles of a minibatch over compute SMs, rounded up");
  const bool free_choice = m->minibatch_rows == MOK_AUTO && m->ring_rows == MOK_AUTO;
  RULE(minibatch_rows, !free_choice || blocks * least(up, down) >= m->waves * slots || p->minibatch_rows >= p->capacity_rows,
       "schedule.waves waves in both products, or every row there can be");
  const int64_t busy = least(blocks, most(1, p->padded_rows / p->row_padding));
  const double up_share = (double)p->gate_up_n * (double)ceil_to(m->hidden, p->gate_up_k);
  const double down_share = (double)p->down_n * (double)ceil_to(m->intermediate, p->down_k);
  const double work = (double)(busy * up) * up_share + (double)(busy * down) * down_share;
  const double held = (double)ceil_to(busy * up, slots) * up_share + (double)ceil_to(busy * down, slots) * down_share;
  const double idle = 1000.0 * (held - work) / held - (double)p->idle_permille;
  RULE(idle_permille, idle < 1.0 && idle > -1.0, "share of the last waves without a tile");
}

static void check_rows(verifier *v) {
  const mok_plan *p = v->plan;
  const mok_model *m = p->model;
  RULE(ring_rows, p->ring_rows >= p->minibatch_rows && p->ring_rows % p->minibatch_rows == 0, "whole minibatches");
  KEEPS(ring_rows, ring_rows);
  RULE(ring_slots, p->ring_slots * p->row_padding == p->ring_rows, "one slot a row block");
  int64_t largest = 0;
  for (int64_t rank = 0; rank < m->gpus; ++rank)
    largest = most(largest, (rank + 1) * m->experts / m->gpus - rank * m->experts / m->gpus);
  const int64_t all = m->gpus * m->tokens_per_gpu * m->top_k;
  const int64_t step = p->row_padding * (p->gate_up_m == 256 ? 1 : p->cluster);
  RULE(capacity_rows, p->capacity_rows % step == 0, "a row block for each CTA of a cluster");
  RULE(capacity_rows, p->capacity_rows >= all + least(largest, all) * (p->row_padding - 1),
       "every route on one rank, and padding");
  RULE(capacity_rows, p->capacity_rows < all + least(largest, all) * (p->row_padding - 1) + 2 * step, "no more than that");
  RULE(expected_rows, p->expected_rows * m->experts >= all * largest && (p->expected_rows - 1) * m->experts < all * largest,
       "the busiest rank's share of all routes");
  RULE(padded_rows, p->padded_rows % p->row_padding == 0, "whole row blocks");
  RULE(padded_rows, p->padded_rows >= p->expected_rows && p->padded_rows <= p->capacity_rows,
       "from the real rows to the capacity");
  const int64_t up_columns = mok_is_gated(m) ? 2 * m->intermediate : m->intermediate;
  const int64_t bytes = m->dtype == MOK_BF16 ? 2 : 1;
  int64_t weights = largest * m->hidden * (up_columns + m->intermediate);
  if (m->shared_experts > 0) weights += m->shared_intermediate * m->hidden * (mok_is_gated(m) ? 3 : 2);
  RULE(weight_bytes, p->weight_bytes == weights * bytes, "up and down matrices of the rank's experts and the shared one");
  RULE(saved_bytes, (p->saved_bytes > 0) == ((m->passes & MOK_PASS_BACKWARD) != 0) || p->expected_rows == 0,
       "something exactly with a backward pass");
  RULE(saved_bytes, p->saved_bytes % 8 == 0 && p->saved_bytes >= 0, "whole routes and columns");

  const int64_t own = (p->expected_rows + m->gpus - 1) / m->gpus, row = m->hidden * 2, remote = (p->expected_rows - own) * row;
  RULE(dispatch_bytes, p->dispatch_bytes >= 0 && (p->wire_dedup ? p->dispatch_bytes <= remote : p->dispatch_bytes == remote),
       "rows from peers, at most once each");
  RULE(combine_bytes, p->combine_bytes == p->dispatch_bytes, "the way back is as long");
  RULE(local_copy_bytes, p->local_copy_bytes == (p->own_rows == MOK_OWN_DIRECT ? 0 : 2 * own * row),
       "rows of its own, in and out, unless they stay in place");
}

/* Shape of a region, 0 rows where it must be absent. */
static void shape(verifier *v, const char *name, int64_t rows, int64_t columns, int64_t element) {
  const mok_region *r = mok_layout_find(&v->plan->layout, name);
  if (rows == 0 && columns == 0) {
    rule(v, r == NULL, name, r ? r->bytes : 0, "no such region in this plan");
    return;
  }
  rule(v, r != NULL, name, 0, "a region of this plan");
  if (r == NULL) return;
  rule(v, r->rows == rows, name, r->rows, "rows of the region");
  rule(v, r->columns == columns, name, r->columns, "columns of the region");
  rule(v, r->bytes == rows * columns * element, name, r->bytes, "bytes = rows x columns x element");
}

static void check_shapes(verifier *v) {
  const mok_plan *p = v->plan;
  const mok_model *m = p->model;
  const int64_t blocks = p->capacity_rows / p->row_padding, experts = tiles_over(m->experts, m->gpus);
  const int64_t operand = m->dtype == MOK_BF16 ? 2 : 1, routes = m->tokens_per_gpu * m->top_k;
  const int64_t step = p->gate_up_m == 256 ? 1 : p->cluster; /* blocks come in whole clusters */
  const int64_t token_blocks = m->shared_experts > 0 ? tiles_over(m->tokens_per_gpu, p->row_padding * step) * step : 0;
  const int64_t peers = m->gpus > 1, shared = m->shared_experts > 0, x = moves_rows(p), y = x && p->comm != MOK_COMM_EPILOGUE;
  shape(v, "flags", 2 * m->gpus, 32, 4);
  shape(v, "x", peers * m->tokens_per_gpu, peers * m->hidden, 2);
  shape(v, "route_offsets", m->experts + 1, 1, 4);
  shape(v, "route_list", routes, 1, 4);
  shape(v, "combine", routes, m->hidden, 2);
  shape(v, "control", 8, 32, 4);
  shape(v, "counters", 2, (2 + x + y) * blocks + token_blocks, 4);
  shape(v, "expert_base", experts + 1, 1, 4);
  shape(v, "expert_rows", experts, 1, 4);
  shape(v, "block_expert", blocks, 1, 4);
  shape(v, "row_source", p->capacity_rows, 1, 8);
  shape(v, "ring_x", x * p->ring_rows, x * m->hidden, operand);
  shape(v, "ring_h", p->ring_rows, m->intermediate, operand);
  shape(v, "ring_y", y * p->ring_rows, y * m->hidden, 2);
  shape(v, "shared_h", shared * m->tokens_per_gpu, shared * m->shared_intermediate, operand);
  shape(v, "shared_y", shared * m->tokens_per_gpu, shared * m->hidden, 2);

  const int64_t pair = p->gate_up_m == 256 ? 2 : 1;
  const int64_t wide = most(p->gate_up_n, p->down_n), stage = (p->gate_up_m + wide) / pair * p->gate_up_k * operand;
  shape(v, "pipeline", p->gate_up_stages, stage, 1);
  shape(v, "staging", p->gate_up_m / pair, least(wide, 128) + 8, 2);
  shape(v, "barriers", 2 * p->gate_up_stages, 8, 1);
  shape(v, "slots", (p->pull_warps + p->push_warps) * p->warp_slots, p->slot_bytes, 1);
  shape(v, "slot_barriers", (p->pull_warps + p->push_warps) * p->warp_slots, x * 8, 1);
  shape(v, "cta", 64, 1, 4);
}

static bool may_overlap(const mok_plan *p, const mok_region *a, const mok_region *b) {
  return a->space == MOK_SPACE_SHARED && p->comm != MOK_COMM_WARPS && *a->role && *b->role && strcmp(a->role, b->role) != 0;
}

static void check_layout(verifier *v) {
  const mok_plan *p = v->plan;
  int64_t end[MOK_NUM_SPACES] = {0}, rings = 0;
  for (size_t i = 0; i < p->layout.count; ++i) {
    const mok_region *r = &p->layout.regions[i];
    rule(v, r->offset >= 0 && r->bytes >= 0, r->name, r->offset, "neither place nor size is negative");
    rule(v, r->align > 0 && r->offset % r->align == 0, r->name, r->offset, "a multiple of the region's alignment");
    end[r->space] = most(end[r->space], r->offset + r->bytes);
    if (strncmp(r->name, "ring_", 5) == 0 && strncmp(r->name, "ring_d", 6) != 0) rings += r->bytes;
    for (size_t j = 0; j < i; ++j) {
      const mok_region *q = &p->layout.regions[j];
      rule(v, strcmp(r->name, q->name) != 0, r->name, r->offset, "one region of a name");
      if (r->space != q->space || may_overlap(p, r, q)) continue;
      rule(v, q->offset + q->bytes <= r->offset || r->offset + r->bytes <= q->offset || r->bytes == 0 || q->bytes == 0, r->name,
           r->offset, "no overlap with another region of its role");
    }
  }
  RULE(symmetric_bytes, p->symmetric_bytes == p->layout.bytes[MOK_SPACE_HEAP], "the heap's layout");
  RULE(local_bytes, p->local_bytes == p->layout.bytes[MOK_SPACE_LOCAL], "the workspace's layout");
  RULE(shared_bytes_per_cta, p->shared_bytes_per_cta == p->layout.bytes[MOK_SPACE_SHARED], "the shared memory's layout");
  RULE(symmetric_bytes, end[MOK_SPACE_HEAP] <= p->symmetric_bytes, "holds every region");
  RULE(local_bytes, end[MOK_SPACE_LOCAL] <= p->local_bytes, "holds every region");
  RULE(shared_bytes_per_cta, end[MOK_SPACE_SHARED] <= p->shared_bytes_per_cta, "holds every region");
  RULE(shared_bytes_per_cta, p->shared_bytes_per_cta <= p->gpu.shared_bytes_per_block, "the GPU's limit");
  RULE(symmetric_bytes, p->symmetric_bytes + p->local_bytes <= p->gpu.memory_bytes, "fits the GPU with the local bytes");
  RULE(ring_bytes, p->ring_bytes == rings, "the rings of the layout");
}

static void check_schedule(verifier *v) {
  const mok_plan *p = v->plan;
  const mok_model *m = p->model;
  RULE(comm, p->comm >= MOK_COMM_SMS && p->comm <= MOK_COMM_EPILOGUE, "sms, warps or epilogue");
  KEEPS(comm, comm);
  RULE(readiness, p->readiness == MOK_READY_TILE || p->readiness == MOK_READY_MINIBATCH, "tile or minibatch");
  KEEPS(readiness, readiness);
  RULE(wire_dedup, p->wire_dedup == 0 || p->wire_dedup == 1, "off or on");
  KEEPS(wire_dedup, wire_dedup);
  RULE(own_rows, p->own_rows == MOK_OWN_COPY || p->own_rows == MOK_OWN_DIRECT, "copy or direct");
  KEEPS(own_rows, own_rows);
  RULE(own_rows, p->own_rows == MOK_OWN_COPY || (m->dtype == MOK_BF16 && !(m->passes & MOK_PASS_BACKWARD)),
       "rows of x are an operand as they are, and nobody needs them again");
  if (!moves_rows(p)) {
    const char *none = "0 where nobody moves rows";
    RULE(dispatch_rows, p->dispatch_rows == 0, none);
    RULE(pull_warps, p->pull_warps == 0, none);
    RULE(push_warps, p->push_warps == 0, none);
    RULE(slot_bytes, p->slot_bytes == 0, none);
    RULE(warp_slots, p->warp_slots == 0, none);
    return;
  }
  RULE(dispatch_rows, p->dispatch_rows >= 1 && p->row_padding % p->dispatch_rows == 0, "divides the row tile");
  RULE(pull_warps, p->pull_warps >= 1 && p->pull_warps <= p->warps, "1 to the CTA's warps");
  RULE(push_warps, p->comm == MOK_COMM_EPILOGUE ? p->push_warps == 0 : p->push_warps >= 1,
       "1 at least, none with comm = epilogue");
  RULE(push_warps, p->pull_warps + p->push_warps <= (p->comm == MOK_COMM_WARPS ? 3 : p->warps),
       "as many warps as the CTA has idle");
  RULE(slot_bytes, p->slot_bytes >= 16 && p->slot_bytes % 16 == 0, "whole 16-byte pieces");
  RULE(slot_bytes, p->slot_bytes <= ceil_to(2 * m->hidden, 16), "no more than a row");
  RULE(warp_slots, p->warp_slots >= 1, "1 at least");
}

static void rule_us(verifier *v, bool holds, const char *name, double value, const char *text) {
  if (holds || v->status) return;
  v->status = MOK_ERROR(MOK_ERR_CODEGEN, "plan of %s: %s = %g us breaks the rule: %s", v->plan->model->name, name, value, text);
}

static void check_times(verifier *v) {
  const mok_plan *p = v->plan;
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i) {
    const mok_plan_info *f = &mok_plan_fields[i];
    if (f->kind != MOK_PK_US) continue;
    const double us = *(const double *)((const char *)p + f->offset);
    rule_us(v, us >= 0.0 && us < 1e15, f->name, us, "a time");
  }
  const double slack = 0.002;
  rule_us(v, p->forward_us + slack >= p->roofline_us, "forward_us", p->forward_us, "no faster than the roofline");
  rule_us(v, p->roofline_us + slack >= p->wire_us, "roofline_us", p->roofline_us, "no lower than the wire");
  rule_us(v, p->forward_us + slack >= p->products_us, "products_us", p->products_us, "part of the layer");
  rule_us(v, p->forward_us + slack >= p->memory_us, "memory_us", p->memory_us, "part of the layer");
  rule_us(v, p->forward_us + slack >= p->exposed_us, "exposed_us", p->exposed_us, "part of the layer");
  rule_us(v, (p->backward_us > 0.0) == ((p->model->passes & MOK_PASS_BACKWARD) != 0), "backward_us", p->backward_us,
          "a time exactly with a backward pass");
  rule_us(v, p->model->gpus > 1 || p->wire_us == 0.0, "wire_us", p->wire_us, "one rank has no wire");
}

mok_status mok_plan_verify(mok_arena *arena, const mok_plan *plan) {
  (void)arena;
  verifier self = {plan, MOK_OK}, *v = &self;
  check_ctas(v);
  if (!v->status) check_tiles(v);
  if (!v->status) check_schedule(v);
  if (!v->status) check_minibatch(v);
  if (!v->status) check_rows(v);
  if (!v->status) check_shapes(v);
  if (!v->status) check_layout(v);
  if (!v->status) check_times(v);
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i)
    rule(v, plan->why[i] && *plan->why[i], mok_plan_fields[i].name, 0, "every number has a reason");
  return v->status;
}
