/* Routing: from expert ids to the table of row sources. Each rank sorts only its own routes; an expert's owner reads only the
 * lists meant for it. All functions are collective over the CTA. */
#ifndef MOK_ROUTE_H
#define MOK_ROUTE_H

/* Exclusive prefix sum over the lanes of a warp; `total` gets the sum. */
MOK_FN int mok_warp_prefix(int value, int &total) {
  int sum = value;
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(0xffffffffu, sum, step);
    if (mok_lane() >= step) sum += below;
  }
  total = __shfl_sync(0xffffffffu, sum, 31);
  return sum - value;
}

MOK_FN int mok_read_int(const int *word) { return (int)mok_ptx_load_relaxed_sys((const unsigned *)word); }

/* Adds what this CTA found to the rank's record. */
MOK_FN void mok_record_bad_ids(const mok_cta *c, unsigned count, unsigned route) {
  unsigned *record = mok_control(c->args, MOK_LINE_INPUT_ERROR);
  if (record[MOK_INPUT_BAD_IDS] == 0) {
    record[MOK_INPUT_ROUTE] = route;
    record[MOK_INPUT_ID] = (unsigned)c->args->topk_ids[route];
  }
  record[MOK_INPUT_BAD_IDS] += count;
}

/* Ids of routes first + 32 * u + lane before `last`, -1 beyond: as many loads under way at once. */
enum { MOK_SORT_BATCH = 8 };
MOK_FN void mok_read_ids(int (&id)[MOK_SORT_BATCH], const int *ids, int first, int last) {
#pragma unroll
  for (int u = 0; u < MOK_SORT_BATCH; ++u) {
    const int i = first + u * 32 + mok_lane();
    id[u] = i < last ? ids[i] : -1;
  }
}

MOK_FN void mok_sort_routes(mok_cta *c) {
  if (c->role_cta != 0) return;
  /* Counts of (warp, expert), and one more row for sums over warps. Experts that do not fit are sorted in later rounds. */
  enum : int {
    fitting = MOK_SCRATCH_WORDS / (MOK_WARPS + 1),
    window = fitting < PLAN_EXPERTS ? fitting : PLAN_EXPERTS,
  };
  static_assert(window >= 1, "the pipeline's memory holds a counter for each warp");
  const int lane = mok_lane(), warp = mok_warp();
  int *counts = mok_scratch() + warp * window;
  int *starts = mok_scratch() + MOK_WARPS * window;
  int *offsets = (int *)mok_heap(c, c->args->rank, LAYOUT_ROUTE_OFFSETS_OFFSET);
  int *list = (int *)mok_heap(c, c->args->rank, LAYOUT_ROUTE_LIST_OFFSET);
  const int *ids = c->args->topk_ids;
  const int routes = c->tokens * PLAN_TOP_K;
  /* Each warp takes a contiguous piece, so that the order of warps is the order of routes. */
  const int piece = (routes + MOK_WARPS * 32 - 1) / (MOK_WARPS * 32) * 32;
  const int first = mok_min(warp * piece, routes), last = mok_min(first + piece, routes);

  if (mok_thread() == 0) {
    *mok_cta_word(MOK_CTA_BAD_IDS) = 0;
    *mok_cta_word(MOK_CTA_BAD_ROUTE) = 0x7fffffffu;
  }

  int placed = 0; /* routes of the experts of earlier rounds */
  for (int base = 0; base < PLAN_EXPERTS; base += window) {
    const int experts = mok_min(window, PLAN_EXPERTS - base);
    __syncthreads(); /* the last round has read its counts */
    for (int e = lane; e < experts; e += 32) counts[e] = 0;
    __syncwarp();
    for (int i0 = first; i0 < last; i0 += MOK_SORT_BATCH * 32) {
      int id[MOK_SORT_BATCH];
      mok_read_ids(id, ids, i0, last);
#pragma unroll
      for (int u = 0; u < MOK_SORT_BATCH; ++u) {
        if (id[u] >= base && id[u] < base + experts) {
          atomicAdd(&counts[id[u] - base], 1);
        } else if (base == 0 && (id[u] < -1 || id[u] >= PLAN_EXPERTS)) {
          atomicAdd(mok_cta_word(MOK_CTA_BAD_IDS), 1u);
          atomicMin(mok_cta_word(MOK_CTA_BAD_ROUTE), (unsigned)(i0 + u * 32 + lane));
        }
      }
    }
    __syncthreads();
    for (int e = mok_thread(); e < experts; e += PLAN_THREADS) {
      int sum = 0;
      for (int w = 0; w < MOK_WARPS; ++w) {
        int *count = mok_scratch() + w * window + e;
        const int own = *count;
        *count = sum; /* routes of this expert in the warps before */
        sum += own;
      }
      starts[e] = sum;
    }
    __syncthreads();
    if (warp == 0) {
      for (int e0 = 0, running = placed; e0 < experts; e0 += 32) {
        const int e = e0 + lane;
        int total;
        const int before = mok_warp_prefix(e < experts ? starts[e] : 0, total);
        if (e < experts) starts[e] = offsets[base + e] = running + before;
        running += total;
        if (lane == 0) offsets[base + mok_min(e0 + 32, experts)] = running; /* the first expert of the next round, or the end */
      }
    }
    __syncthreads();
    for (int i0 = first; i0 < last; i0 += MOK_SORT_BATCH * 32) {
      int id[MOK_SORT_BATCH];
      mok_read_ids(id, ids, i0, last);
#pragma unroll
      for (int u = 0; u < MOK_SORT_BATCH; ++u) {
        const int e = id[u] >= base && id[u] < base + experts ? id[u] - base : -1;
        const unsigned same = __match_any_sync(0xffffffffu, e);
        const int before = __popc(same & ((1u << lane) - 1));
        if (e >= 0) list[starts[e] + counts[e] + before] = i0 + u * 32 + lane;
        __syncwarp();
        if (e >= 0 && before == 0) counts[e] += __popc(same);
        __syncwarp();
      }
    }
    placed = offsets[base + experts];
  }
  __syncthreads();
  if (mok_thread() == 0 && *mok_cta_word(MOK_CTA_BAD_IDS) != 0)
    mok_record_bad_ids(c, *mok_cta_word(MOK_CTA_BAD_IDS), *mok_cta_word(MOK_CTA_BAD_ROUTE));
}

MOK_FN void mok_publish_tokens(mok_cta *c) {
#if PLAN_GPUS > 1
  char *heap = mok_heap(c, c->args->rank, LAYOUT_X_OFFSET);
  if (heap == (const char *)c->args->x) return; /* the caller wrote to mok_input */
  enum : int { row_bytes = PLAN_HIDDEN * 2 };
  for (int token = c->role_cta; token < c->tokens; token += c->role_ctas) {
    const char *from = (const char *)c->args->x + (mok_index)token * row_bytes;
    char *to = heap + (mok_index)token * row_bytes;
    for (int at = mok_thread() * 16; at < row_bytes; at += PLAN_THREADS * 16)
      mok_ptx_store_16(to + at, mok_ptx_load_16(from + at));
  }
#else
  (void)c;
#endif
}

/* Rows of `expert` (of all) that `rank` sends. */
MOK_FN int mok_rows_from(const mok_cta *c, int rank, int expert, int &start) {
  const int *offsets = (const int *)mok_heap(c, rank, LAYOUT_ROUTE_OFFSETS_OFFSET);
  start = mok_read_int(&offsets[expert]);
  return mok_read_int(&offsets[expert + 1]) - start;
}

MOK_FN void mok_place_experts(mok_cta *c) {
  if (c->role_cta != 0) return;
  const int first = mok_first_expert(c->args->rank), experts = mok_local_experts(c->args->rank);
  int *rows = mok_local_int(c, LAYOUT_EXPERT_ROWS_OFFSET);
  int *base = mok_local_int(c, LAYOUT_EXPERT_BASE_OFFSET);
  int *block_expert = mok_local_int(c, LAYOUT_BLOCK_EXPERT_OFFSET);
  const int lane = mok_lane();

  for (int e = mok_thread(); e < experts; e += PLAN_THREADS) {
    int sum = 0;
    for (int rank = 0; rank < PLAN_GPUS; ++rank) {
      int start;
      sum += mok_rows_from(c, rank, first + e, start);
    }
    rows[e] = sum;
  }
  __syncthreads();
  if (mok_warp() == 0) {
    int running = 0;
    for (int e0 = 0; e0 < experts; e0 += 32) {
      const int e = e0 + lane;
      const int blocks = e < experts ? (rows[e] + PLAN_ROW_PADDING - 1) / PLAN_ROW_PADDING : 0;
      int total;
      const int before = mok_warp_prefix(blocks, total);
      if (e < experts) base[e] = (running + before) * PLAN_ROW_PADDING;
      running += total;
    }
    if (lane == 0) base[experts] = mok_blocks_of(running * PLAN_ROW_PADDING) * PLAN_ROW_PADDING;
  }
  __syncthreads();
  for (int e = mok_warp(); e < experts; e += MOK_WARPS)
    for (int block = base[e] / PLAN_ROW_PADDING + lane; block < base[e + 1] / PLAN_ROW_PADDING; block += 32)
      block_expert[block] = mok_block_word(e, block - base[e] / PLAN_ROW_PADDING, rows[e]);
}

MOK_FN void mok_place_rows(mok_cta *c) {
  const int first = mok_first_expert(c->args->rank), experts = mok_local_experts(c->args->rank);
  int *counts = mok_scratch(), *starts = mok_scratch() + PLAN_GPUS;
  static_assert(2 * PLAN_GPUS <= MOK_SCRATCH_WORDS, "the pipeline's memory holds two words for each rank");

  for (int e = c->role_cta; e < experts; e += c->role_ctas) {
    const int base = mok_local_int(c, LAYOUT_EXPERT_BASE_OFFSET)[e];
    mok_route *source = (mok_route *)mok_local(c, LAYOUT_ROW_SOURCE_OFFSET) + base;
    __syncthreads(); /* the last expert's counts have been read */
    /* Round s of the round-robin asks rank (own + s) % R, so that ranks do not all pull from the same peer first. */
    if (mok_thread() < PLAN_GPUS) {
      int start;
      counts[mok_thread()] = mok_rows_from(c, (c->args->rank + mok_thread()) % PLAN_GPUS, first + e, start);
      starts[mok_thread()] = start;
    }
    __syncthreads();
    for (int s = 0; s < PLAN_GPUS; ++s) {
      const int rank = (c->args->rank + s) % PLAN_GPUS;
      const int *list = (const int *)mok_heap(c, rank, LAYOUT_ROUTE_LIST_OFFSET) + starts[s];
      for (int j = mok_thread(); j < counts[s]; j += PLAN_THREADS) {
        int at = 0; /* rows of all ranks in earlier rounds, and of earlier ranks in this one */
        for (int other = 0; other < PLAN_GPUS; ++other) at += mok_min(counts[other], other < s ? j + 1 : j);
        const mok_route route = {rank, mok_read_int(&list[j])};
        source[at] = route;
      }
    }
    const int rows = mok_local_int(c, LAYOUT_EXPERT_ROWS_OFFSET)[e];
    const int padded = mok_local_int(c, LAYOUT_EXPERT_BASE_OFFSET)[e + 1] - base;
    for (int i = rows + mok_thread(); i < padded; i += PLAN_THREADS) {
      const mok_route none = {-1, -1};
      source[i] = none;
    }
  }
}

#endif
