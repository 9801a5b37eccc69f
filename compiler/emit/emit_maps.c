/* Tensor maps: through which boxes a GPU loads the operands of the products. One map for each operand of each product, but for
 * gathered ones. */
#include <string.h>

#include "emit_impl.h"

enum { SWIZZLE_BYTES = 128, PROMOTION_BYTES = 256 };

/* Calls `visit` for every map, in order of ids, and returns their number. weight NULL: the map of the product's a. */
typedef void (*visit_map)(mok_emission *e, const mok_ir_product *product, const mok_ir_argument *weight, int id);
static int each_map(mok_emission *e, visit_map visit) {
  int id = 0;
  for (size_t i = 0; i < e->view->product_count; ++i) {
    const mok_ir_product *product = &e->view->products[i];
    if (!mok_gathers(e->view, product)) visit(e, product, NULL, id++);
    for (size_t b = 0; b < product->b_count; ++b) visit(e, product, product->b[b], id++);
  }
  return id;
}

const char *mok_map_constant(mok_emission *e, const mok_ir_product *product, const char *operand) {
  return mok_w_upper(e->w, mok_w_upper(e->w, "MAP_", product->name, "_"), operand, "");
}

static void put_enumerator(mok_emission *e, const mok_ir_product *product, const mok_ir_argument *weight, int id) {
  const char *operand = weight ? weight->name : product->a.name;
  mok_w_enumerator(e->w, mok_map_constant(e, product, operand), mok_w_int(e->w, id), "");
}

void mok_emit_maps(mok_emission *e) {
  mok_w_heading(e->w, (mok_loc){0}, "Tensor maps of a rank, MAP_<PRODUCT>_<OPERAND>.");
  mok_w_open(e->w, "enum");
  const int count = each_map(e, put_enumerator);
  mok_w_enumerator(e->w, "MAP_COUNT", mok_w_int(e->w, count), "");
  mok_w_close(e->w, ";");
}

static int64_t extent(mok_emission *e, const mok_ir_product *product, const char *name) {
  const mok_model *m = e->plan->model;
  if (strcmp(name, "hidden") == 0) return m->hidden;
  if (strcmp(name, "intermediate") == 0) return m->intermediate;
  if (strcmp(name, "shared_intermediate") == 0) return m->shared_intermediate;
  mok_emit_fail(e, product->loc, "a product with an extent of unknown size");
  return 0;
}

static void put_recipe(mok_emission *e, const mok_ir_product *p, const mok_ir_argument *weight, int id) {
  (void)id;
  mok_writer *w = e->w;
  const long long columns = (long long)extent(e, p, p->k_extent);
  const char *base;
  long long box_rows = (long long)p->m;
  if (weight) {
    base = mok_w_format(w, "weight %s %lld %lld", weight->name, (long long)extent(e, p, p->columns), columns);
    const int64_t halves = (int64_t)p->b_count, parts = halves > e->plan->cluster ? halves : e->plan->cluster;
    box_rows = (long long)(p->n / parts); /* a cluster's CTAs load a part each */
  } else if (p->a.region) {
    const mok_region *region = mok_layout_find(&e->plan->layout, p->a.name);
    if (!region) {
      mok_emit_fail(e, p->loc, "a product whose operand has no region");
      return;
    }
    base = mok_w_format(w, "local %s %lld %lld", p->a.name, (long long)region->rows, columns);
  } else {
    base = mok_w_format(w, "tokens %s %lld", p->a.name, columns);
  }
  mok_w_directive(w, "map %s.%s bf16 %s box %lld %lld swizzle %d promotion %d", p->name, weight ? weight->name : p->a.name, base,
                  box_rows, (long long)p->k, SWIZZLE_BYTES, PROMOTION_BYTES);
}

mok_status mok_emit_map_recipes(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_blob *out) {
  mok_writer writer = mok_writer_make(arena);
  mok_emission e = {.w = &writer, .view = view, .plan = plan};
  (void)each_map(&e, put_recipe);
  return mok_writer_finish(&writer, "maps", out);
}
