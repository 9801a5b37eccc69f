/* Rows from memory to memory through shared memory, as communication SMs move them (templates/sm90/move.h): each warp has a ring
 * of slots, half of it arriving while the other half is leaving; lane 0 issues a bulk copy for each piece of a row.
 *
 * Compiled with ROW_BYTES, PIECE_BYTES and SLOTS.
 */
#define MOK_FN static __device__ __forceinline__
#include "ptx.h"

enum { PIECES = ROW_BYTES / PIECE_BYTES, ARRIVING = (SLOTS + 1) / 2, WARP = 32 };
static_assert(PIECES * PIECE_BYTES == ROW_BYTES && PIECE_BYTES % 16 == 0, "a row is whole pieces of whole bulk copies");

/* Moves row n of `from` to row n of `to`, n = 0, 1, ..; each has mask + 1 rows, a power of two, and begins anew behind the last.
 * The scattered one is gone through far from row to row. */
struct movement {
  char *to;
  const char *from;
  unsigned to_mask, from_mask;
  int scatter_to, scatter_from;
};

MOK_FN long long offset_of(unsigned n, unsigned mask, int scatter) {
  return (long long)((scatter ? n * 2654435761u : n) & mask) * ROW_BYTES;
}

/* Warps below `split` share the rows of `a`, the others those of `b`. */
extern "C" __global__ void move_rows(const movement a, const movement b, int split, unsigned rows) {
  extern __shared__ __align__(128) char shared[];
  if (threadIdx.x % WARP != 0) return;
  const int warp = (int)threadIdx.x / WARP, warps = (int)blockDim.x / WARP;
  const movement m = warp < split ? a : b;
  const unsigned slots = mok_ptx_shared_address(shared) + warp * SLOTS * PIECE_BYTES;
  const unsigned barriers = mok_ptx_shared_address(shared) + warps * SLOTS * PIECE_BYTES + warp * SLOTS * 8;
  for (int slot = 0; slot < SLOTS; ++slot) mok_ptx_barrier_init(barriers + slot * 8, 1);
  mok_ptx_fence_barrier_init();

  const unsigned team = warp < split ? split : warps - split;
  const unsigned first = blockIdx.x * team + (warp < split ? warp : warp - split), stride = gridDim.x * team;
  const unsigned pieces = first < rows ? ((rows - first - 1) / stride + 1) * PIECES : 0;
  unsigned arriving = 0, leaving = 0, parity = 0;
  for (unsigned i = 0; i < pieces + ARRIVING; ++i) {
    if (i >= ARRIVING && i - ARRIVING < pieces) {
      const unsigned row = first + (i - ARRIVING) / PIECES * stride, piece = (i - ARRIVING) % PIECES;
      char *there = m.to + offset_of(row, m.to_mask, m.scatter_to) + piece * PIECE_BYTES;
      while (!mok_ptx_barrier_try_wait(barriers + leaving * 8, parity)) {
      }
      mok_ptx_bulk_store(there, slots + leaving * PIECE_BYTES, PIECE_BYTES);
      mok_ptx_bulk_commit();
      leaving = leaving + 1 == SLOTS ? 0 : leaving + 1;
      parity ^= leaving == 0;
    }
    if (i < pieces) {
      const unsigned row = first + i / PIECES * stride, piece = i % PIECES;
      const char *here = m.from + offset_of(row, m.from_mask, m.scatter_from) + piece * PIECE_BYTES;
      mok_ptx_bulk_wait_read<SLOTS - ARRIVING>(); /* the slot's last piece has left */
      mok_ptx_barrier_expect(barriers + arriving * 8, PIECE_BYTES);
      mok_ptx_bulk_load(slots + arriving * PIECE_BYTES, here, PIECE_BYTES, barriers + arriving * 8);
      arriving = arriving + 1 == SLOTS ? 0 : arriving + 1;
    }
  }
  mok_ptx_bulk_wait<0>();
}
