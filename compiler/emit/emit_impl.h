/* Parts of the emitter; private to compiler/emit. Every function prints one thing from plan or view and decides nothing. */
#ifndef MOK_EMIT_IMPL_H
#define MOK_EMIT_IMPL_H

#include "../ir/ir_query.h"
#include "emit.h"
#include "writer.h"

/* What the functions below read. */
typedef struct mok_emission {
  mok_writer *w;
  const mok_kernel_view *view;
  const mok_plan *plan;
  /* of kernel.cu */
  mok_writer *names;           /* lines of the manifest */
  const mok_ir_worker *worker; /* that is being printed */
  const mok_ir_task *task;
} mok_emission;

/* mok_plan.h. `digest` NULL: without its digest line, as text to be digested. */
MOK_MUST_USE mok_status mok_emit_plan(mok_arena *arena, const mok_plan *plan, const char *digest, mok_blob *out);
MOK_MUST_USE mok_status mok_emit_layout(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_blob *out);
/* names: lines of the manifest by which the runtime calls an abort record's numbers by their names (runtime/names.h). */
MOK_MUST_USE mok_status mok_emit_kernel(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_blob *out,
                                        mok_blob *names);

/* Tensor maps: the operands of every product. Enumerator of an operand's map, "MAP_UP_RING_X"; the enum of all of them; their
 * recipes as lines of the manifest, in that order. */
const char *mok_map_constant(mok_emission *e, const mok_ir_product *product, const char *operand);
void mok_emit_maps(mok_emission *e);
MOK_MUST_USE mok_status mok_emit_map_recipes(mok_arena *arena, const mok_kernel_view *view, const mok_plan *plan, mok_blob *out);

/* Sections of kernel.cu. */
void mok_emit_head(mok_emission *e);  /* comment, include */
void mok_emit_enums(mok_emission *e); /* tasks, roles, barriers, extents, targets */
void mok_emit_activation(mok_emission *e);
void mok_emit_products(mok_emission *e);    /* one struct each */
void mok_emit_task_orders(mok_emission *e); /* one function per distinct list of tasks */
void mok_emit_workers(mok_emission *e);     /* one function each */
void mok_emit_entry(mok_emission *e);

/* The emitter met a view it cannot print: kept in the writer, MOK_ERR_CODEGEN at `loc`. */
void mok_emit_fail(mok_emission *e, mok_loc loc, const char *what);

/* Calls `visit` for every worker in order. */
typedef void (*mok_worker_visit)(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker);
void mok_each_worker(mok_emission *e, mok_worker_visit visit);
/* The worker with a step of this kind on the product; NULL: none. */
const mok_ir_worker *mok_worker_of(const mok_kernel_view *view, const mok_ir_product *product, mok_ir_op_kind kind);

/* Rows of its a are gathered: no block of memory holds them, so no map loads them. */
bool mok_gathers(const mok_kernel_view *view, const mok_ir_product *product);

/* A worker's tasks make a loop: they have a place in the phase's order. */
bool mok_worker_loops(const mok_ir_worker *worker);
/* Name of the function that gives a looping worker's tasks; workers of a role with the same tasks share it. */
const char *mok_task_order_name(mok_emission *e, const mok_ir_role *role, const mok_ir_worker *worker);

const char *mok_factors_text(mok_emission *e, const mok_ir_factors *factors); /* "UP_COLUMNS * MMA_INSTANCES" */

#endif
