/* kernel.cu: the entry, phase by phase. Roles between two barriers run at once. */
#include <string.h>

#include "emit_impl.h"

static void put_spawns(mok_emission *e, const mok_ir_role *role) {
  for (size_t i = 0; i < role->worker_count; ++i) {
    const mok_ir_worker *worker = &role->workers[i];
    mok_w_line(e->w, "mok_spawn<%s, %s, %s>(c, %s);", worker->first_warp.text, worker->warps.text, worker->instances.text,
               mok_w_name(e->w, worker->function));
  }
}

static void put_role_switch(mok_emission *e, const mok_ir_item *items, size_t count) {
  if (count != 2 || !items[0].role->enumerator || !items[1].role->enumerator) {
    mok_emit_fail(e, items[0].role->loc, "roles that do not split the CTAs in two");
    return;
  }
  mok_w_line(e->w, "mok_roles(c, args.%s, args.%s);", mok_w_name(e->w, items[0].role->argument),
             mok_w_name(e->w, items[1].role->argument));
  mok_w_open(e->w, "switch (c->role)");
  for (size_t i = 0; i < count; ++i) {
    mok_w_label(e->w, "case %s:", mok_w_name(e->w, items[i].role->enumerator));
    put_spawns(e, items[i].role);
    mok_w_line(e->w, "break;");
  }
  mok_w_close(e->w, "");
}

static bool loops_over_rows(const mok_ir_item *items, size_t count) {
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < items[i].role->worker_count; ++k)
      for (size_t t = 0; t < items[i].role->workers[k].task_count; ++t)
        if (items[i].role->workers[k].tasks[t].per_minibatch) return true;
  return false;
}

/* Roles that run at once: from items[0] to the next barrier. `split` is what mok_roles last said; -1: nothing in this phase. */
static void put_roles(mok_emission *e, const mok_ir_item *items, size_t count, int *split) {
  if (loops_over_rows(items, count)) mok_w_line(e->w, "mok_read_routing(c);");
  if (count == 1 && !items[0].role->enumerator) {
    if (*split != 0) mok_w_line(e->w, "mok_roles(c, 0, 0);");
    put_spawns(e, items[0].role);
    *split = 0;
  } else {
    put_role_switch(e, items, count);
    *split = 1;
  }
  mok_w_line(e->w, "mok_join(c);");
}

static void put_phase(mok_emission *e, const mok_ir_phase *phase) {
  mok_w_open(e->w, "if (mok_phase(c, %s))", mok_w_name(e->w, phase->constant));
  int split = -1;
  for (size_t i = 0; i < phase->item_count;) {
    const mok_ir_barrier *barrier = phase->items[i].barrier;
    if (barrier) {
      if (barrier->rank) mok_w_line(e->w, "mok_rank_barrier(c, %s);", mok_w_name(e->w, barrier->constant));
      else mok_w_line(e->w, "mok_grid_barrier(c);");
      ++i;
      continue;
    }
    size_t count = 0;
    while (i + count < phase->item_count && phase->items[i + count].role) ++count;
    put_roles(e, &phase->items[i], count, &split);
    i += count;
  }
  mok_w_close(e->w, "");
}

void mok_emit_entry(mok_emission *e) {
  mok_w_blank(e->w);
  mok_w_open(e->w, "MOK_KERNEL void %s(const MOK_GRID_CONSTANT mok_args args)", mok_w_name(e->w, e->view->function));
  mok_w_line(e->w, "mok_cta cta = mok_enter(&args);");
  mok_w_line(e->w, "mok_cta *c = &cta;");
  mok_w_blank(e->w);
  for (size_t i = 0; i < e->view->phase_count; ++i) put_phase(e, &e->view->phases[i]);
  mok_w_line(e->w, "mok_leave(c);");
  mok_w_close(e->w, "");
}
