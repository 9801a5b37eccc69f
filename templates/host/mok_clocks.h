/* Who knows of what: vector clocks of the host target's race detector, on with MOK_HOST_RACES.
 *
 * A component of a clock is one order of operations: what a worker's own instructions touch (generic), the loads into shared
 * memory that it issued (a multiplication reads its stages as such a load does), and what its bulk stores read and, apart from
 * that, write: "the source is free again" and "the rows have landed" are two things. A component's time says how far it has come;
 * a clock says how far another one is known to have come.
 *
 * A fiber has two clocks. `order`: what its own instructions come after. `bulk`: what asynchronous copies that it issues come
 * after, which generic writes enter through a proxy fence only: one by the writer before its release, one by the reader after its
 * acquire. Across ranks nothing is known but what was fenced at system scope and came through a flag of a rank barrier.
 */
#ifndef MOK_CLOCKS_H
#define MOK_CLOCKS_H

enum mok_class { MOK_CLASS_GENERIC, MOK_CLASS_LOAD, MOK_CLASS_STORE_READ, MOK_CLASS_STORE_WRITE, MOK_CLASSES };
enum {
  MOK_SEATS = PLAN_WARPS + 1,
  MOK_CTA_COMPONENTS = MOK_SEATS * MOK_CLASSES
}; /* seat 0: the entry; 1 + first warp: a worker */
enum mok_scope { MOK_SCOPE_NONE, MOK_SCOPE_CTA, MOK_SCOPE_GPU, MOK_SCOPE_SYSTEM };

/* What a word, a barrier or a phase of an mbarrier hands from those who release it to those who acquire it. */
struct mok_sync {
  unsigned *order, *bulk, *fenced, *system;
  int rank;        /* of the last release, to say whose it was */
  mok_scope scope; /* weakest of the releases */
};

struct mok_clock_block {
  mok_clock_block *next;
};

/* All clocks of a launch have the same length and are freed together. */
struct mok_clocks {
  bool on;
  size_t length; /* components */
  mok_clock_block *blocks;
};

MOK_HOST_UNCHECKED static unsigned *mok_clock_make(mok_clocks *clocks) {
  MOK_HOST_UNSEEN_BEGIN();
  mok_clock_block *block = (mok_clock_block *)calloc(1, 16 + clocks->length * sizeof(unsigned));
  MOK_HOST_UNSEEN_END();
  if (block == NULL) abort(); /* the launch was refused if its clocks had no room: the process is beyond help */
  block->next = clocks->blocks;
  clocks->blocks = block;
  return (unsigned *)((char *)block + 16);
}

MOK_HOST_UNCHECKED static inline void mok_clocks_free(mok_clocks *clocks) {
  while (clocks->blocks) {
    mok_clock_block *block = clocks->blocks;
    clocks->blocks = block->next;
    MOK_HOST_UNSEEN_BEGIN();
    free(block);
    MOK_HOST_UNSEEN_END();
  }
}

/* *to, made when there is something to join. */
MOK_HOST_UNCHECKED static void mok_clock_join(mok_clocks *clocks, unsigned **to, const unsigned *from) {
  if (from == NULL) return;
  if (*to == NULL) *to = mok_clock_make(clocks);
  unsigned *into = *to;
  for (size_t i = 0; i < clocks->length; ++i) into[i] = into[i] > from[i] ? into[i] : from[i];
}

/* The part of `from` that `limit` has too, of generic accesses or of the others. */
MOK_HOST_UNCHECKED static void mok_clock_join_limited(mok_clocks *clocks, unsigned **to, const unsigned *from,
                                                      const unsigned *limit, bool generic) {
  if (from == NULL || limit == NULL) return;
  if (*to == NULL) *to = mok_clock_make(clocks);
  for (size_t i = 0; i < clocks->length; ++i) {
    const unsigned time = from[i] < limit[i] ? from[i] : limit[i];
    if ((i % MOK_CLASSES == MOK_CLASS_GENERIC) == generic && (*to)[i] < time) (*to)[i] = time;
  }
}

MOK_HOST_UNCHECKED static inline void mok_clock_raise(mok_clocks *clocks, unsigned **clock, size_t component, unsigned time) {
  if (*clock == NULL) *clock = mok_clock_make(clocks);
  if ((*clock)[component] < time) (*clock)[component] = time;
}

MOK_HOST_UNCHECKED static inline unsigned mok_clock_time(const unsigned *clock, size_t component) {
  return clock ? clock[component] : 0;
}

#endif
