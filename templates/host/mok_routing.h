/* Phase route: who sends what to whom. */
#ifndef MOK_ROUTING_H
#define MOK_ROUTING_H

MOK_FN int *mok_route_offsets(const mok_cta *c, int rank) { return (int *)mok_heap(c, rank, LAYOUT_ROUTE_OFFSETS_OFFSET); }
MOK_FN int *mok_route_list(const mok_cta *c, int rank) { return (int *)mok_heap(c, rank, LAYOUT_ROUTE_LIST_OFFSET); }
MOK_FN bool mok_is_expert(int id) { return id >= 0 && id < PLAN_EXPERTS; }

MOK_FN void mok_sort_routes(mok_cta *c, const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  if (c->cta != 0) return;
  const int *ids = c->args->topk_ids;
  const int routes = c->tokens * PLAN_TOP_K;
  int *offsets = mok_route_offsets(c, c->args->rank), *list = mok_route_list(c, c->args->rank);
  mok_own_access(true, offsets, 0, 1, (PLAN_EXPERTS + 1) * 4, function, line, "counts routes");
  mok_own_access(true, list, 0, 1, routes * 4, function, line, "sorts routes");
  /* offsets[e + 1] counts expert e, then becomes its first entry, and ends as its last one: the next expert's first. */
  memset(offsets, 0, (PLAN_EXPERTS + 1) * sizeof *offsets);
  for (int i = 0; i < routes; ++i) {
    if (mok_is_expert(ids[i])) ++offsets[ids[i] + 1];
    else if (ids[i] != -1)
      mok_record_input(c->args, MOK_INPUT_BAD_IDS, MOK_INPUT_ROUTE, (unsigned)i, MOK_INPUT_ID, (unsigned)ids[i]);
  }
  int before = 0;
  for (int e = 0; e < PLAN_EXPERTS; ++e) {
    const int count = offsets[e + 1];
    offsets[e + 1] = before;
    before += count;
  }
  for (int i = 0; i < routes; ++i)
    if (mok_is_expert(ids[i])) list[offsets[ids[i] + 1]++] = i;
}

MOK_FN void mok_publish_tokens(mok_cta *c, const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
#if PLAN_GPUS > 1
  char *to = mok_heap(c, c->args->rank, LAYOUT_X_OFFSET);
  const char *from = (const char *)c->args->x;
  const size_t row_bytes = (size_t)PLAN_HIDDEN * sizeof(mok_bf16);
  if (to == from) return;
  for (int token = c->cta; token < c->tokens; token += c->ctas) {
    mok_own_access(true, to + token * row_bytes, 0, 1, (int)row_bytes, function, line, "publishes tokens");
    memcpy(to + token * row_bytes, from + token * row_bytes, row_bytes);
  }
#else
  (void)function;
  (void)line;
  (void)c; /* dispatch reads the caller's x */
#endif
}

MOK_FN void mok_place_experts(mok_cta *c, const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  if (c->cta != 0) return;
  int *base = mok_local_int(c, LAYOUT_EXPERT_BASE_OFFSET), *rows = mok_local_int(c, LAYOUT_EXPERT_ROWS_OFFSET);
  int *block_expert = mok_local_int(c, LAYOUT_BLOCK_EXPERT_OFFSET);
  const int first = mok_first_expert(c->args->rank), experts = mok_local_experts(c->args->rank);
  static const char *const places = "places experts";
  for (int r = 0; r < PLAN_GPUS; ++r)
    mok_own_access(false, mok_route_offsets(c, r) + first, 0, 1, (experts + 1) * 4, function, line, "reads counts");
  mok_own_access(true, base, 0, 1, (experts + 1) * 4, function, line, places);
  mok_own_access(true, rows, 0, 1, experts * 4, function, line, places);
  base[0] = 0;
  for (int e = 0; e < experts; ++e) {
    rows[e] = 0;
    for (int r = 0; r < PLAN_GPUS; ++r) {
      const int *offsets = mok_route_offsets(c, r) + first + e;
      rows[e] += offsets[1] - offsets[0];
    }
    int blocks = (rows[e] + PLAN_ROW_PADDING - 1) / PLAN_ROW_PADDING;
    if (e == experts - 1) blocks = mok_blocks_of(base[e] + blocks * PLAN_ROW_PADDING) - base[e] / PLAN_ROW_PADDING;
    for (int b = 0; b < blocks; ++b) block_expert[base[e] / PLAN_ROW_PADDING + b] = mok_block_word(e, b, rows[e]);
    base[e + 1] = base[e] + blocks * PLAN_ROW_PADDING;
  }
  mok_own_access(true, block_expert, 0, 1, base[experts] / PLAN_ROW_PADDING * 4, function, line, places);
}

/* Row after row one from each rank that still has some, so that no outgoing link is hot. */
MOK_FN void mok_place_rows(mok_cta *c, const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  const int *base = mok_local_int(c, LAYOUT_EXPERT_BASE_OFFSET);
  mok_route *source = (mok_route *)mok_local(c, LAYOUT_ROW_SOURCE_OFFSET);
  const int first = mok_first_expert(c->args->rank), experts = mok_local_experts(c->args->rank);
  static const char *const places = "places rows";
  mok_own_access(false, base, 0, 1, (experts + 1) * 4, function, line, places);
  for (int e = c->cta; e < experts; e += c->ctas) {
    for (int r = 0; r < PLAN_GPUS; ++r) {
      const int *offsets = mok_route_offsets(c, r) + first + e;
      mok_own_access(false, offsets, 0, 1, 8, function, line, places);
      mok_own_access(false, mok_route_list(c, r) + offsets[0], 0, 1, (offsets[1] - offsets[0]) * 4, function, line, places);
    }
    mok_own_access(true, source + base[e], 0, 1, (base[e + 1] - base[e]) * (int)sizeof *source, function, line, places);
    int row = base[e];
    bool more = true;
    for (int i = 0; more; ++i) {
      more = false;
      for (int r = 0; r < PLAN_GPUS; ++r) {
        const int *offsets = mok_route_offsets(c, r) + first + e;
        if (offsets[0] + i >= offsets[1]) continue;
        source[row].rank = r;
        source[row++].route = mok_route_list(c, r)[offsets[0] + i];
        more = true;
      }
    }
    for (; row < base[e + 1]; ++row) source[row].rank = source[row].route = -1;
  }
}

#endif
