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
enum { MOK_CTAS_MANY = -1 };
enum mok_scope { MOK_SCOPE_NONE, MOK_SCOPE_CTA, MOK_SCOPE_GPU, MOK_SCOPE_SYSTEM };

/* Times of the components of one CTA; shared by all clocks that agree on them, and then not changed. */
struct mok_clock_part {
  unsigned holders;
  unsigned time[MOK_CTA_COMPONENTS];
  mok_clock_part *next_free;
};

/* One part for each CTA of the launch, NULL: all 0. A NULL clock knows nothing. */
typedef mok_clock_part **mok_clock;

/* What a word, a barrier or a phase of an mbarrier hands from those who release it to those who acquire it. */
struct mok_sync {
  mok_clock order, bulk, fenced, system;
  int rank;        /* of the last release, to say whose it was */
  int cta;         /* that released, or MOK_CTAS_MANY */
  mok_scope scope; /* weakest of the releases */
};

struct mok_clock_block {
  mok_clock_block *next;
};

/* All clocks of a launch; freed together. */
struct mok_clocks {
  bool on;
  size_t ctas;
  mok_clock_block *blocks;
  mok_clock_part *free_parts;
};

static void *mok_zeroed(size_t bytes);

/* Zeroed memory that lives as long as the launch. */
MOK_HOST_UNCHECKED static void *mok_clock_memory(mok_clocks *clocks, size_t bytes) {
  mok_clock_block *block = (mok_clock_block *)mok_zeroed(16 + bytes);
  block->next = clocks->blocks;
  clocks->blocks = block;
  return (char *)block + 16;
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

MOK_HOST_UNCHECKED static mok_clock_part *mok_clock_part_make(mok_clocks *clocks) {
  enum { TOGETHER = 256 };
  if (clocks->free_parts == NULL) {
    mok_clock_part *parts = (mok_clock_part *)mok_clock_memory(clocks, TOGETHER * sizeof *parts);
    for (int i = 0; i < TOGETHER; ++i) {
      parts[i].next_free = clocks->free_parts;
      clocks->free_parts = &parts[i];
    }
  }
  mok_clock_part *part = clocks->free_parts;
  clocks->free_parts = part->next_free;
  part->holders = 1;
  return part;
}

MOK_HOST_UNCHECKED static inline void mok_clock_part_drop(mok_clocks *clocks, mok_clock_part *part) {
  if (part == NULL || --part->holders > 0) return;
  part->next_free = clocks->free_parts;
  clocks->free_parts = part;
}

MOK_HOST_UNCHECKED static inline void mok_clock_need(mok_clocks *clocks, mok_clock *clock) {
  if (*clock == NULL) *clock = (mok_clock)mok_clock_memory(clocks, clocks->ctas * sizeof **clock);
}

/* The clock's own part of one CTA, to be changed. */
MOK_HOST_UNCHECKED static mok_clock_part *mok_clock_own_part(mok_clocks *clocks, mok_clock clock, size_t cta) {
  mok_clock_part *part = clock[cta];
  if (part && part->holders == 1) return part;
  mok_clock_part *own = mok_clock_part_make(clocks);
  if (part) memcpy(own->time, part->time, sizeof own->time);
  else memset(own->time, 0, sizeof own->time);
  mok_clock_part_drop(clocks, part);
  return clock[cta] = own;
}

/* Forgets everything. */
MOK_HOST_UNCHECKED static void mok_clock_clear(mok_clocks *clocks, mok_clock clock) {
  for (size_t i = 0; clock && i < clocks->ctas; ++i) {
    mok_clock_part_drop(clocks, clock[i]);
    clock[i] = NULL;
  }
}

MOK_HOST_UNCHECKED static void mok_clock_join(mok_clocks *clocks, mok_clock *to, mok_clock from) {
  if (from == NULL) return;
  mok_clock_need(clocks, to);
  mok_clock into = *to;
  for (size_t i = 0; i < clocks->ctas; ++i) {
    mok_clock_part *mine = into[i], *other = from[i];
    if (mine == other || other == NULL) continue;
    bool mine_has_more = false, other_has_more = false;
    for (int j = 0; mine && j < MOK_CTA_COMPONENTS; ++j) {
      mine_has_more |= mine->time[j] > other->time[j];
      other_has_more |= mine->time[j] < other->time[j];
    }
    if (mine && !other_has_more && mine_has_more) continue;
    if (mine_has_more) {
      mok_clock_part *part = mok_clock_own_part(clocks, into, i);
      for (int j = 0; j < MOK_CTA_COMPONENTS; ++j)
        part->time[j] = part->time[j] > other->time[j] ? part->time[j] : other->time[j];
    } else { /* also when they are equal: next time they are seen to be one */
      ++other->holders;
      mok_clock_part_drop(clocks, mine);
      into[i] = other;
    }
  }
}

/* The part of `from` that `limit` has too, of generic accesses or of the others. */
MOK_HOST_UNCHECKED static void mok_clock_join_limited(mok_clocks *clocks, mok_clock *to, mok_clock from, mok_clock limit,
                                                      bool generic) {
  if (from == NULL || limit == NULL) return;
  mok_clock_need(clocks, to);
  for (size_t i = 0; i < clocks->ctas; ++i) {
    if (from[i] == NULL || limit[i] == NULL) continue;
    mok_clock_part *part = mok_clock_own_part(clocks, *to, i);
    for (int j = 0; j < MOK_CTA_COMPONENTS; ++j) {
      const unsigned time = from[i]->time[j] < limit[i]->time[j] ? from[i]->time[j] : limit[i]->time[j];
      if ((j % MOK_CLASSES == MOK_CLASS_GENERIC) == generic && part->time[j] < time) part->time[j] = time;
    }
  }
}

MOK_HOST_UNCHECKED static inline unsigned mok_clock_time(mok_clock clock, size_t component) {
  const mok_clock_part *part = clock ? clock[component / MOK_CTA_COMPONENTS] : NULL;
  return part ? part->time[component % MOK_CTA_COMPONENTS] : 0;
}

MOK_HOST_UNCHECKED static inline void mok_clock_raise(mok_clocks *clocks, mok_clock *clock, size_t component, unsigned time) {
  if (time == 0 || mok_clock_time(*clock, component) >= time) return;
  mok_clock_need(clocks, clock);
  mok_clock_own_part(clocks, *clock, component / MOK_CTA_COMPONENTS)->time[component % MOK_CTA_COMPONENTS] = time;
}

#endif
