/* allocate-rings: every region gets its place from the plan's layout; rings get their slot arithmetic.
 *
 *   region ring_x : memref<?x7168xbf16>  ->  ... in(local) at(0) bytes(...) slot(row_block mod ring_slots)
 *
 * A region that tasks on row blocks write is a ring. Regions that only barriers, counters and shared memory need are declared
 * here, so that the module states the whole memory map, in its order.
 */
#include <string.h>

#include "pass_impl.h"

const char *mok_pass_region_type(mok_arena *arena, const mok_region *region) {
  const char *element = region->element;
  int64_t columns = region->columns;
  if (strcmp(element, "u32") == 0) element = "ui32";
  if (strcmp(element, "byte") == 0) element = "i8";
  if (strcmp(element, "route") == 0) {
    element = "i32";
    columns *= 2; /* rank, route */
  }
  return columns == 1 ? mok_arena_printf(arena, "memref<?x%s>", element)
                      : mok_arena_printf(arena, "memref<?x%lldx%s>", (long long)columns, element);
}

static mok_status place(mok_pass_context *context, MlirOperation op, const mok_region *region, MlirType type) {
  if (!mlirTypeEqual(mlirTypeAttrGetValue(mok_op_get(op, "type")), type))
    return mok_pass_fail(context, op, "region @%s: the plan's layout holds %s", region->name,
                         mok_pass_region_type(context->arena, region));
  mok_op_set(op, "space", mok_attr_text(context->context, mok_space_name(region->space)));
  mok_op_set(op, "offset", mok_attr_int(context->context, region->offset));
  mok_op_set(op, "bytes", mok_attr_int(context->context, region->bytes));
  return MOK_OK;
}

static MlirOperation declare(mok_pass_context *context, const mok_region *region, MlirType type) {
  mok_draft draft = mok_draft_make(context->context, mlirOperationGetLocation(context->kernel), "mok.region");
  mok_draft_text(&draft, "sym_name", region->name);
  mok_draft_set(&draft, "type", mlirTypeAttrGet(type));
  return mok_pass_declare(context, &draft);
}

static bool written_by_row_blocks(const mok_kernel_view *view, const char *name) {
  for (size_t p = 0; p < view->product_count; ++p)
    if (view->products[p].out.region && strcmp(view->products[p].out.name, name) == 0)
      return view->products[p].rows == MOK_IR_ROW_BLOCK;
  for (size_t p = 0; p < view->phase_count; ++p)
    for (size_t i = 0; i < view->phases[p].item_count; ++i) {
      const mok_ir_role *role = view->phases[p].items[i].role;
      for (size_t w = 0; role && w < role->worker_count; ++w)
        for (size_t t = 0; t < role->workers[w].task_count; ++t) {
          const mok_ir_task *task = &role->workers[w].tasks[t];
          if (task->space != MOK_IR_ROW_BLOCK_PIECE) continue;
          for (size_t s = 0; s < task->op_count; ++s)
            for (size_t k = 0; k < task->ops[s].write_count; ++k)
              if (task->ops[s].kind == MOK_IR_PULL && strcmp(task->ops[s].writes[k].name, name) == 0) return true;
        }
    }
  return false;
}

static mok_status run(mok_pass_context *context) {
  const mok_plan *plan = context->plan;
  const mok_kernel_view *view = mok_kernel_view_of(context->arena, context->kernel);
  if (plan->ring_slots * plan->row_padding != plan->ring_rows)
    return mok_pass_fail(context, context->kernel, "%lld ring slots of %lld rows are not the ring's %lld rows",
                         (long long)plan->ring_slots, (long long)plan->row_padding, (long long)plan->ring_rows);
  MlirOperation last = {NULL}; /* regions end up in the order of the memory map */
  for (size_t i = 0; i < plan->layout.count; ++i) {
    const mok_region *region = &plan->layout.regions[i];
    MlirType type = mok_type(context->context, context->arena, "%s", mok_pass_region_type(context->arena, region));
    MlirOperation op = mok_kernel_symbol(context->kernel, region->name);
    if (mlirOperationIsNull(op)) op = declare(context, region, type);
    if (!mok_op_is(op, "mok.region"))
      return mok_pass_fail(context, op, "@%s is the name of a region of the layout", region->name);
    MOK_TRY(place(context, op, region, type));
    if (!mlirOperationIsNull(last)) mlirOperationMoveAfter(op, last);
    last = op;
    if (!written_by_row_blocks(view, region->name)) continue;
    if (region->rows != plan->ring_rows)
      return mok_pass_fail(context, op, "@%s has %lld rows, a ring has %lld", region->name, (long long)region->rows,
                           (long long)plan->ring_rows);
    mok_op_set(op, "slots", mok_attr_text(context->context, "ring_slots"));
  }
  for (size_t i = 0; i < view->region_count; ++i) {
    if (mok_layout_find(&plan->layout, view->regions[i].name)) continue;
    return mok_pass_fail(context, mok_kernel_symbol(context->kernel, view->regions[i].name),
                         "region @%s has no place in the plan's layout", view->regions[i].name);
  }
  return MOK_OK;
}

const mok_pass mok_pass_allocate_rings = {
    .name = "allocate-rings",
    .summary = "offsets of all regions in heap, local and shared memory; slots of the rings",
    .requires_ = "tiles and spaces",
    .guarantees = "every region has space, offset and bytes; a ring its slot arithmetic",
    .run = run,
};
