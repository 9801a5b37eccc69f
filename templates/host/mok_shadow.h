/* Shadow of the memory that the protocol guards: who wrote each 16 bytes last, and who has read them since. An access that does
 * not come after a conflicting one is a finding, whatever the order in which this schedule made them.
 *
 * Neighbouring pieces mostly share their history, so a piece holds the number of a history, and an access moves a run of pieces
 * from one to the next.
 */
#ifndef MOK_SHADOW_H
#define MOK_SHADOW_H

enum { MOK_PIECE_BYTES = 16, MOK_MAX_SITES = 512 };

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

struct mok_range_shadow {
  const char *base;
  long long bytes;
  unsigned *pieces;
  int rank;
  const char *memory; /* "heap" */
};

struct mok_counter_use {
  mok_sync sync;
  unsigned least, most; /* of the targets waited for; most 0: none */
  bool cleared, used;
};

struct mok_detector {
  mok_range_shadow ranges[3 * PLAN_GPUS];
  int range_count;
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

struct mok_region_name {
  const char *memory, *name;
  long long offset, bytes, row_bytes;
  int element;
};
static const mok_region_name mok_region_names[] = {
#if PLAN_GPUS > 1
    {"heap", "x", LAYOUT_X_OFFSET, LAYOUT_X_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
    {"heap", "route_offsets", LAYOUT_ROUTE_OFFSETS_OFFSET, LAYOUT_ROUTE_OFFSETS_BYTES, 4, 4},
    {"heap", "route_list", LAYOUT_ROUTE_LIST_OFFSET, LAYOUT_ROUTE_LIST_BYTES, 4, 4},
    {"heap", "combine", LAYOUT_COMBINE_OFFSET, LAYOUT_COMBINE_BYTES, 2LL * PLAN_HIDDEN, 2},
    {"local", "expert_base", LAYOUT_EXPERT_BASE_OFFSET, LAYOUT_EXPERT_BASE_BYTES, 4, 4},
    {"local", "expert_rows", LAYOUT_EXPERT_ROWS_OFFSET, LAYOUT_EXPERT_ROWS_BYTES, 4, 4},
    {"local", "block_expert", LAYOUT_BLOCK_EXPERT_OFFSET, LAYOUT_BLOCK_EXPERT_BYTES, 4, 4},
    {"local", "row_source", LAYOUT_ROW_SOURCE_OFFSET, LAYOUT_ROW_SOURCE_BYTES, 8, 8},
    {"local", "ring_x", LAYOUT_RING_X_OFFSET, LAYOUT_RING_X_BYTES, 2LL * PLAN_HIDDEN, 2},
    {"local", "ring_h", LAYOUT_RING_H_OFFSET, LAYOUT_RING_H_BYTES, 2LL * PLAN_INTERMEDIATE, 2},
#ifdef LAYOUT_RING_Y_OFFSET
    {"local", "ring_y", LAYOUT_RING_Y_OFFSET, LAYOUT_RING_Y_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
#ifdef LAYOUT_SHARED_H_OFFSET
    {"local", "shared_h", LAYOUT_SHARED_H_OFFSET, LAYOUT_SHARED_H_BYTES, LAYOUT_SHARED_H_BYTES / PLAN_TOKENS_PER_GPU, 2},
    {"local", "shared_y", LAYOUT_SHARED_Y_OFFSET, LAYOUT_SHARED_Y_BYTES, 2LL * PLAN_HIDDEN, 2},
#endif
    {"out", "out", 0, 1LL << 62, 2LL * PLAN_HIDDEN, 2},
};

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

MOK_HOST_UNCHECKED static void mok_say_place(mok_engine *e, const mok_range_shadow *range, long long offset) {
  for (size_t i = 0; i < sizeof mok_region_names / sizeof mok_region_names[0]; ++i) {
    const mok_region_name *r = &mok_region_names[i];
    if (strcmp(r->memory, range->memory) != 0 || offset < r->offset || offset >= r->offset + r->bytes) continue;
    const long long row = (offset - r->offset) / r->row_bytes, column = (offset - r->offset) % r->row_bytes / r->element;
    if (range->rank >= 0) mok_say(e, "rank %d's ", range->rank);
    if (r->row_bytes == r->element) mok_say(e, "%s[%lld]", r->name, row);
    else mok_say(e, "%s row %lld, columns %lld to %lld", r->name, row, column, column + MOK_PIECE_BYTES / r->element - 1);
    return;
  }
  if (strcmp(range->memory, "shared") == 0) {
    const bool staging = offset >= LAYOUT_STAGING_OFFSET && offset < LAYOUT_STAGING_OFFSET + LAYOUT_STAGING_BYTES;
    mok_say(e, "shared memory, byte %lld%s", offset, staging ? " (staging)" : "");
    return;
  }
  mok_say(e, "rank %d's %s memory, byte %lld", range->rank, range->memory, offset);
}

/* The text is complete. What the fiber would do next rests on what is wrong: it does not return. */
MOK_HOST_UNCHECKED static void mok_found(mok_engine *e) {
  if (e->in_fiber) mok_context_switch(&e->current->context, &e->thread, false);
}

__attribute__((format(printf, 3, 4))) MOK_HOST_UNCHECKED static void mok_find(mok_engine *e, mok_host_finding finding,
                                                                              const char *format, ...) {
  if (e->result != MOK_HOST_OK) return;
  char text[320];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  e->report->finding = finding;
  e->result = MOK_HOST_FINDING;
  mok_say(e, "%s\n", text);
  mok_found(e);
}

/* ---- histories ---- */

MOK_HOST_UNCHECKED static unsigned mok_site_number(mok_detector *d, const mok_site *site) {
  for (int i = 0; i < d->site_count; ++i)
    if (d->sites[i].line == site->line && d->sites[i].what == site->what && d->sites[i].function == site->function)
      return (unsigned)i;
  if (d->site_count == MOK_MAX_SITES) return 0; /* the text names a wrong line; the finding stays */
  d->sites[d->site_count] = *site;
  return (unsigned)d->site_count++;
}

MOK_HOST_UNCHECKED static void *mok_grow(void *old, size_t bytes) {
  MOK_HOST_UNSEEN_BEGIN();
  void *grown = realloc(old, bytes);
  MOK_HOST_UNSEEN_END();
  if (grown == NULL) abort(); /* no more than what the launch itself needs: the process is beyond help */
  return grown;
}

MOK_HOST_UNCHECKED static unsigned mok_history_make(mok_detector *d) {
  if (d->free_history != 0) {
    const unsigned number = d->free_history;
    d->free_history = d->histories[number].next_free;
    d->histories[number].readers = 0;
    return number;
  }
  if (d->history_count == d->history_capacity) {
    d->history_capacity = d->history_capacity ? 2 * d->history_capacity : 256;
    d->histories = (mok_history *)mok_grow(d->histories, d->history_capacity * sizeof *d->histories);
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
    h->capacity = from->readers + 4;
    h->reads = (mok_access *)mok_grow(h->reads, h->capacity * sizeof *h->reads);
  }
  h->write = from->write;
  h->pieces = 0;
  for (unsigned i = 0; i < from->readers; ++i)
    if (from->reads[i].component != access->component) h->reads[h->readers++] = from->reads[i]; /* the later one says more */
  h->reads[h->readers++] = *access;
  return made;
}

/* ---- accesses ---- */

/* Rows of memory: `bytes` of each, `pitch` apart. */
struct mok_span {
  const void *at;
  long long pitch;
  int rows, bytes;
};

MOK_HOST_UNCHECKED static inline bool mok_known(const mok_fiber *f, bool bulk, unsigned component, unsigned time) {
  if (time == 0) return true;
  if (!bulk) return mok_clock_time(f->order, component) >= time;
  mok_clock const fenced = f->fenced ? f->fenced : f->cta->fenced;
  return mok_clock_time(f->bulk, component) >= time || mok_clock_time(fenced, component) >= time ||
         (component == mok_component(mok_host, f, MOK_CLASS_GENERIC) && f->fenced_time >= time);
}

MOK_HOST_UNCHECKED static void mok_report_conflict(mok_engine *e, const mok_fiber *f, const mok_access *mine, bool writes,
                                                   const mok_access *other, bool other_writes, const mok_range_shadow *range,
                                                   long long offset) {
  if (e->result != MOK_HOST_OK) return;
  const bool bulk = mine->component % MOK_CLASSES != MOK_CLASS_GENERIC, other_bulk = other->component % MOK_CLASSES != 0;
  const bool proxy = bulk && !other_bulk && mok_known(f, false, other->component, other->time);
  e->result = MOK_HOST_FINDING;
  e->report->finding = proxy ? MOK_FINDING_PROXY : MOK_FINDING_RACE;
  mok_say(e, "%s on ", proxy ? "proxy: no fence between accesses" : "race");
  mok_say_place(e, range, offset);
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
}

MOK_HOST_UNCHECKED static mok_range_shadow *mok_find_range(mok_engine *e, const char *at, mok_range_shadow *shared) {
  mok_detector *d = e->detector;
  for (int i = 0; i < d->range_count; ++i)
    if (at >= d->ranges[i].base && at < d->ranges[i].base + d->ranges[i].bytes) return &d->ranges[i];
  mok_host_cta *cta = e->current->cta;
  if (cta->shared == NULL || at < cta->shared || at >= cta->shared + LAYOUT_SHARED_BYTES) return NULL;
  if (cta->shared_cells == NULL) {
    cta->shared_cells = (unsigned *)mok_grow(NULL, (LAYOUT_SHARED_BYTES / MOK_PIECE_BYTES + 1) * sizeof(unsigned));
    memset(cta->shared_cells, 0, (LAYOUT_SHARED_BYTES / MOK_PIECE_BYTES + 1) * sizeof(unsigned));
  }
  shared->base = cta->shared;
  shared->bytes = LAYOUT_SHARED_BYTES;
  shared->pieces = cta->shared_cells;
  shared->rank = -1;
  shared->memory = "shared";
  return shared;
}

/* The running fiber reads or writes memory, itself or by a copy that it issues now. Memory that nothing guards is passed over. */
MOK_HOST_UNCHECKED static void mok_touch(mok_engine *e, mok_class how, unsigned time, bool writes, const mok_span &span,
                                         const mok_site &site) {
  mok_detector *d = e->detector;
  if (d == NULL || e->quiet || span.rows <= 0 || span.bytes <= 0) return;
  mok_range_shadow of_shared;
  const mok_range_shadow *range = mok_find_range(e, (const char *)span.at, &of_shared);
  if (range == NULL) return;
  const mok_fiber *f = e->current;
  const bool bulk = how != MOK_CLASS_GENERIC, in_shared = range == &of_shared;
  const mok_access mine = {mok_component(e, f, how), time, (unsigned short)mok_site_number(d, &site)};
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
    const long long offset = (const char *)span.at + row * span.pitch - range->base;
    const long long first = offset / MOK_PIECE_BYTES, last = (offset + span.bytes - 1) / MOK_PIECE_BYTES;
    for (long long i = first; i <= last; ++i) {
      const unsigned old = range->pieces[i];
      if (old != before) {
        if (run > 0) {
          d->histories[after].pieces += run;
          mok_history_release(d, before, run);
        }
        run = 0;
        if (known_before[old % KNOWN] == old) {
          before = old;
          after = known_after[old % KNOWN];
          range->pieces[i] = after;
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
          mok_say_place(e, range, i * MOK_PIECE_BYTES);
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
          mok_report_conflict(e, f, &mine, writes, conflict, with_write, range, i * MOK_PIECE_BYTES);
          return;
        }
        before = old;
        after = writes ? written : mok_history_read(d, old, &mine);
        known_before[old % KNOWN] = before;
        known_after[old % KNOWN] = after;
      }
      if (after == before) continue;
      range->pieces[i] = after;
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
