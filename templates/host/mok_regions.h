/* What memory a launch may touch: the regions of mok_layout.h, and what the caller gave. */
#ifndef MOK_REGIONS_H
#define MOK_REGIONS_H

enum { MOK_PIECE_BYTES = 16 }; /* what the race detector tells apart */

enum mok_space { MOK_SPACE_HEAP, MOK_SPACE_LOCAL, MOK_SPACE_SHARED, MOK_SPACE_OUT, MOK_SPACE_GIVEN };

/* One allocation, as one rank may use it. */
struct mok_memory {
  mok_space space;
  int rank; /* -1: of a CTA */
  const char *name;
  const char *base;
  long long bytes;
  unsigned *pieces; /* shadow of it (mok_shadow.h); NULL: only read */
};
enum { MOK_MEMORY_HEAP = 0, MOK_MEMORIES = 10 }; /* of a rank: heap, workspace, out, x and six weights */

/* Rows of memory: `bytes` of each, `pitch` apart. */
struct mok_span {
  const void *at;
  long long pitch;
  int rows, bytes;
};

struct mok_region {
  mok_space space;
  const char *name;
  long long offset, bytes, row_bytes;
  int element;
};

/* Without words that only barriers and counters touch: no other access may. */
static const mok_region mok_regions[] = {
#if PLAN_GPUS > 1
    {MOK_SPACE_HEAP, "x", LAYOUT_X_OFFSET, LAYOUT_X_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
    {MOK_SPACE_HEAP, "route_offsets", LAYOUT_ROUTE_OFFSETS_OFFSET, LAYOUT_ROUTE_OFFSETS_BYTES, 4, 4},
    {MOK_SPACE_HEAP, "route_list", LAYOUT_ROUTE_LIST_OFFSET, LAYOUT_ROUTE_LIST_BYTES, 4, 4},
    {MOK_SPACE_HEAP, "combine", LAYOUT_COMBINE_OFFSET, LAYOUT_COMBINE_BYTES, 2LL * PLAN_HIDDEN, 2},
    {MOK_SPACE_LOCAL, "expert_base", LAYOUT_EXPERT_BASE_OFFSET, LAYOUT_EXPERT_BASE_BYTES, 4, 4},
    {MOK_SPACE_LOCAL, "expert_rows", LAYOUT_EXPERT_ROWS_OFFSET, LAYOUT_EXPERT_ROWS_BYTES, 4, 4},
    {MOK_SPACE_LOCAL, "block_expert", LAYOUT_BLOCK_EXPERT_OFFSET, LAYOUT_BLOCK_EXPERT_BYTES, 4, 4},
    {MOK_SPACE_LOCAL, "row_source", LAYOUT_ROW_SOURCE_OFFSET, LAYOUT_ROW_SOURCE_BYTES, 8, 8},
#ifdef LAYOUT_RING_X_OFFSET
    {MOK_SPACE_LOCAL, "ring_x", LAYOUT_RING_X_OFFSET, LAYOUT_RING_X_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
    {MOK_SPACE_LOCAL, "ring_h", LAYOUT_RING_H_OFFSET, LAYOUT_RING_H_BYTES, 2LL * PLAN_INTERMEDIATE, 2},
#ifdef LAYOUT_RING_Y_OFFSET
    {MOK_SPACE_LOCAL, "ring_y", LAYOUT_RING_Y_OFFSET, LAYOUT_RING_Y_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
#ifdef LAYOUT_SHARED_H_OFFSET
    {MOK_SPACE_LOCAL, "shared_h", LAYOUT_SHARED_H_OFFSET, LAYOUT_SHARED_H_BYTES, 2LL * PLAN_SHARED_INTERMEDIATE, 2},
    {MOK_SPACE_LOCAL, "shared_y", LAYOUT_SHARED_Y_OFFSET, LAYOUT_SHARED_Y_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
    {MOK_SPACE_OUT, "out", 0, 1LL << 62, 2LL * PLAN_HIDDEN, 2},
    {MOK_SPACE_SHARED, "pipeline", LAYOUT_PIPELINE_OFFSET, LAYOUT_PIPELINE_BYTES, 1, 1},
    {MOK_SPACE_SHARED, "staging", LAYOUT_STAGING_OFFSET, LAYOUT_STAGING_BYTES, 1, 1},
#ifdef LAYOUT_SLOTS_OFFSET
    {MOK_SPACE_SHARED, "slots", LAYOUT_SLOTS_OFFSET, LAYOUT_SLOTS_BYTES, 1, 1},
#endif
};

MOK_HOST_UNCHECKED static inline bool mok_memory_holds(const mok_memory *memory, const char *at) {
  return at >= memory->base && at < memory->base + memory->bytes;
}

/* Regions of a CTA's two roles overlap: one that holds all is enough. */
MOK_HOST_UNCHECKED static inline bool mok_memory_holds_span(const mok_memory *memory, const mok_span &span) {
  const long long first = (const char *)span.at - memory->base, end = first + (span.rows - 1) * span.pitch + span.bytes;
  if (end > memory->bytes) return false;
  if (memory->space == MOK_SPACE_OUT || memory->space == MOK_SPACE_GIVEN) return true;
  for (size_t i = 0; i < sizeof mok_regions / sizeof mok_regions[0]; ++i) {
    const mok_region *r = &mok_regions[i];
    if (r->space == memory->space && first >= r->offset && end <= r->offset + r->bytes) return true;
  }
  return false;
}

/* "rank 1's ring_x row 3, columns 0 to 7" */
MOK_HOST_UNCHECKED static void mok_say_place(mok_engine *e, const mok_memory *memory, long long offset) {
  if (memory->space == MOK_SPACE_SHARED) { /* whose regions overlap, but for staging */
    const bool staging = offset >= LAYOUT_STAGING_OFFSET && offset < LAYOUT_STAGING_OFFSET + LAYOUT_STAGING_BYTES;
    mok_say(e, "shared memory, byte %lld%s", offset, staging ? " (staging)" : "");
    return;
  }
  mok_say(e, "rank %d's ", memory->rank);
  for (size_t i = 0; i < sizeof mok_regions / sizeof mok_regions[0]; ++i) {
    const mok_region *r = &mok_regions[i];
    if (r->space != memory->space || offset < r->offset || offset >= r->offset + r->bytes) continue;
    const long long row = (offset - r->offset) / r->row_bytes, column = (offset - r->offset) % r->row_bytes / r->element;
    if (r->row_bytes == r->element) mok_say(e, "%s[%lld]", r->name, row);
    else mok_say(e, "%s row %lld, columns %lld to %lld", r->name, row, column, column + MOK_PIECE_BYTES / r->element - 1);
    return;
  }
  mok_say(e, "%s, byte %lld", memory->name, offset);
}

#endif
