/* mok_layout.h: a loop over the regions, the counters' words, and assertions that tie the numbers to the plan. */
#include <string.h>

#include "emit_impl.h"

static const char *const space_docs[MOK_NUM_SPACES] = {
    [MOK_SPACE_HEAP] = "heap: symmetric, the same on every rank; peers read and write it",
    [MOK_SPACE_LOCAL] = "local: this rank's workspace",
    [MOK_SPACE_SHARED] = "shared: dynamic shared memory of one CTA; regions of two roles may overlap",
};

static void put_region(mok_writer *w, const mok_region *region) {
  const char *role = *region->role ? mok_w_format(w, "%s: ", region->role) : "";
  const char *shape = region->columns == 1 ? mok_w_format(w, "%lld %s", (long long)region->rows, region->element)
                                           : mok_w_format(w, "%lld x %lld %s", (long long)region->rows,
                                                          (long long)region->columns, region->element);
  mok_w_define(w, mok_w_upper(w, "LAYOUT_", region->name, "_OFFSET"), mok_w_format(w, "%lldLL", (long long)region->offset),
               mok_w_format(w, "%s%s: %s", role, shape, region->doc));
  mok_w_define(w, mok_w_upper(w, "LAYOUT_", region->name, "_BYTES"), mok_w_format(w, "%lldLL", (long long)region->bytes), "");
}

static void put_counters(mok_writer *w, const mok_kernel_view *view, const mok_plan *plan) {
  mok_w_heading(w, (mok_loc){0}, "Words of a counter set.");
  mok_w_open(w, "enum");
  for (size_t i = 0; i < view->counter_count; ++i) {
    const mok_ir_counter *counter = &view->counters[i];
    mok_w_enumerator(w, counter->constant, mok_w_int(w, counter->word),
                     mok_w_format(w, "%lld, one per %s", (long long)counter->words,
                                  counter->per == MOK_IR_ROW_BLOCK ? "row block" : "token block"));
  }
  const mok_region *counters = mok_layout_find(&plan->layout, "counters");
  mok_w_enumerator(w, "COUNTER_WORDS", mok_w_int(w, counters ? counters->columns : 0), "");
  mok_w_close(w, ";");
}

/* Sizes that the primitives take for granted, in the plan's words. */
static const struct {
  const char *region, *bytes;
} expected[] = {
    {"flags", "2LL * PLAN_GPUS * 128"},
    {"x", "2LL * PLAN_TOKENS_PER_GPU * PLAN_HIDDEN"},
    {"route_offsets", "4LL * (PLAN_EXPERTS + 1)"},
    {"route_list", "4LL * PLAN_TOKENS_PER_GPU * PLAN_TOP_K"},
    {"combine", "2LL * PLAN_TOKENS_PER_GPU * PLAN_TOP_K * PLAN_HIDDEN"},
    {"counters", "2LL * 4 * COUNTER_WORDS"},
    {"row_source", "8LL * PLAN_CAPACITY_ROWS"},
    {"ring_x", "2LL * PLAN_RING_ROWS * PLAN_HIDDEN"},
    {"ring_h", "2LL * PLAN_RING_ROWS * PLAN_INTERMEDIATE"},
    {"ring_y", "2LL * PLAN_RING_ROWS * PLAN_HIDDEN"},
    {"shared_h", "2LL * PLAN_TOKENS_PER_GPU * PLAN_SHARED_INTERMEDIATE"},
    {"shared_y", "2LL * PLAN_TOKENS_PER_GPU * PLAN_HIDDEN"},
};

static void put_assertions(mok_writer *w, const mok_plan *plan) {
  mok_w_line(w, "static_assert(LAYOUT_HEAP_BYTES == PLAN_SYMMETRIC_BYTES, \"the plan counts the heap\");");
  mok_w_line(w, "static_assert(LAYOUT_LOCAL_BYTES == PLAN_LOCAL_BYTES, \"the plan counts the local workspace\");");
  mok_w_line(w, "static_assert(LAYOUT_SHARED_BYTES <= PLAN_SHARED_BYTES_PER_CTA, \"a CTA has the shared memory\");");
  mok_w_line(w, "static_assert(PLAN_RING_SLOTS * PLAN_ROW_PADDING == PLAN_RING_ROWS, \"a slot holds a row block\");");
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i)
    if (mok_layout_find(&plan->layout, expected[i].region))
      mok_w_line(w, "static_assert(%s == %s, \"%s has its size\");", mok_w_upper(w, "LAYOUT_", expected[i].region, "_BYTES"),
                 expected[i].bytes, expected[i].region);
}

mok_status mok_emit_layout(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_blob *out) {
  mok_writer writer = mok_writer_make(arena), *w = &writer;
  mok_w_heading(w, (mok_loc){0}, "Memory of %s on %lld x %s: byte offsets and sizes of every region in its space.",
                plan->model->name, (long long)plan->model->gpus, plan->gpu.name);
  mok_w_directive(w, "#ifndef LAYOUT_H");
  mok_w_directive(w, "#define LAYOUT_H");
  mok_w_blank(w);
  mok_w_directive(w, "#include \"mok_plan.h\"");
  for (int space = 0; space < MOK_NUM_SPACES; ++space) {
    mok_w_blank(w);
    mok_w_heading(w, (mok_loc){0}, "%s", space_docs[space]);
    for (size_t i = 0; i < plan->layout.count; ++i)
      if ((int)plan->layout.regions[i].space == space) put_region(w, &plan->layout.regions[i]);
    mok_w_define(w, mok_w_upper(w, "LAYOUT_", mok_space_name((mok_space)space), "_BYTES"),
                 mok_w_format(w, "%lldLL", (long long)plan->layout.bytes[space]), "all of them");
  }
  mok_w_blank(w);
  put_counters(w, view, plan);
  mok_w_blank(w);
  mok_emission e = {.w = w, .view = view, .plan = plan};
  mok_emit_maps(&e);
  mok_w_blank(w);
  put_assertions(w, plan);
  mok_w_blank(w);
  mok_w_directive(w, "#endif");
  return mok_writer_finish(w, "mok_layout.h", out);
}
