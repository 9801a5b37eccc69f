/* plan.txt: the plan as a page. */
#include <inttypes.h>
#include <string.h>

#include "internal.h"

#define D PRId64
enum { VALUE_COLUMN = 30, UNIT_COLUMN = 46, REASON_COLUMN = 56, BAR = 40 };

typedef struct page {
  mok_buf *out;
  const mok_plan *plan;
  mok_arena *arena;
} page;

static void title(const page *pg, const char *text) { mok_buf_printf(pg->out, "\n%s\n", text); }

/* name = value unit   # reason */
static void line(const page *pg, const char *name, const char *value, const char *unit, const char *reason) {
  mok_buf_printf(pg->out, "  %s", name);
  mok_buf_pad_to(pg->out, VALUE_COLUMN);
  mok_buf_printf(pg->out, "= %s", value);
  mok_buf_pad_to(pg->out, UNIT_COLUMN);
  mok_buf_printf(pg->out, "%s", unit);
  mok_buf_pad_to(pg->out, REASON_COLUMN);
  mok_buf_printf(pg->out, "# %s\n", reason);
}

static const char *name_of(const page *pg, const mok_plan_info *f) {
  if (*f->sub) return mok_arena_printf(pg->arena, "%s.%s.%s", f->group, f->sub, f->key);
  if (*f->group) return mok_arena_printf(pg->arena, "%s.%s", f->group, f->key);
  return f->key;
}

static const char *value_of(const page *pg, const mok_plan_info *f) {
  const void *at = (const char *)pg->plan + f->offset;
  switch (f->kind) {
    case MOK_PK_US:
      return mok_decimal(pg->arena, *(const double *)at, 3);
    case MOK_PK_WORD:
      for (size_t i = 0; i < MOK_NUM_FIELDS; ++i)
        if (strcmp(mok_fields[i].name, f->name) == 0) return mok_field_word(pg->arena, &mok_fields[i], *(const int64_t *)at);
      break;
    case MOK_PK_INT:
      break;
  }
  return mok_arena_printf(pg->arena, "%" D, *(const int64_t *)at);
}

static void field(const page *pg, mok_plan_id id) {
  const mok_plan_info *f = &mok_plan_fields[id];
  line(pg, name_of(pg, f), value_of(pg, f), f->unit, pg->plan->why[id]);
}

/* Every field of `group`, in the order of the list. */
static void group(const page *pg, const char *heading, const char *name) {
  title(pg, heading);
  for (size_t i = 0; i < MOK_NUM_PLAN; ++i)
    if (strcmp(mok_plan_fields[i].group, name) == 0) field(pg, (mok_plan_id)i);
}

static const char *word(const page *pg, mok_field_id id, int64_t value) {
  return mok_field_word(pg->arena, &mok_fields[id], value);
}

static void header(const page *pg) {
  const mok_plan *p = pg->plan;
  const mok_model *m = p->model;
  mok_buf_printf(pg->out, "%s on %" D " x %s (%s), by mokgen %s\n\n", m->name, m->gpus, p->gpu.name, p->gpu.arch, MOKGEN_VERSION);
  mok_buf_printf(pg->out,
                 "  layer      hidden %" D ", intermediate %" D ", %" D " experts (%" D " on a rank), top %" D ", %s, %s",
                 m->hidden, m->intermediate, m->experts, mok_local_experts_max(m), m->top_k,
                 word(pg, MOK_FIELD_activation, m->activation), word(pg, MOK_FIELD_dtype, m->dtype));
  if (m->clamp.present) mok_buf_puts(pg->out, ", clamped");
  mok_buf_putc(pg->out, '\n');
  if (m->shared_experts > 0)
    mok_buf_printf(pg->out, "             %" D " shared expert%s, %" D " columns together\n", m->shared_experts,
                   m->shared_experts == 1 ? "" : "s", m->shared_intermediate);
  mok_buf_printf(pg->out, "  workload   %" D " tokens on each rank, %s\n", m->tokens_per_gpu,
                 m->passes & MOK_PASS_BACKWARD ? "forward and backward" : "forward");
  mok_buf_printf(pg->out, "  GPU facts  %s\n", p->gpu.source);
}

static void bar(const page *pg, double part, double whole) {
  const int length = whole > 0 ? (int)(part / whole * BAR + 0.5) : 0;
  for (int i = 0; i < length && i < BAR; ++i) mok_buf_putc(pg->out, '#');
}

static void floor_row(const page *pg, const char *name, double us, double whole, const char *reason) {
  mok_buf_printf(pg->out, "  %s", name);
  mok_buf_pad_to(pg->out, 16);
  const char *text = mok_decimal(pg->arena, us, 1);
  mok_buf_pad_to(pg->out, 28 - (int)strlen(text));
  mok_buf_printf(pg->out, "%s us  ", text);
  bar(pg, us, whole);
  mok_buf_pad_to(pg->out, 34 + BAR);
  mok_buf_printf(pg->out, "# %s\n", reason);
}

static void floors(const page *pg) {
  const mok_plan *p = pg->plan;
  const mok_load load = mok_load_of(p->model);
  const double whole = p->forward_us;
  title(pg, "Floors of the layer, whatever the plan, against the prediction");
  floor_row(pg, "products", mok_products_floor_us(&load, &p->gpu), whole,
            mok_arena_printf(pg->arena, "no padding, %s TFLOP/s",
                             mok_short_text(pg->arena, load.element_bytes == 2 ? p->gpu.bf16_tflops : p->gpu.fp8_tflops)));
  floor_row(pg, "wire", p->wire_us, whole, p->why[MOK_PLAN_wire_us]);
  floor_row(pg, "memory", mok_memory_floor_us(&load, &p->gpu), whole,
            mok_arena_printf(pg->arena, "every row and weight once, %s GB/s", mok_short_text(pg->arena, p->gpu.memory_gbs)));
  floor_row(pg, "predicted", p->forward_us, whole, p->why[MOK_PLAN_forward_us]);
}

static void map_of(const page *pg, mok_space space, const char *heading) {
  const mok_plan *p = pg->plan;
  title(pg, heading);
  for (size_t i = 0; i < p->layout.count; ++i) {
    const mok_region *r = &p->layout.regions[i];
    if (r->space != space) continue;
    mok_buf_printf(pg->out, "  %14" D "  %s", r->offset, r->name);
    mok_buf_pad_to(pg->out, 36);
    mok_buf_printf(pg->out, "%" D " x %" D " %s", r->rows, r->columns, r->element);
    mok_buf_pad_to(pg->out, REASON_COLUMN + 4);
    mok_buf_printf(pg->out, "%9s", mok_bytes_text(pg->arena, r->bytes));
    mok_buf_pad_to(pg->out, REASON_COLUMN + 16);
    mok_buf_printf(pg->out, "# %s%s%s\n", *r->role ? r->role : "", *r->role ? ": " : "", r->doc);
  }
  mok_buf_printf(pg->out, "  %14" D "  end\n", p->layout.bytes[space]);
}

static void memory_row(const page *pg, const char *name, int64_t bytes) {
  const char *text = mok_bytes_text(pg->arena, bytes);
  mok_buf_printf(pg->out, "  %s", name);
  mok_buf_pad_to(pg->out, 28 - (int)strlen(text));
  mok_buf_printf(pg->out, "%s  ", text);
  bar(pg, (double)bytes, (double)pg->plan->gpu.memory_bytes);
  mok_buf_putc(pg->out, '\n');
}

static void memory(const page *pg) {
  const mok_plan *p = pg->plan;
  group(pg, "Memory of one GPU", "memory");
  mok_buf_putc(pg->out, '\n');
  memory_row(pg, "weights", p->weight_bytes);
  memory_row(pg, "workspace", p->symmetric_bytes + p->local_bytes);
  if (p->saved_bytes > 0) memory_row(pg, "saved, a layer", p->saved_bytes);
  memory_row(pg, p->gpu.name, p->gpu.memory_bytes);
}

static void warnings(const page *pg) {
  title(pg, "What idles and what overruns");
  for (size_t i = 0; i < pg->plan->warning_count; ++i) mok_buf_printf(pg->out, "  %s\n", pg->plan->warnings[i]);
  if (pg->plan->warning_count == 0) mok_buf_puts(pg->out, "  nothing to speak of\n");
}

void mok_plan_explain(const mok_plan *plan, mok_buf *out) {
  const page self = {out, plan, out->arena}, *pg = &self;
  header(pg);
  floors(pg);
  warnings(pg);
  group(pg, "Time of a layer, predicted by the cost model", "predicted");
  group(pg, "SM split", "sms");
  for (mok_plan_id id = MOK_PLAN_grid; id <= MOK_PLAN_cluster; ++id) field(pg, id);
  group(pg, "Tiles", "tiles");
  group(pg, "Waves and the minibatch", "minibatch");
  group(pg, "Ring", "ring");
  group(pg, "Rows", "routing");
  group(pg, "Bytes on the wire, a layer and rank", "wire");
  group(pg, "Schedule", "schedule");
  memory(pg);
  map_of(pg, MOK_SPACE_SHARED,
         plan->comm == MOK_COMM_WARPS ? "Shared memory of one CTA" : "Shared memory of one CTA (its role's part of it)");
  map_of(pg, MOK_SPACE_HEAP, "Symmetric heap of one rank");
  map_of(pg, MOK_SPACE_LOCAL, "Local workspace of one rank");
}
