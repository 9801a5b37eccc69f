/* kernel.cu: the activation, and one struct per product. */
#include <string.h>

#include "emit_impl.h"

/* The first step of this kind on the product, and who runs it. */
static const mok_ir_op *find_step(const mok_kernel_view *view, const mok_ir_product *product, mok_ir_op_kind kind,
                                  const mok_ir_worker **worker) {
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      for (size_t k = 0; role && k < role->worker_count; ++k)
        for (size_t t = 0; t < role->workers[k].task_count; ++t)
          for (size_t o = 0; o < role->workers[k].tasks[t].op_count; ++o) {
            const mok_ir_op *op = &role->workers[k].tasks[t].ops[o];
            *worker = &role->workers[k];
            if (op->kind == kind && op->product == product) return op;
          }
    }
  *worker = NULL;
  return NULL;
}

const mok_ir_worker *mok_worker_of(const mok_kernel_view *view, const mok_ir_product *product, mok_ir_op_kind kind) {
  const mok_ir_worker *worker;
  find_step(view, product, kind, &worker);
  return worker;
}

bool mok_gathers(const mok_kernel_view *view, const mok_ir_product *product) {
  return mok_worker_of(view, product, MOK_IR_LOAD_GATHERED) != NULL;
}

void mok_emit_activation(mok_emission *e) {
  const mok_ir_product *first = NULL;
  for (size_t i = 0; i < e->view->product_count; ++i) {
    const mok_ir_product *product = &e->view->products[i];
    if (!product->activation) continue;
    if (!first) first = product;
    else if (product->activation != first->activation || product->has_clamp != first->has_clamp || product->clamp != first->clamp)
      mok_emit_fail(e, product->loc, "two different activations in one kernel");
  }
  if (!first) return;
  const bool gated = first->activation->gated;
  mok_w_blank(e->w);
  mok_w_heading(e->w, first->loc, "activation %s%s", first->activation->name, first->has_clamp ? ", clamped" : "");
  mok_w_open(e->w, "MOK_FN float activate(float gate, float up)");
  if (!gated) mok_w_line(e->w, "(void)gate;");
  if (first->has_clamp) {
    if (gated) mok_w_line(e->w, "gate = mok_at_most(gate, PLAN_CLAMP);");
    mok_w_line(e->w, "up = mok_clip(up, PLAN_CLAMP);");
  }
  mok_w_line(e->w, "return %s;", first->activation->value);
  mok_w_close(e->w, "");
}

/* First row of the task's block in an operand: rings hold it in a slot, everything else by its number. */
static const char *block_text(mok_emission *e, const mok_ir_place *place, const char *type, const char *stride) {
  const char *base = place->region
                         ? mok_w_format(e->w, "mok_local_bf16(c, %s)", mok_w_upper(e->w, "LAYOUT_", place->name, "_OFFSET"))
                         : mok_w_format(e->w, "(%s)c->args->%s", type, mok_w_name(e->w, place->name));
  const bool ring = place->region && place->region->ring;
  return mok_w_format(e->w, "%s + (mok_index)t->%s * PLAN_ROW_PADDING * %s", base, ring ? "slot" : "row_block", stride);
}

static void put_constants(mok_emission *e, const mok_ir_product *p) {
  mok_writer *w = e->w;
  const mok_ir_worker *multiplier = mok_worker_of(e->view, p, MOK_IR_MMA);
  if (!multiplier) {
    mok_emit_fail(e, p->loc, "a product that no worker multiplies");
    return;
  }
  mok_w_open(w, "enum : int");
  static const char *const tile_fields[] = {"m", "n", "k", "stages"};
  for (size_t i = 0; i < sizeof tile_fields / sizeof tile_fields[0]; ++i)
    mok_w_line(w, "%s = %s,", tile_fields[i], mok_w_upper(w, "PLAN_", p->tile, mok_w_format(w, "_%s", tile_fields[i])));
  mok_w_line(w, "k_extent = %s,", mok_w_upper(w, "PLAN_", p->k_extent, ""));
  mok_w_line(w, "columns = %s,", mok_w_upper(w, "PLAN_", p->columns, ""));
  mok_w_line(w, "k_tiles = (k_extent + k - 1) / k,");
  const bool gathers = mok_gathers(e->view, p);
  mok_w_line(w, "gathered = %d,", gathers);
  mok_w_line(w, "tokens = %d,", p->rows == MOK_IR_TOKEN_BLOCK);
  if (!gathers) mok_w_line(w, "a_map = %s,", mok_map_constant(e, p, p->a.name));
  mok_w_line(w, "b_map = %s,", mok_map_constant(e, p, p->b[0]->name));
  mok_w_line(w, "gated = %d,", p->b_count == 2);
  if (!gathers) mok_w_line(w, "a_stride = k_extent,");
  if (p->out.name) mok_w_line(w, "out_stride = columns,");
  mok_w_line(w, "instances = %s,", multiplier->instances.text);
  mok_w_close(w, ";");
}

/* "ring_h", "combine of each row's route", or "combine of own rows' routes, ring_y of others" */
static const char *result_text(mok_emission *e, const mok_ir_product *p) {
  const mok_ir_worker *worker;
  const mok_ir_op *split = find_step(e->view, p, MOK_IR_STORE_SPLIT, &worker);
  if (split && split->write_count > 1)
    return mok_w_format(e->w, "%s of own rows' routes, %s of others", split->writes[1].name, p->out.name);
  if (p->out.name) return p->out.name;
  const mok_ir_op *store = find_step(e->view, p, MOK_IR_STORE_PUSHED, &worker);
  if (store && store->write_count > 0) return mok_w_format(e->w, "%s of each row's route", store->writes[0].name);
  mok_emit_fail(e, p->loc, "a product that nobody stores");
  return "";
}

/* "ring_h = activate(ring_x gate^T, ring_x up^T)"; what is gathered behind it: ", rows of x by their routes" */
static const char *formula_text(mok_emission *e, const mok_ir_product *p) {
  const char *terms = mok_w_format(e->w, "%s %s^T", p->a.name, p->b[0]->name);
  if (p->b_count == 2) terms = mok_w_format(e->w, "%s, %s %s^T", terms, p->a.name, p->b[1]->name);
  const char *gathered = !mok_gathers(e->view, p) ? ""
                         : p->a.region            ? ", own rows of x by their routes"
                                                  : ", rows of x by their routes";
  return !p->activation ? mok_w_format(e->w, "%s = %s%s", result_text(e, p), terms, gathered)
                        : mok_w_format(e->w, "%s = activate(%s)%s", result_text(e, p), terms, gathered);
}

static void put_a(mok_emission *e, const mok_ir_product *p) {
  mok_writer *w = e->w;
  if (!mok_gathers(e->view, p)) {
    mok_w_open(w, "MOK_FN static const mok_bf16 *a(const mok_cta *c, const mok_task *t)");
    mok_w_line(w, "return %s;", block_text(e, &p->a, "const mok_bf16 *", "a_stride"));
    mok_w_close(w, "");
    return;
  }
  const mok_ir_worker *worker;
  const mok_ir_op *load = find_step(e->view, p, MOK_IR_LOAD_GATHERED, &worker);
  bool from_x = false;
  for (size_t i = 0; i < load->read_count; ++i) from_x = from_x || strcmp(load->reads[i].name, "x") == 0;
  if (!from_x || (p->a.region && !p->a.region->ring)) {
    mok_emit_fail(e, p->loc, "a product that gathers rows of anything but x and a ring");
    return;
  }
  mok_w_open(w, "MOK_FN static const mok_bf16 *a_row(const mok_cta *c, const mok_task *t, int row)");
  if (p->a.region) {
    mok_w_line(w, "const mok_route source = mok_row_source(c, t, row);");
    mok_w_line(w, "const bool own = source.rank == c->args->rank;");
    mok_w_line(w, "const mok_bf16 *rows = own ? mok_published_x(c, source.rank) : mok_local_bf16(c, %s);",
               mok_w_upper(w, "LAYOUT_", p->a.name, "_OFFSET"));
    mok_w_line(w, "return rows + (mok_index)(own ? source.route / PLAN_TOP_K : t->slot * PLAN_ROW_PADDING + row) * k_extent;");
  } else {
    mok_w_line(w, "const int token = mok_row_source(c, t, row).route / PLAN_TOP_K;");
    mok_w_line(w, "return mok_published_x(c, c->args->rank) + (mok_index)token * k_extent;");
  }
  mok_w_close(w, "");
}

static void put_product(mok_emission *e, const mok_ir_product *p) {
  mok_writer *w = e->w;
  if (p->b_count < 1 || p->b_count > 2) {
    mok_emit_fail(e, p->loc, "a product of more than two weights");
    return;
  }
  mok_w_blank(w);
  mok_w_heading(w, p->loc, "product %s: %s", p->name, formula_text(e, p));
  mok_w_open(w, "struct %s", mok_w_name(w, p->structure));
  put_constants(e, p);
  put_a(e, p);
  mok_w_open(w, "MOK_FN static mok_rows b(const mok_cta *c, const mok_task *t, int half)");
  if (p->b_count == 2) {
    mok_w_line(w, "return mok_expert_rows(half == 0 ? &c->args->%s : &c->args->%s, t->expert);", mok_w_name(w, p->b[0]->name),
               mok_w_name(w, p->b[1]->name));
  } else {
    mok_w_line(w, "(void)half;");
    mok_w_line(w, "return mok_expert_rows(&c->args->%s, t->expert);", mok_w_name(w, p->b[0]->name));
  }
  mok_w_close(w, "");
  if (p->out.name) {
    mok_w_open(w, "MOK_FN static mok_bf16 *out(const mok_cta *c, const mok_task *t)");
    mok_w_line(w, "return %s;", block_text(e, &p->out, "mok_bf16 *", "out_stride"));
    mok_w_close(w, "");
  }
  mok_w_close(w, ";");
}

void mok_emit_products(mok_emission *e) {
  for (size_t i = 0; i < e->view->product_count; ++i) put_product(e, &e->view->products[i]);
}
