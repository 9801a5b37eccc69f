/* Regions a forward plan has (rows x columns, element):
 *
 *   heap   flags           2R x 32 u32      one 128-byte line per (rank barrier, peer)
 *          x               T x H bf16       only for R > 1: dispatch reads peers' rows here (R = 1 reads the caller's x)
 *          route_offsets   E+1 i32          first entry of each expert in route_list; the last one is the number of valid routes
 *          route_list      T*k i32          this rank's valid routes (token*k + slot), stable-sorted by expert
 *          combine         T*k x H bf16     y of each route, written by the expert's owner
 *   local  control         8 x 32 u32       lines: epoch, ticket, exits, grid barrier, abort, error record (2 lines), spare
 *          counters        2 x W u32        two sets by epoch parity; W words: x_ready, h_ready, y_ready, y_done per row block
 *                                           (capacity_rows / row_padding each), then shared_h_ready per token block; without
 *                                           ring_y h_done in place of the two of y, without ring_x no x_ready
 *          expert_base     E_local_max+1 i32  first padded row of each local expert; the last one is the total
 *          expert_rows     E_local_max i32    real rows of each local expert
 *          block_expert    row blocks i32     local expert and real rows of each row block
 *          row_source      capacity_rows route  {i32 rank, i32 route} of each padded row; rank -1: padding
 *          ring_x ring_h ring_y   ring_rows x H | I | H bf16; no ring_y with comm = epilogue; R = 1 with own_rows = direct has
 *                                           only ring_h, and no slots below
 *          shared_h shared_y      T x shared_intermediate | H bf16, only with a shared expert
 *   shared pipeline        stages x bytes of the larger stage   compute; both products use the same stages, A before B
 *          staging         m x min(n, 128) + 8 bf16             compute; a wider tile leaves in pieces of 128 columns
 *          barriers        2 x stages mbarriers                 compute; full, then empty
 *          slots           (pull_warps + push_warps) * warp_slots x slot_bytes   comm; pulling warps first
 *          slot_barriers   one mbarrier per slot                comm
 *          cta             64 u32                               every role: what one thread tells its CTA
 *
 * Memory layout: one table of regions per space, computed once, emitted as mok_layout.h and stated in the module.
 *
 * Spaces: heap (symmetric, same on every rank, peers read and write it), local (this rank's workspace), shared (one CTA).
 */
#ifndef MOK_LAYOUT_H
#define MOK_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

typedef enum mok_space { MOK_SPACE_HEAP, MOK_SPACE_LOCAL, MOK_SPACE_SHARED, MOK_NUM_SPACES } mok_space;

typedef struct mok_region {
  const char *name; /* identifier: "ring_x" -> LAYOUT_RING_X */
  mok_space space;
  const char *element;   /* "bf16", "i32", "u32", "f32", "route" (8 bytes), "byte" */
  int64_t rows, columns; /* shape; columns = 1 for vectors */
  int64_t offset, bytes; /* in its space; offset is a multiple of `align` */
  int64_t align;
  const char *role; /* shared space: the role that uses it ("comm", "compute"); regions of two roles may overlap. Else "" */
  const char *doc;
} mok_region;

typedef struct mok_layout {
  const mok_region *regions; /* by space, then offset */
  size_t count;
  int64_t bytes[MOK_NUM_SPACES]; /* total of each space */
} mok_layout;

const mok_region *mok_layout_find(const mok_layout *layout, const char *name); /* NULL if absent */
const char *mok_space_name(mok_space space);

#endif
