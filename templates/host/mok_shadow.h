/* Shadow of the memory that the protocol guards: who wrote each 16 bytes last, and who has read them since. An access that does
 * not come after a conflicting one is a finding, whatever the order in which this schedule made them.
 *
 * Neighbouring pieces mostly share their history, so a piece holds the number of a history, and an access moves a run of pieces
 * from one to the next.
 */
#ifndef MOK_SHADOW_H
#define MOK_SHADOW_H

enum { MOK_MAX_SITES = 512 };

/* Where in the kernel an access is made, and how. */
struct mok_site {
  const char *function; /* of kernel.cu */
  int line;             /* of kernel.cu; 0: the primitive is called by another one */
  const char *what;     /* "bulk store" */
};

struct mok_access {
  unsigned component, time;
  unsigned short site;
};

struct mok_history {
  mok_access write; /* time 0: before the launch */
  unsigned pieces;  /* that hold this history */
  unsigned readers, capacity;
  mok_access *reads;
  unsigned next_free;
};
enum { MOK_HISTORY_NEW = 0, MOK_HISTORY_GIVEN = 1 }; /* untouched in this launch; the caller's */

struct mok_counter_use {
  mok_sync sync;
  unsigned least, most; /* of the targets waited for; most 0: none */
  bool cleared, used;
};

struct mok_detector {
  mok_memory memories[PLAN_GPUS][MOK_MEMORIES];
  int memory_count[PLAN_GPUS];
  bool poisoned; /* what is untouched holds no value */
  mok_history *histories;
  size_t history_count, history_capacity;
  unsigned free_history;
  mok_site sites[MOK_MAX_SITES];
  int site_count;
  mok_counter_use *counters; /* [rank][2 * COUNTER_WORDS] */
  mok_sync *flags;           /* [rank][lines of region flags] */
  mok_sync *grid_barriers;   /* [rank][MOK_MAX_GRID_BARRIERS] */
};
enum { MOK_MAX_GRID_BARRIERS = 16, MOK_FLAG_LINES = (int)(LAYOUT_FLAGS_BYTES / 128) };

MOK_HOST_UNCHECKED static inline unsigned mok_component(const mok_engine *e, const mok_fiber *f, mok_class which) {
  const unsigned seat = f->worker ? 1 + (unsigned)f->first_warp : 0;
  return (unsigned)(f->cta - e->ctas) * MOK_CTA_COMPONENTS + seat * MOK_CLASSES + which;
}

/* ---- text ---- */

/* "rank 1 CTA 3 compute_load at kernel.cu:210 (bulk load)" */
MOK_HOST_UNCHECKED static void mok_say_access(mok_engine *e, const mok_access *a) {
  const mok_site *site = &e->detector->sites[a->site];
  const mok_host_cta *cta = &e->ctas[a->component / MOK_CTA_COMPONENTS];
  const int seat = (int)(a->component % MOK_CTA_COMPONENTS / MOK_CLASSES);
  mok_say(e, "rank %d CTA %d %s", cta->rank, cta->number, site->function);
  if (seat > 0) mok_say(e, ", warp %d,", seat - 1);
  if (site->line > 0) mok_say(e, " at kernel.cu:%d", site->line);
  mok_say(e, " (%s)", site->what);
}

/* ---- histories ---- */

MOK_HOST_UNCHECKED static unsigned mok_site_number(mok_detector *d, const mok_site *site) {
  for (int i = 0; i < d->site_count; ++i)
    if (d->sites[i].line == site->line && d->sites[i].what == site->what && d->sites[i].function == site->function)
      return (unsigned)i;
  if (d->site_count == MOK_MAX_SITES) return 0; /* the text names no line; the finding stays */
  d->sites[d->site_count] = *site;
  return (unsigned)d->site_count++;
}

MOK_HOST_UNCHECKED static unsigned mok_history_make(mok_detector *d) {
  if (d->free_history != 0) {
    const unsigned number = d->free_history;
    d->free_history = d->histories[number].next_free;
    d->histories[number].readers = 0;
    return number;
  }
  if (d->history_count == d->history_capacity) {
    const size_t capacity = d->history_capacity ? 2 * d->history_capacity : 256;
    d->histories = (mok_history *)mok_grow(d->histories, capacity * sizeof *d->histories);
    d->history_capacity = capacity;
  }
  memset(&d->histories[d->history_count], 0, sizeof *d->histories);
  return (unsigned)d->history_count++;
}

MOK_HOST_UNCHECKED static void mok_history_release(mok_detector *d, unsigned number, unsigned pieces) {
  if (number <= MOK_HISTORY_GIVEN) return;
  mok_history *h = &d->histories[number];
  h->pieces -= pieces;
  if (h->pieces > 0) return;
  h->next_free = d->free_history;
  d->free_history = number;
}

/* The history `old` with one more reader; `old` itself if it has that already. */
MOK_HOST_UNCHECKED static unsigned mok_history_read(mok_detector *d, unsigned old, const mok_access *access) {
  for (unsigned i = 0; i < d->histories[old].readers; ++i)
    if (d->histories[old].reads[i].component == access->component && d->histories[old].reads[i].time == access->time) return old;
  const unsigned made = mok_history_make(d);
  mok_history *h = &d->histories[made];
  const mok_history *from = &d->histories[old];
  if (h->capacity < from->readers + 1) {
    const unsigned capacity = from->readers + 4;
    h->reads = (mok_access *)mok_grow(h->reads, capacity * sizeof *h->reads);
    h->capacity = capacity;
  }
  h->write = from->write;
  h->pieces = 0;
  for (unsigned i = 0; i < from->readers; ++i)
    if (from->reads[i].component != access->component) h->reads[h->readers++] = from->reads[i]; /* the later one says more */
  h->reads[h->readers++] = *access;
  return made;
}

/* ---- accesses ---- */

MOK_HOST_UNCHECKED static inline bool mok_known(const mok_fiber *f, bool bulk, unsigned component, unsigned time) {
  if (time == 0) return true;
  if (!bulk) return mok_clock_time(f->order, component) >= time;
  mok_clock const fenced = f->fenced ? f->fenced : f->cta->fenced;
  return mok_clock_time(f->bulk, component) >= time || mok_clock_time(fenced, component) >= time ||
         (component == mok_component(mok_host, f, MOK_CLASS_GENERIC) && f->fenced_time >= time);
}

MOK_HOST_UNCHECKED static void mok_report_conflict(mok_engine *e, const mok_fiber *f, const mok_access *mine, bool writes,
                                                   const mok_access *other, bool other_writes, const mok_memory *memory,
                                                   long long offset) {
  if (e->result != MOK_HOST_OK) return;
  const bool bulk = mine->component % MOK_CLASSES != MOK_CLASS_GENERIC, other_bulk = other->component % MOK_CLASSES != 0;
  const bool proxy = bulk && !other_bulk && mok_known(f, false, other->component, other->time);
  e->result = MOK_HOST_FINDING;
  e->report->finding = proxy ? MOK_FINDING_PROXY : MOK_FINDING_RACE;
  mok_say(e, "%s on ", proxy ? "proxy: no fence between accesses" : "race");
  mok_say_place(e, memory, offset);
  mok_say(e, "\n  ");
  mok_say_access(e, mine);
  mok_say(e, " %s it, and is not ordered after\n  ", writes ? "writes" : "reads");
  mok_say_access(e, other);
  mok_say(e, ", which %s it", other_writes ? "writes" : "reads");
  const int rank = e->ctas[mine->component / MOK_CTA_COMPONENTS].rank,
            other_rank = e->ctas[other->component / MOK_CTA_COMPONENTS].rank;
  if (proxy) mok_say(e, " by ordinary instructions");
  else if (rank != other_rank) mok_say(e, "; only a rank barrier orders ranks");
  else if (other_bulk) mok_say(e, " after its issue, until somebody waits for it");
  mok_say(e, "\n");
  mok_found(e);
}

/* Memory of the running fiber's rank, or a peer's heap. NULL: the fiber has no business there. */
MOK_HOST_UNCHECKED static const mok_memory *mok_find_memory(mok_engine *e, const char *at, mok_memory *shared) {
  mok_detector *d = e->detector;
  mok_host_cta *cta = e->current->cta;
  for (int i = 0; i < d->memory_count[cta->rank]; ++i)
    if (mok_memory_holds(&d->memories[cta->rank][i], at)) return &d->memories[cta->rank][i];
  for (int r = 0; r < PLAN_GPUS; ++r)
    if (mok_memory_holds(&d->memories[r][MOK_MEMORY_HEAP], at)) return &d->memories[r][MOK_MEMORY_HEAP];
  if (cta->shared == NULL || at < cta->shared || at >= cta->shared + LAYOUT_SHARED_BYTES) return NULL;
  if (cta->shared_cells == NULL)
    cta->shared_cells = (unsigned *)mok_zeroed((LAYOUT_SHARED_BYTES / MOK_PIECE_BYTES + 1) * sizeof(unsigned));
  const mok_memory memory = {MOK_SPACE_SHARED, -1, "shared", cta->shared, LAYOUT_SHARED_BYTES, cta->shared_cells};
  *shared = memory;
  return shared;
}

/* Does the whole access lie in one region, or in what the caller gave to be read? */
MOK_HOST_UNCHECKED static bool mok_check_inside(mok_engine *e, const mok_access *mine, bool writes, const mok_span &span,
                                                const mok_memory *memory) {
  const bool readable = memory && mok_memory_holds_span(memory, span);
  if (readable && (memory->pieces || !writes)) return true;
  if (e->result != MOK_HOST_OK) return false;
  e->result = MOK_HOST_FINDING;
  e->report->finding = MOK_FINDING_OUTSIDE;
  mok_say(e, "outside: ");
  mok_say_access(e, mine);
  mok_say(e, " %s ", writes ? "writes" : "reads");
  if (memory == NULL) mok_say(e, "memory that is neither its rank's nor a peer's heap");
  else {
    mok_say_place(e, memory, (const char *)span.at - memory->base);
    mok_say(e, readable ? ", which is the caller's" : " and beyond the end, %d rows of %d bytes", span.rows, span.bytes);
  }
  mok_say(e, "\n");
  mok_found(e);
  return false;
}

/* The running fiber reads or writes memory, itself or by a copy that it issues now. */
MOK_HOST_UNCHECKED static void mok_touch(mok_engine *e, mok_class how, unsigned time, bool writes, const mok_span &span,
                                         const mok_site &site) {
  mok_detector *d = e->detector;
  if (d == NULL || e->quiet || span.rows <= 0 || span.bytes <= 0) return;
  const mok_fiber *f = e->current;
  const mok_access mine = {mok_component(e, f, how), time, (unsigned short)mok_site_number(d, &site)};
  mok_memory of_shared;
  const mok_memory *memory = mok_find_memory(e, (const char *)span.at, &of_shared);
  if (!mok_check_inside(e, &mine, writes, span, memory) || memory->pieces == NULL) return;
  const bool bulk = how != MOK_CLASS_GENERIC, in_shared = memory == &of_shared;
  enum { KNOWN = 64 };
  unsigned known_before[KNOWN], known_after[KNOWN]; /* what this access has made of some histories */
  memset(known_before, 0xFF, sizeof known_before);
  unsigned before = ~0u, after = 0, run = 0; /* of the run of pieces now in hand */
  unsigned written = 0;
  if (writes) {
    written = mok_history_make(d);
    d->histories[written].write = mine;
    d->histories[written].pieces = 1; /* held here until the end */
  }
  for (int row = 0; row < span.rows; ++row) {
    const long long offset = (const char *)span.at + row * span.pitch - memory->base;
    const long long first = offset / MOK_PIECE_BYTES, last = (offset + span.bytes - 1) / MOK_PIECE_BYTES;
    for (long long i = first; i <= last; ++i) {
      const unsigned old = memory->pieces[i];
      if (old != before) {
        if (run > 0) {
          d->histories[after].pieces += run;
          mok_history_release(d, before, run);
        }
        run = 0;
        if (known_before[old % KNOWN] == old) {
          before = old;
          after = known_after[old % KNOWN];
          memory->pieces[i] = after;
          run = after != before;
          continue;
        }
        const mok_history *h = &d->histories[old];
        if (!writes && old == MOK_HISTORY_NEW && (d->poisoned || in_shared)) {
          if (e->result != MOK_HOST_OK) return;
          e->result = MOK_HOST_FINDING;
          e->report->finding = MOK_FINDING_UNWRITTEN;
          mok_say(e, "unwritten: ");
          mok_say_access(e, &mine);
          mok_say(e, " reads ");
          mok_say_place(e, memory, i * MOK_PIECE_BYTES);
          mok_say(e, ", which nobody has written\n");
          mok_found(e);
          return;
        }
        const mok_access *conflict = NULL;
        bool with_write = true;
        if (!mok_known(f, bulk, h->write.component, h->write.time)) conflict = &h->write;
        for (unsigned r = 0; writes && conflict == NULL && r < h->readers; ++r)
          if (!mok_known(f, bulk, h->reads[r].component, h->reads[r].time)) {
            conflict = &h->reads[r];
            with_write = false;
          }
        if (conflict) {
          mok_report_conflict(e, f, &mine, writes, conflict, with_write, memory, i * MOK_PIECE_BYTES);
          return;
        }
        before = old;
        after = writes ? written : mok_history_read(d, old, &mine);
        known_before[old % KNOWN] = before;
        known_after[old % KNOWN] = after;
      }
      if (after == before) continue;
      memory->pieces[i] = after;
      ++run;
    }
  }
  if (run > 0) {
    d->histories[after].pieces += run;
    mok_history_release(d, before, run);
  }
  if (writes) mok_history_release(d, written, 1);
}

#endif
