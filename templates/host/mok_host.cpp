/* kernel.host.so: the kernel with the host target's primitives, and the way in (mok_host.h). */
#include "kernel.cu"

#define MOK_EXPORT __attribute__((visibility("default")))

extern "C" MOK_EXPORT const mok_host_about_t mok_host_about;
const mok_host_about_t mok_host_about = {MOK_HOST_ABI,        MOK_ARGS_ABI,     LAYOUT_HEAP_BYTES,   LAYOUT_LOCAL_BYTES,
                                         LAYOUT_SHARED_BYTES, PLAN_GPUS,        PLAN_TOKENS_PER_GPU, PLAN_GRID,
                                         PLAN_SMS_COMM,       PLAN_SMS_COMPUTE, PLAN_NAME,           PLAN_DIGEST};

MOK_HOST_UNCHECKED static void mok_entry_main(void) {
  mok_engine *e = mok_host;
  mok_fiber *f = e->current;
  mok_context_arrived(&f->context, &e->thread);
  (void)mok_acquire(&e->launched);
  mok_forward(*e->args);
  (void)mok_release_add(&e->launched);
  f->state = MOK_FIBER_ENDED;
  mok_to_scheduler(f, true);
}

MOK_HOST_UNCHECKED static void mok_worker_main(void) {
  mok_engine *e = mok_host;
  mok_fiber *f = e->current;
  mok_context_arrived(&f->context, &e->thread);
  (void)mok_acquire(&f->cta->started);
  f->worker(f->c);
  (void)mok_release_add(&f->cta->ended);
  f->state = MOK_FIBER_ENDED;
  mok_to_scheduler(f, true);
}

static void poison(void *base, long long from, long long to) { mok_poison((char *)base + from, to - from); }

static void poison_rank(const mok_rank_args *args) {
  char *heap = (char *)args->heap[args->rank];
  poison(heap, 0, LAYOUT_FLAGS_OFFSET);
#if PLAN_GPUS > 1
  if (args->x == heap + LAYOUT_X_OFFSET) { /* the caller has written its tokens there */
    poison(heap, LAYOUT_FLAGS_OFFSET + LAYOUT_FLAGS_BYTES, LAYOUT_X_OFFSET);
    poison(heap, LAYOUT_X_OFFSET + LAYOUT_X_BYTES, LAYOUT_HEAP_BYTES);
  } else
#endif
    poison(heap, LAYOUT_FLAGS_OFFSET + LAYOUT_FLAGS_BYTES, LAYOUT_HEAP_BYTES);
  static_assert(LAYOUT_CONTROL_OFFSET < LAYOUT_COUNTERS_OFFSET, "control comes before counters");
  poison(args->local, 0, LAYOUT_CONTROL_OFFSET);
  poison(args->local, LAYOUT_CONTROL_OFFSET + LAYOUT_CONTROL_BYTES, LAYOUT_COUNTERS_OFFSET);
  poison(args->local, LAYOUT_COUNTERS_OFFSET + LAYOUT_COUNTERS_BYTES, LAYOUT_LOCAL_BYTES);
  const int tokens = args->tokens_dev ? *args->tokens_dev : args->tokens;
  if (tokens > 0 && tokens <= PLAN_TOKENS_PER_GPU)
    poison(args->out, 0, (long long)tokens * PLAN_HIDDEN * (long long)sizeof(mok_bf16));
}

/* What would otherwise be a wild read or an endless wait. */
static void check_launch(mok_engine *e, const mok_args *args) {
  if (args->num_ranks_here != PLAN_GPUS)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "num_ranks_here is %d; the host target runs all %d ranks in one launch",
             args->num_ranks_here, PLAN_GPUS);
  else if (args->phases == 0 || (args->phases & ~(unsigned)MOK_PHASE_ALL) != 0)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "phases is 0x%x; it is a non-empty set of bits of 0x%x", args->phases, MOK_PHASE_ALL);
  else if (args->comm_ctas < 1 || args->comm_ctas > PLAN_SMS_COMM)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "comm_ctas is %d; the plan allows 1 to %d", args->comm_ctas, PLAN_SMS_COMM);
  else if (args->compute_ctas < 1 || args->compute_ctas > PLAN_SMS_COMPUTE)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "compute_ctas is %d; the plan allows 1 to %d", args->compute_ctas, PLAN_SMS_COMPUTE);
  for (int r = 0; e->result == MOK_HOST_OK && r < PLAN_GPUS; ++r) {
    const mok_rank_args *rank = &args->ranks[r];
    const int tokens = rank->tokens_dev ? *rank->tokens_dev : rank->tokens;
    if (rank->rank != r) mok_fail(e, MOK_HOST_BAD_LAUNCH, "ranks[%d].rank is %d", r, rank->rank);
    else if (rank->local == NULL) mok_fail(e, MOK_HOST_BAD_LAUNCH, "ranks[%d].local is NULL", r);
    else if (tokens > 0 && (!rank->x || !rank->out || !rank->topk_ids || !rank->topk_weights))
      mok_fail(e, MOK_HOST_BAD_LAUNCH, "ranks[%d] has %d tokens but x, out, topk_ids or topk_weights is NULL", r, tokens);
    for (int p = 0; e->result == MOK_HOST_OK && p < PLAN_GPUS; ++p)
      if (rank->heap[p] == NULL || rank->heap[p] != args->ranks[p].heap[p])
        mok_fail(e, MOK_HOST_BAD_LAUNCH, "ranks[%d].heap[%d] is not rank %d's heap", r, p, p);
  }
}

static void run_launch(mok_engine *e, const mok_host_launch_t *launch) {
  const int ctas = (launch->args->comm_ctas + launch->args->compute_ctas) * PLAN_GPUS;
  e->ctas = (mok_host_cta *)calloc((size_t)ctas, sizeof *e->ctas);
  if (e->ctas == NULL) {
    mok_fail(e, MOK_HOST_FAULT, "out of memory for %d CTAs", ctas);
    return;
  }
#if defined(MOK_HOST_TSAN)
  e->thread.tsan_fiber = __tsan_get_current_fiber();
#endif
  for (int i = 0; i < ctas && e->result == MOK_HOST_OK; ++i) (void)mok_fiber_create(e, &e->ctas[i], NULL, NULL);
  mok_release_store(&e->launched, 1);
  mok_schedule(e);
  (void)mok_acquire(&e->launched);
  for (size_t i = 0; i < e->fiber_count; ++i) mok_fiber_free(e, e->fibers[i]); /* after a failure */
  for (int i = 0; i < ctas; ++i) {
    (void)mok_acquire(&e->ctas[i].ended); /* of workers that nobody joined, after a failure */
    free(e->ctas[i].shared);
  }
  free(e->ctas);
  free(e->fibers);
  mok_stacks_free(&e->stacks);
}

extern "C" MOK_EXPORT int mok_host_run(const mok_host_launch_t *launch, mok_host_report_t *report) {
  if (launch == NULL || report == NULL || launch->struct_size != sizeof *launch || report->struct_size != sizeof *report ||
      mok_host != NULL)
    return MOK_HOST_BAD_LAUNCH;
  if (report->text_size == 0) report->text = NULL;
  if (report->text) report->text[0] = 0;
  report->fibers = report->rounds = report->switches = report->waits = report->signals = 0;
  mok_engine *e = (mok_engine *)calloc(1, sizeof *e);
  if (e == NULL) return MOK_HOST_FAULT;
  e->args = launch->args;
  e->report = report;
  e->random = launch->seed;
  e->random_order = launch->seed != 0;
  e->result = MOK_HOST_OK;
  check_launch(e, launch->args);
  if (e->result == MOK_HOST_OK) {
    if (launch->flags & MOK_HOST_POISON)
      for (int r = 0; r < PLAN_GPUS; ++r) poison_rank(&launch->args->ranks[r]);
    mok_host = e;
    run_launch(e, launch);
    mok_host = NULL;
  }
  const int result = e->result;
  free(e);
  return result;
}
