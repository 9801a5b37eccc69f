/* Stages whose rows of A are gathered: the loading worker reads each row where it lies and writes it into the stage by ordinary
 * instructions, of which the multiplication learns through a proxy fence ahead of the arrival. A stage is handed over when the
 * next one has been begun, at the latest by mok_gather_end: as with copies that the threads issue and await one stage later. */
#ifndef MOK_GATHER_H
#define MOK_GATHER_H

template <class P>
struct mok_gathered {
  const mok_bf16 *row[P::m];
  mok_mbarrier *begun; /* of the stage that has not been handed over; NULL: none */
};

template <class P>
MOK_FN void mok_gather(mok_cta *c, const mok_task *t, mok_gathered<P> &rows) {
  rows.begun = NULL;
  for (int i = 0; i < P::m; ++i) rows.row[i] = i < t->rows && !c->aborted ? P::a_row(c, t, i) : NULL;
}

/* What the worker's threads have written into the stage, they have fenced. */
MOK_HOST_UNCHECKED MOK_FN void mok_hand_over(mok_mbarrier *full) {
  mok_engine *e = mok_host;
  mok_fence_proxy(e, e->current);
  if (e->clocks.on)
    mok_clock_raise(&e->clocks, &full->coming.bulk, mok_component(e, e->current, MOK_CLASS_GENERIC), e->current->fenced_time);
  mok_mbarrier_arrive(full, 0);
}

template <class P>
MOK_FN void mok_gather_end(mok_cta *c, const mok_task *t, mok_gathered<P> &rows) {
  (void)c;
  (void)t;
  if (rows.begun) mok_hand_over(rows.begun);
  rows.begun = NULL;
}

template <class P>
MOK_FN void mok_load_gathered(mok_cta *c, const mok_task *t, int k, mok_gathered<P> &rows,
                              const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  mok_gather_end(c, t, rows);
  const int slot = mok_free_stage<P>(c);
  mok_mbarrier *full = &c->host->full[slot];
  if (c->aborted) {
    mok_mbarrier_arrive(full, 0);
    return;
  }
  enum : int { pitch = mok_stage<P>::pitch };
  char *a = (char *)mok_stage_data(c, slot);
  const int first = k * P::k, valid = 2 * mok_min(P::k, P::k_extent - first);
  mok_mbarrier_expect(full, P::n * pitch);
  mok_load_b<P>(c, t, k, slot, function, line);
  mok_own_access(true, a, pitch, P::m, pitch, function, line, "fills a stage");
  memset(a, 0, (size_t)P::m * pitch);
  for (int i = 0; i < t->rows; ++i) {
    mok_own_access(false, rows.row[i] + first, 0, 1, valid, function, line, "gathers a row");
    memcpy(a + i * pitch, rows.row[i] + first, (size_t)valid);
  }
  rows.begun = full;
  mok_preempt();
}

#endif
