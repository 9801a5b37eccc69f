/* kernel.host.so: the kernel with the host target's primitives, and the way in (mok_host.h). */
#include "kernel.cu"
#include "../mok_fault.h"

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
  mok_worker_leave(f);
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
  else if (args->comm_ctas < (PLAN_SMS_COMM > 0) || args->comm_ctas > PLAN_SMS_COMM)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "comm_ctas is %d; the plan allows %d to %d", args->comm_ctas, PLAN_SMS_COMM > 0,
             PLAN_SMS_COMM);
  else if (args->compute_ctas < 1 || args->compute_ctas > PLAN_SMS_COMPUTE)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "compute_ctas is %d; the plan allows 1 to %d", args->compute_ctas, PLAN_SMS_COMPUTE);
  else if (args->comm_ctas % PLAN_CLUSTER != 0 || args->compute_ctas % PLAN_CLUSTER != 0)
    mok_fail(e, MOK_HOST_BAD_LAUNCH, "comm_ctas is %d and compute_ctas %d; they start in clusters of %d", args->comm_ctas,
             args->compute_ctas, PLAN_CLUSTER);
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

/* ---- the detector ---- */

static mok_memory *add_memory(mok_detector *d, mok_space space, int rank, const char *name, const void *base, long long bytes) {
  mok_memory *r = &d->memories[rank][d->memory_count[rank]++];
  const mok_memory memory = {space, rank, name, (const char *)base, bytes, NULL};
  *r = memory;
  return r;
}

static void guard(mok_detector *d, mok_space space, int rank, const char *name, const void *base, long long bytes) {
  mok_memory *r = add_memory(d, space, rank, name, base, bytes);
  r->pieces = (unsigned *)mok_zeroed((size_t)(bytes / MOK_PIECE_BYTES + 2) * sizeof *r->pieces);
}

static void add_weight(mok_detector *d, int rank, const char *name, const mok_weight *w, int experts, int rows, int columns) {
  if (experts == 0 || rows == 0 || w->base == NULL) return;
  const long long elements = (experts - 1) * w->expert_stride + (rows - 1) * w->row_stride + columns;
  (void)add_memory(d, MOK_SPACE_GIVEN, rank, name, w->base, elements * (long long)sizeof(mok_bf16));
}

/* Words that the launch will count in must not have counted yet. */
static void check_counters_start(mok_engine *e, const mok_rank_args *args) {
  const unsigned epoch = *mok_control(args, MOK_LINE_EPOCH);
  const unsigned *set =
      (const unsigned *)((const char *)args->local + LAYOUT_COUNTERS_OFFSET) + (mok_index)(epoch % 2) * COUNTER_WORDS;
  for (int i = 0; i < COUNTER_WORDS; ++i)
    if (set[i] != 0)
      mok_find(e, MOK_FINDING_COUNT, "count: rank %d's counter word %d is %u before the launch counts", args->rank, i, set[i]);
}

/* Every word that was waited for ends on what all waits for it expected. */
static void check_counters_end(mok_engine *e, const mok_rank_args *args, unsigned epoch) {
  const mok_index set = (mok_index)(epoch % 2) * COUNTER_WORDS;
  const unsigned *words = (const unsigned *)((const char *)args->local + LAYOUT_COUNTERS_OFFSET) + set;
  const mok_counter_use *uses = e->detector->counters + args->rank * 2 * (mok_index)COUNTER_WORDS + set;
  for (int i = 0; i < COUNTER_WORDS; ++i)
    if (uses[i].most > 0 && (uses[i].least != words[i] || uses[i].most != words[i]))
      mok_find(e, MOK_FINDING_COUNT, "count: rank %d's counter word %d ends at %u, and was waited for with %u", args->rank, i,
               words[i], uses[i].least != words[i] ? uses[i].least : uses[i].most);
}

static void start_detector(mok_engine *e, const mok_host_launch_t *launch, int ctas) {
  mok_detector *d = e->detector = (mok_detector *)mok_zeroed(sizeof *d);
  e->clocks.on = true;
  e->clocks.ctas = (size_t)ctas;
  d->counters = (mok_counter_use *)mok_zeroed((size_t)PLAN_GPUS * 2 * COUNTER_WORDS * sizeof *d->counters);
  d->flags = (mok_sync *)mok_zeroed((size_t)PLAN_GPUS * MOK_FLAG_LINES * sizeof *d->flags);
  d->grid_barriers = (mok_sync *)mok_zeroed((size_t)PLAN_GPUS * MOK_MAX_GRID_BARRIERS * sizeof *d->grid_barriers);
  d->poisoned = (launch->flags & MOK_HOST_POISON) != 0;
  d->site_count = 1;
  d->sites[0].function = d->sites[0].what = "";
  (void)mok_history_make(d);
  (void)mok_history_make(d);
  for (int r = 0; r < PLAN_GPUS; ++r) {
    const mok_rank_args *args = &launch->args->ranks[r];
    const int given = args->tokens_dev ? *args->tokens_dev : args->tokens;
    const long long tokens = given > 0 && given <= PLAN_TOKENS_PER_GPU ? given : 0, row_bytes = PLAN_HIDDEN * 2;
    const int experts = mok_local_experts(r), hidden = PLAN_HIDDEN, width = PLAN_INTERMEDIATE, shared = PLAN_SHARED_INTERMEDIATE;
    guard(d, MOK_SPACE_HEAP, r, "heap", args->heap[r], LAYOUT_HEAP_BYTES);
    guard(d, MOK_SPACE_LOCAL, r, "workspace", args->local, LAYOUT_LOCAL_BYTES);
    if (tokens > 0) guard(d, MOK_SPACE_OUT, r, "out", args->out, tokens * row_bytes);
    const mok_memory *heap = &d->memories[r][MOK_MEMORY_HEAP];
    if (!mok_memory_holds(heap, (const char *)args->x)) {
      if (tokens > 0) (void)add_memory(d, MOK_SPACE_GIVEN, r, "x", args->x, tokens * row_bytes);
    }
#if PLAN_GPUS > 1
    else if (args->x == heap->base + LAYOUT_X_OFFSET)
      for (long long i = 0; i < tokens * row_bytes / MOK_PIECE_BYTES; ++i)
        heap->pieces[LAYOUT_X_OFFSET / MOK_PIECE_BYTES + i] = MOK_HISTORY_GIVEN;
#endif
    add_weight(d, r, "gate", &args->gate, experts, width, hidden);
    add_weight(d, r, "up", &args->up, experts, width, hidden);
    add_weight(d, r, "down", &args->down, experts, hidden, width);
    add_weight(d, r, "shared_gate", &args->shared_gate, 1, shared, hidden);
    add_weight(d, r, "shared_up", &args->shared_up, 1, shared, hidden);
    add_weight(d, r, "shared_down", &args->shared_down, 1, shared > 0 ? hidden : 0, shared);
    check_counters_start(e, args);
  }
}

static void end_detector(mok_engine *e) {
  mok_detector *d = e->detector;
  for (int r = 0; r < PLAN_GPUS; ++r)
    for (int i = 0; i < d->memory_count[r]; ++i) free(d->memories[r][i].pieces);
  for (size_t i = 0; i < d->history_count; ++i) free(d->histories[i].reads);
  free(d->histories);
  free(d->counters);
  free(d->flags);
  free(d->grid_barriers);
  free(d);
  mok_clocks_free(&e->clocks);
}

/* What a launch finds as it needs it and leaves so: "before" it, or `epochs` advanced by one "after" it. */
static void check_control(mok_engine *e, const mok_args *args, const unsigned *epochs, const char *when) {
  static const struct {
    int line;
    const char *name;
  } zero[] = {{MOK_LINE_TICKET, "ticket"}, {MOK_LINE_EXITS, "exits"}, {MOK_LINE_GRID_BARRIER, "grid barrier"}};
  for (int r = 0; r < PLAN_GPUS; ++r) {
    for (size_t i = 0; i < sizeof zero / sizeof zero[0]; ++i)
      if (*mok_control(&args->ranks[r], zero[i].line) != 0)
        mok_find(e, MOK_FINDING_COUNT, "count: rank %d's control word %s is %u %s the launch, and must be 0", r, zero[i].name,
                 *mok_control(&args->ranks[r], zero[i].line), when);
    const unsigned epoch = *mok_control(&args->ranks[r], MOK_LINE_EPOCH);
    if (epochs && epoch != epochs[r] + 1)
      mok_find(e, MOK_FINDING_COUNT, "count: rank %d's epoch was %u and is %u after the launch", r, epochs[r], epoch);
  }
}

/* Nothing may be left half done in shared memory. */
static void check_mbarriers(mok_engine *e, const mok_host_cta *cta) {
  const mok_mbarrier *all[] = {cta->full, cta->empty, cta->slots};
  const int counts[] = {MOK_MAX_STAGES, MOK_MAX_STAGES, MOK_MAX_SLOTS};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < counts[i]; ++j)
      if (all[i][j].pending != all[i][j].count || all[i][j].bytes != 0)
        mok_find(e, MOK_FINDING_MBARRIER, "mbarrier: the launch ends with %u of %u arrivals and %lld bytes to come",
                 all[i][j].count - all[i][j].pending, all[i][j].count, all[i][j].bytes);
}

/* Who gave up, and why: in this launch or before. */
static void report_aborts(mok_engine *e, const mok_args *args) {
  for (int r = 0; r < PLAN_GPUS; ++r) {
    const mok_rank_args *rank = &args->ranks[r];
    if (*mok_control(rank, MOK_LINE_ABORT) == 0) continue;
    ++e->report->aborted_ranks;
    char text[400];
    const mok_fault_names names = {e->waited_for[r], e->waiting[r], NULL};
    mok_fault_text(text, sizeof text, mok_control(rank, MOK_LINE_WAIT_ERROR), &names, args->local_limit_ms, args->peer_limit_ms);
    mok_say(e, "%s\n", text);
  }
}

/* Until everybody has left or something is wrong. */
static void run_ctas(mok_engine *e, const mok_host_launch_t *launch, int ctas) {
  const mok_args *args = launch->args;
  unsigned epochs[PLAN_GPUS];
  bool aborted = false;
  for (int r = 0; r < PLAN_GPUS; ++r) {
    epochs[r] = *mok_control(&args->ranks[r], MOK_LINE_EPOCH);
    aborted |= *mok_control(&args->ranks[r], MOK_LINE_ABORT) != 0;
  }
  e->quiet = aborted;
  if (!aborted) check_control(e, args, NULL, "before");
  if (launch->flags & MOK_HOST_RACES) start_detector(e, launch, ctas);
  for (int i = 0; i < ctas && e->result == MOK_HOST_OK; ++i) (void)mok_fiber_create(e, &e->ctas[i], NULL, NULL, 0);
  mok_release_store(&e->launched, 1);
  mok_schedule(e);
  (void)mok_acquire(&e->launched);
  const bool left = e->report->stuck == 0; /* all fibers: else words say how far they came */
  if (e->result == MOK_HOST_OK && left)
    for (int i = 0; i < ctas; ++i) check_mbarriers(e, &e->ctas[i]);
  if (e->result == MOK_HOST_OK && left && !e->quiet && !e->deadlocked) {
    check_control(e, args, epochs, "after");
    for (int r = 0; r < PLAN_GPUS && e->detector; ++r) check_counters_end(e, &args->ranks[r], epochs[r]);
  }
  if (e->result == MOK_HOST_OK && aborted)
    mok_fail(e, MOK_HOST_ABORTED, "a rank gave up in an earlier launch; its memory must be made anew");
  if (e->result == MOK_HOST_OK && e->deadlocked) e->result = MOK_HOST_DEADLOCK;
  if (e->result == MOK_HOST_DEADLOCK || e->result == MOK_HOST_ABORTED) report_aborts(e, args);
}

static void run_launch(mok_engine *e, const mok_host_launch_t *launch) {
  const int ctas = (launch->args->comm_ctas + launch->args->compute_ctas) * PLAN_GPUS;
#if defined(MOK_HOST_TSAN)
  e->thread.tsan_fiber = __tsan_get_current_fiber();
#endif
  if (setjmp(e->no_memory) == 0) {
    e->ctas = (mok_host_cta *)mok_zeroed((size_t)ctas * sizeof *e->ctas);
    run_ctas(e, launch, ctas);
  }
  for (size_t i = 0; i < e->fiber_count; ++i) mok_fiber_free(e, e->fibers[i]); /* after a failure */
  for (int i = 0; i < ctas && e->ctas; ++i) {
    (void)mok_acquire(&e->ctas[i].ended); /* of workers that nobody joined, after a failure */
    free(e->ctas[i].shared);
    free(e->ctas[i].shared_cells);
  }
  mok_agents_free(e);
  if (e->detector) end_detector(e);
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
  report->copies = 0;
  report->aborted_ranks = report->stuck = 0;
  report->finding = MOK_FINDING_NONE;
  mok_engine *e = (mok_engine *)calloc(1, sizeof *e);
  if (e == NULL) return MOK_HOST_NO_MEMORY;
  e->args = launch->args;
  e->launch = launch;
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
