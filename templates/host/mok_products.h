/* Matrix products: a pipeline of stages in the CTA's shared memory between the loading worker and the multiplying instances, each
 * of which has its own rows of the tile. */
#ifndef MOK_PRODUCTS_H
#define MOK_PRODUCTS_H

MOK_FN float activate(float gate, float up); /* kernel.cu */

enum { MOK_STAGES = PLAN_GATE_UP_STAGES };
static_assert(PLAN_DOWN_STAGES == MOK_STAGES && MOK_STAGES <= (int)MOK_MAX_STAGES, "both products use the same pipeline stages");

template <class P>
struct mok_stage {
  enum : int { a_elements = P::m * P::k, elements = (P::m + P::n) * P::k, bytes = elements * 2, pitch = P::k * 2 };
  static_assert(P::m == PLAN_ROW_PADDING, "a row block is one tile high");
  static_assert(P::k % 16 == 0 && P::n % 2 == 0, "stages hold whole vectors, tiles both halves");
  static_assert((int)P::stages == (int)MOK_STAGES && MOK_STAGES * (long long)bytes <= LAYOUT_PIPELINE_BYTES,
                "region pipeline holds the stages");
};

MOK_FN mok_bf16 *mok_stage_data(mok_cta *c, int slot) {
  return (mok_bf16 *)(mok_shared(c) + LAYOUT_PIPELINE_OFFSET + slot * (LAYOUT_PIPELINE_BYTES / MOK_STAGES));
}

/* full: one arrival, of the loading worker, and the stage's bytes; empty: one of each multiplying instance. */
template <class P>
MOK_HOST_UNCHECKED MOK_FN void mok_stage_barriers(mok_host_cta *host, int slot) {
  if (host->full[slot].count > 0) return;
  mok_mbarrier_init(&host->full[slot], 1);
  mok_mbarrier_init(&host->empty[slot], P::instances);
}

/* The next stage in turn, when it is free. */
template <class P>
MOK_FN int mok_free_stage(mok_cta *c) {
  mok_host_cta *host = c->host;
  const int slot = (int)(c->stage % MOK_STAGES);
  const unsigned lap = c->stage++ / MOK_STAGES;
  mok_stage_barriers<P>(host, slot);
  if (lap > 0) mok_mbarrier_wait(&host->empty[slot], lap, MOK_WAITS_FREE_STAGE, slot);
  return slot;
}

/* Loads of the stage's B; its barrier expects their bytes. */
template <class P>
MOK_FN void mok_load_b(mok_cta *c, const mok_task *t, int k, int slot, const char *function, int line) {
  enum : int { pitch = mok_stage<P>::pitch };
  char *b = (char *)mok_stage_data(c, slot) + P::m * pitch;
  const int first = k * P::k, valid = 2 * mok_min(P::k, P::k_extent - first);
  const int halves = P::gated ? 2 : 1, columns = P::n / halves, first_column = t->column * columns;
  for (int half = 0; half < halves; ++half) {
    const mok_rows rows = P::b(c, t, half);
    const int real = mok_max(0, mok_min(columns, P::columns - first_column));
    const mok_copy copy = {b + half * columns * pitch, pitch, columns, pitch,
                           (const char *)(rows.base + first_column * rows.stride + first), 2 * rows.stride, real, valid};
    mok_issue_load(&c->host->full[slot], (unsigned)(columns * pitch), copy, function, line, "bulk load of a stage");
  }
}

template <class P>
MOK_FN void mok_load_stage(mok_cta *c, const mok_task *t, int k, const char *function = __builtin_FUNCTION(),
                           int line = __builtin_LINE()) {
  const int slot = mok_free_stage<P>(c);
  mok_mbarrier *full = &c->host->full[slot];
  if (c->aborted) {
    mok_mbarrier_arrive(full, 0);
    return;
  }
  mok_mbarrier_arrive(full, mok_stage<P>::bytes);

  char *a = (char *)mok_stage_data(c, slot);
  enum : int { pitch = mok_stage<P>::pitch };
  const int first = k * P::k, valid = 2 * mok_min(P::k, P::k_extent - first);
  const mok_copy rows_a = {a,       pitch, t->rows, pitch, (const char *)(P::a(c, t) + first), 2 * (long long)P::a_stride,
                           t->rows, valid};
  mok_issue_load(full, P::m * pitch, rows_a, function, line, "bulk load of a stage"); /* padding rows are nobody's */
  mok_load_b<P>(c, t, k, slot, function, line);
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
static void mok_agent_multiply(const mok_agent *agent) {
#if defined(MOK_HOST_TSAN)
  mok_tsan_read_range(agent->a, (unsigned long)(agent->product_rows * P::k) * sizeof *agent->a);
  mok_tsan_read_range(agent->b, (unsigned long)(P::n * P::k) * sizeof *agent->b);
#endif
  mok_multiply<P>(agent->a, agent->b, agent->product_rows, agent->a_row, agent->sum);
}

/* wgmma: the tensor cores read the stage until the wait for them. */
template <class P>
MOK_HOST_UNCHECKED MOK_FN void mok_issue_product(const mok_bf16 *a, const mok_bf16 *b, int rows, float *a_row, float *sum,
                                                 const char *function, int line) {
  mok_engine *e = mok_host;
  mok_fiber *f = e->current;
  mok_agent *agent = mok_agent_make(e);
  agent->owner = f;
  agent->multiply = mok_agent_multiply<P>;
  agent->a = a;
  agent->b = b;
  agent->product_rows = rows;
  agent->a_row = a_row;
  agent->sum = sum;
  ++f->products;
  if (e->clocks.on) {
    const unsigned time = ++*mok_own_time(f, MOK_CLASS_LOAD);
    const mok_site site = {function, line, "product of a stage"};
    const mok_span of_a = {a, mok_stage<P>::pitch, rows, mok_stage<P>::pitch};
    const mok_span of_b = {b, mok_stage<P>::pitch, P::n, mok_stage<P>::pitch};
    mok_touch(e, MOK_CLASS_LOAD, time, false, of_a, site);
    mok_touch(e, MOK_CLASS_LOAD, time, false, of_b, site);
  }
  mok_agent_start(e, agent);
}

MOK_HOST_UNCHECKED MOK_FN void mok_wait_products() {
  mok_fiber *f = mok_host->current;
  const mok_host_wait_record done = {MOK_WAITS_PRODUCT, &f->products_done, f->products, "", 0, 0, NULL, NULL, NULL};
  mok_block(&done);
  mok_order_awaited(mok_host, f, MOK_CLASS_LOAD, *mok_own_time(f, MOK_CLASS_LOAD));
}

template <class P>
MOK_FN void mok_mma_stage(mok_cta *c, const mok_task *t, int k, mok_accumulator<P> &acc,
                          const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  (void)k;
  mok_host_cta *host = c->host;
  const int slot = (int)(c->stage % MOK_STAGES);
  const unsigned lap = c->stage++ / MOK_STAGES;
  mok_stage_barriers<P>(host, slot);
  mok_mbarrier_wait(&host->full[slot], lap + 1, MOK_WAITS_FULL_STAGE, slot);
  const mok_range rows = mok_my_rows<P>(c, t);
  if (rows.end > rows.first && !c->aborted) {
    const mok_bf16 *a = mok_stage_data(c, slot), *b = a + mok_stage<P>::a_elements;
    mok_issue_product<P>(a + rows.first * P::k, b, rows.end - rows.first, acc.sum + P::m * P::n, acc.sum, function, line);
    mok_wait_products();
  }
  mok_mbarrier_arrive(&host->empty[slot], 0);
  mok_preempt();
}

template <class P>
MOK_FN void mok_finish(mok_cta *c, mok_accumulator<P> &acc) {
  (void)c;
  (void)acc;
  mok_wait_products();
}

/* Rows of a tile leave through region staging, some columns at a time: value(sums of the row, column) in, row_at(row) out. Rows
 * are `pitch` bytes apart; 0: anywhere. */
template <class P, class place, class element>
MOK_FN void mok_store_rows(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc, int columns, mok_index pitch, place row_at,
                           element value, const char *function, int line) {
  if (c->aborted) return;
  mok_engine *e = mok_host;
  const mok_range rows = mok_my_rows<P>(c, t);
  const int count = rows.end - rows.first, width = (int)(LAYOUT_STAGING_BYTES / (2 * PLAN_ROW_PADDING));
  mok_bf16 *staging = (mok_bf16 *)(mok_shared(c) + LAYOUT_STAGING_OFFSET) + (mok_index)rows.first * width;
  for (int first = 0; first < columns && count > 0; first += width) {
    const int part = mok_min(width, columns - first);
    mok_wait_stores_read(0); /* of the piece before: staging is free again */
    mok_own_access(true, staging, 2LL * width, count, 2 * part, function, line, "fills the staging tile");
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < part; ++j) staging[i * width + j] = mok_to_bf16(value(acc.sum + i * P::n, first + j));
    mok_fence_proxy(e, e->current);
    const int together = pitch ? count : 1; /* rows of one copy */
    for (int i = 0; i < count; i += together) {
      char *to = (char *)(row_at(rows.first + i) + first);
      const char *from = (const char *)(staging + i * width);
      const mok_copy copy = {to, pitch, together, 2 * part, from, 2LL * width, together, 2 * part};
      mok_issue_store(copy, function, line, "bulk store of a tile");
    }
  }
  mok_preempt();
}

template <class P>
MOK_FN void mok_store(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc, const char *function = __builtin_FUNCTION(),
                      int line = __builtin_LINE()) {
  const int first = t->column * P::n;
  mok_store_rows<P>(
      c, t, acc, mok_min(P::n, P::columns - first), 2LL * P::out_stride,
      [&](int row) { return P::out(c, t) + (mok_index)row * P::out_stride + first; },
      [](const float *sum, int column) { return sum[column]; }, function, line);
}

template <class P>
MOK_FN void mok_store_activated(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc,
                                const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  const int width = P::gated ? P::n / 2 : P::n, first = t->column * width;
  mok_store_rows<P>(
      c, t, acc, mok_min(width, P::columns - first), 2LL * P::out_stride,
      [&](int row) { return P::out(c, t) + (mok_index)row * P::out_stride + first; },
      [&](const float *sum, int column) {
        return activate(P::gated ? sum[column] : 0.0f, sum[P::gated ? width + column : column]);
      },
      function, line);
}

template <class P>
MOK_FN void mok_store_split(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc, const char *function = __builtin_FUNCTION(),
                            int line = __builtin_LINE()) {
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a row of this rank's is a row of region combine");
  const int first = t->column * P::n;
  if (c->aborted) return;
  const mok_route *source = mok_read_source(c, t, 0, t->rows, function, line);
  mok_store_rows<P>(
      c, t, acc, mok_min(P::n, P::columns - first), 0,
      [&](int row) {
        if (mok_is_moved(c, source[row])) return P::out(c, t) + (mok_index)row * P::out_stride + first;
        mok_bf16 *slots = (mok_bf16 *)mok_heap(c, c->args->rank, LAYOUT_COMBINE_OFFSET);
        return slots + (mok_index)source[row].route * PLAN_HIDDEN + first;
      },
      [](const float *sum, int column) { return sum[column]; }, function, line);
}

template <class P>
MOK_FN void mok_store_pushed(mok_cta *c, const mok_task *t, mok_accumulator<P> &acc, const char *function = __builtin_FUNCTION(),
                             int line = __builtin_LINE()) {
  static_assert(P::columns == PLAN_HIDDEN && !P::gated, "a pushed row is a row of region combine");
  const int first = t->column * P::n;
  if (c->aborted) return;
  const mok_route *source = mok_read_source(c, t, 0, t->rows, function, line);
  mok_store_rows<P>(
      c, t, acc, mok_min(P::n, P::columns - first), 0,
      [&](int row) {
        mok_bf16 *slots = (mok_bf16 *)mok_heap(c, source[row].rank, LAYOUT_COMBINE_OFFSET);
        return slots + (mok_index)source[row].route * PLAN_HIDDEN + first;
      },
      [](const float *sum, int column) { return sum[column]; }, function, line);
}

#endif
