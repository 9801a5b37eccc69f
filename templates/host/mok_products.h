/* Matrix products: a pipeline of stages in the CTA's shared memory between the loading worker and the multiplying instances, each
 * of which has its own rows of the tile. */
#ifndef MOK_PRODUCTS_H
#define MOK_PRODUCTS_H

MOK_FN float activate(float gate, float up); /* kernel.cu */

enum { MOK_MAX_STAGES = 16 };

MOK_HOST_UNCHECKED MOK_FN char *mok_shared(mok_cta *c) {
  if (c->host->shared == NULL) {
    MOK_HOST_UNSEEN_BEGIN();
    c->host->shared = (char *)malloc(LAYOUT_SHARED_BYTES);
    if (c->host->shared == NULL) abort(); /* at most a quarter of a MB: the process is beyond help */
    mok_poison(c->host->shared, LAYOUT_SHARED_BYTES);
    MOK_HOST_UNSEEN_END();
  }
  return c->host->shared;
}

template <class P>
struct mok_stage {
  enum : int { a_elements = P::m * P::k, elements = (P::m + P::n) * P::k };
  static_assert(P::m == PLAN_ROW_PADDING, "a row block is one tile high");
  static_assert(P::k % 16 == 0 && P::n % 2 == 0, "stages hold whole vectors, tiles both halves");
  static_assert(P::stages >= 1 && P::stages <= (int)MOK_MAX_STAGES, "the pipeline's words hold the stages");
  static_assert((long long)P::stages * elements * 2 <= LAYOUT_PIPELINE_BYTES, "region pipeline holds the stages");
};

/* Slot of this worker's next stage. Both sides follow the same tasks, so they agree on where a geometry began. */
template <class P>
MOK_FN int mok_next_slot(mok_cta *c) {
  const long long geometry = (long long)mok_stage<P>::elements * (MOK_MAX_STAGES + 1) + P::stages;
  if (c->geometry != geometry) {
    c->geometry = geometry;
    c->first_stage = c->stage;
  }
  return (int)((c->stage - c->first_stage) % P::stages);
}

template <class P>
MOK_FN mok_bf16 *mok_stage_data(mok_cta *c, int slot) {
  return (mok_bf16 *)(mok_shared(c) + LAYOUT_PIPELINE_OFFSET) + slot * mok_stage<P>::elements;
}

/* Copies `valid` of P::k values and clears the others. */
template <class P>
MOK_FN void mok_stage_row(mok_bf16 *to, const mok_bf16 *from, int valid) {
  if (valid > 0) memcpy(to, from, (size_t)valid * sizeof *to);
  if (valid < P::k) memset(to + valid, 0, (size_t)(P::k - valid) * sizeof *to);
}

template <class P>
MOK_FN void mok_load_stage(mok_cta *c, const mok_task *t, int k) {
  mok_host_cta *host = c->host;
  const long long geometry = c->geometry;
  const int slot = mok_next_slot<P>(c);
  /* A new geometry overlays the old one: all slots must be free, else just this one. */
  for (int s = 0; s < MOK_MAX_STAGES; ++s) {
    if (s != slot && geometry == c->geometry) continue;
    const mok_host_wait_record free_again = {MOK_WAITS_FREE_STAGE, &host->freed[s], host->uses[s] * P::instances, "", s, 0};
    mok_block(&free_again);
  }
  mok_bf16 *a = mok_stage_data<P>(c, slot), *b = a + mok_stage<P>::a_elements;
  const int first = k * P::k, valid = mok_min(P::k, P::k_extent - first);
  const mok_bf16 *from = P::a(c, t) + first;
  for (int i = 0; i < t->rows; ++i) mok_stage_row<P>(a + i * P::k, from + (mok_index)i * P::a_stride, valid);

  const int halves = P::gated ? 2 : 1, columns = P::n / halves, first_column = t->column * columns;
  for (int half = 0; half < halves; ++half) {
    const mok_rows rows = P::b(c, t, half);
    for (int j = 0; j < columns; ++j, b += P::k) {
      const bool real = first_column + j < P::columns;
      mok_stage_row<P>(b, real ? rows.base + (first_column + j) * rows.stride + first : NULL, real ? valid : 0);
    }
  }
  ++host->uses[slot];
  mok_release_store(&host->filled[slot], ++c->stage);
  mok_preempt();
}

/* Rows of the tile that this instance multiplies, and its sums: rows x P::n. */
template <class P>
struct mok_accumulator {
  float *sum;
};

template <class P>
MOK_FN void mok_clear(mok_accumulator<P> &acc) {
  acc.sum = mok_scratch((size_t)P::m * (P::n + P::k));
  memset(acc.sum, 0, (size_t)P::m * P::n * sizeof *acc.sum);
}

typedef struct mok_range {
  int first, end;
} mok_range;
template <class P>
MOK_FN mok_range mok_my_rows(const mok_cta *c, const mok_task *t) {
  static_assert(P::m % P::instances == 0, "instances split the rows of a tile");
  const int share = P::m / P::instances;
  const mok_range rows = {mok_min(c->instance * share, t->rows), mok_min((c->instance + 1) * share, t->rows)};
  return rows;
}

typedef float mok_float4 __attribute__((vector_size(16)));

MOK_FN void mok_unpack(float *to, const mok_bf16 *from, int count) {
  for (int i = 0; i < count; ++i) to[i] = mok_to_float(from[i]);
}

/* Sum of products in 16 partial sums, then a tree: a fixed order that vector units can follow. */
template <int count>
MOK_FN float mok_dot(const float *a, const float *b) {
  mok_float4 sum[4] = {};
  for (int i = 0; i < count; i += 16)
    for (int lane = 0; lane < 4; ++lane) {
      mok_float4 x, y;
      memcpy(&x, a + i + 4 * lane, sizeof x);
      memcpy(&y, b + i + 4 * lane, sizeof y);
      sum[lane] += x * y;
    }
  const mok_float4 all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

/* sums[rows, n] += a[rows, k] b[n, k]^T */
template <class P>
MOK_HOST_UNCHECKED __attribute__((noinline)) static void mok_multiply(const mok_bf16 *a, const mok_bf16 *b, int rows,
                                                                      float *a_row, float *sum) {
  mok_unpack(a_row, a, rows * P::k);
  for (int j = 0; j < P::n; ++j) {
    float b_row[P::k];
    mok_unpack(b_row, b + j * P::k, P::k);
    for (int i = 0; i < rows; ++i) sum[i * P::n + j] += mok_dot<P::k>(a_row + i * P::k, b_row);
  }
}

template <class P>
MOK_FN void mok_mma_stage(mok_cta *c, const mok_task *t, int k, mok_accumulator<P> &acc) {
  (void)k;
  mok_host_cta *host = c->host;
  const int slot = mok_next_slot<P>(c);
  const mok_host_wait_record full = {MOK_WAITS_FULL_STAGE, &host->filled[slot], ++c->stage, "", slot, 0};
  mok_block(&full);
  const mok_range rows = mok_my_rows<P>(c, t);
  if (rows.end > rows.first) {
    const mok_bf16 *a = mok_stage_data<P>(c, slot), *b = a + mok_stage<P>::a_elements;
    a += rows.first * P::k;
#if defined(MOK_HOST_TSAN)
    mok_tsan_read_range(a, (unsigned long)((rows.end - rows.first) * P::k) * sizeof *a);
    mok_tsan_read_range(b, (unsigned long)(P::n * P::k) * sizeof *b);
#endif
    mok_multiply<P>(a, b, rows.end - rows.first, acc.sum + P::m * P::n, acc.sum);
  }
  mok_raise(&host->freed[slot]);
}

template <class P>
MOK_FN void mok_store(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  const mok_range rows = mok_my_rows<P>(c, t);
  const int first = t->column * P::n, columns = mok_min(P::n, P::columns - first);
  for (int i = rows.first; i < rows.end; ++i) {
    mok_bf16 *out = P::out(c, t) + (mok_index)i * P::out_stride + first;
    const float *sum = acc.sum + (i - rows.first) * P::n;
    for (int j = 0; j < columns; ++j) out[j] = mok_to_bf16(sum[j]);
  }
  mok_preempt();
}

template <class P>
MOK_FN void mok_store_activated(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  const mok_range rows = mok_my_rows<P>(c, t);
  const int width = P::gated ? P::n / 2 : P::n, first = t->column * width, columns = mok_min(width, P::columns - first);
  for (int i = rows.first; i < rows.end; ++i) {
    mok_bf16 *out = P::out(c, t) + (mok_index)i * P::out_stride + first;
    const float *gate = acc.sum + (i - rows.first) * P::n, *up = P::gated ? gate + width : gate;
    for (int j = 0; j < columns; ++j) out[j] = mok_to_bf16(activate(P::gated ? gate[j] : 0.0f, up[j]));
  }
  mok_preempt();
}

template <class P>
MOK_FN void mok_store_pushed(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc) {
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a pushed row is a row of region combine");
  const mok_route *source = mok_block_source(c, t);
  const mok_range rows = mok_my_rows<P>(c, t);
  const int first = t->column * P::n, columns = mok_min(P::n, P::columns - first);
  for (int i = rows.first; i < rows.end; ++i) {
    mok_bf16 *slots = (mok_bf16 *)mok_heap(c, source[i].rank, LAYOUT_COMBINE_OFFSET);
    mok_bf16 *out = slots + (mok_index)source[i].route * PLAN_HIDDEN + first;
    const float *sum = acc.sum + (i - rows.first) * P::n;
    for (int j = 0; j < columns; ++j) out[j] = mok_to_bf16(sum[j]);
    mok_preempt();
  }
}

#endif
