#include "gpu_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../tests/reference/random.h"
#include "naive_sources.h"

enum { BLOCK = 256, MOST_BLOCKS = 4096 };

/* ------------------------------------------------------------------------------------------------ devices */

mok_status mok_gpu_alloc(mok_session *session, const mok_kernel *kernel, mok_gpu_block **blocks, size_t bytes, const char *what,
                         mok_cu_pointer *out) {
  mok_gpu_block *block = MOK_NEW(session->arena, mok_gpu_block);
  const int result = kernel->cuda.cuMemAlloc(&block->pointer, bytes > 0 ? bytes : 1);
  if (result != MOK_CU_SUCCESS)
    return mok_status_context(mok_cuda_status(&kernel->cuda, result, "cuMemAlloc"), "allocating %.3f GB for %s on device %d",
                              (double)bytes / 1e9, what, kernel->ordinal);
  block->next = *blocks;
  *blocks = block;
  *out = block->pointer;
  return MOK_OK;
}

void mok_gpu_free(const mok_kernel *kernel, mok_gpu_block **blocks) {
  for (mok_gpu_block *b = *blocks; b; b = b->next) kernel->cuda.cuMemFree(b->pointer);
  *blocks = NULL;
}

mok_status mok_gpu_start(const mok_gpu_run *run, int device, const char *name, unsigned grid_x, unsigned grid_y,
                         void **parameters) {
  const mok_cuda *cuda = &run->kernels[device]->cuda;
  mok_cu_function function;
  MOK_CU_TRY(cuda, cuModuleGetFunction(&function, run->modules[device], name));
  const mok_cu_launch_config config = {.grid = {grid_x, grid_y, 1}, .block = {BLOCK, 1, 1}, .stream = run->streams[device]};
  return mok_status_context(
      mok_cuda_status(cuda, cuda->cuLaunchKernelEx(&config, function, parameters, NULL), "cuLaunchKernelEx"), "starting %s",
      name);
}

static unsigned blocks_for(uint64_t count) {
  const uint64_t blocks = (count + BLOCK - 1) / BLOCK;
  return blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks < 1 ? 1 : (unsigned)blocks;
}

mok_status mok_gpu_fill(const mok_gpu_run *run, int device, mok_cu_pointer to, uint64_t key, uint64_t first, uint64_t count,
                        float scale) {
  void *parameters[] = {&to, &key, &first, &count, &scale};
  return mok_gpu_start(run, device, "naive_fill", blocks_for(count), 1, parameters);
}

static void log_line(void *user, const char *text) { mok_session_remark(user, "%s", text); }

static mok_status open_device(mok_gpu_run *run, int d, const mok_load_args *package, const mok_image *naive) {
  mok_load_args args = *package;
  args.struct_size = sizeof args;
  args.device = d;
  args.log = log_line;
  args.log_user = run->session;
  MOK_TRY(mok_kernel_load(&args, &run->kernels[d]));
  const mok_kernel *kernel = run->kernels[d];
  const mok_cuda *cuda = &kernel->cuda;
  MOK_TRY(mok_kernel_enter(kernel));
  mok_status status = mok_cuda_load_module(cuda, naive->code.data, naive->code.size, &run->modules[d]);
  if (!status)
    status = mok_cuda_status(cuda, cuda->cuStreamCreate(&run->streams[d], MOK_CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (int i = 0; i < 2 && !status; ++i)
    status = mok_cuda_status(cuda, cuda->cuEventCreate(&run->events[d][i], 0), "cuEventCreate");
  mok_kernel_leave(kernel);
  return status;
}

static mok_status compile_naive(mok_session *session, const mok_target *target, mok_image *out) {
  const mok_jit_options options = {.target = target,
                                   .use_cache = !session->options.no_cache.given,
                                   .sanitizer = "",
                                   .verbose = session->options.verbose.given};
  mok_sources sources = {0};
  for (size_t i = 0; i < mok_naive_count; ++i) {
    const mok_blob file = {mok_path_base(mok_naive_files[i].name), mok_naive_files[i].text, mok_naive_files[i].size};
    if (strcmp(file.name, "naive.cu") == 0) sources.kernel = file;
    else if (strcmp(file.name, "random.h") == 0) sources.plan_h = file;
    else sources.layout_h = file;
  }
  return mok_status_context(mok_jit_compile(session->arena, &sources, &options, out),
                            "compiling the checks of tests/gpu/naive.cu");
}

/* ------------------------------------------------------------------------------------------------ memory of a rank */

static mok_status upload(const mok_gpu_run *run, int device, mok_gpu_rank *rank, const void *from, size_t bytes, const char *what,
                         mok_cu_pointer *out) {
  MOK_TRY(mok_gpu_alloc(run->session, rank->kernel, &rank->blocks, bytes, what, out));
  if (bytes > 0) MOK_CU_TRY(&rank->kernel->cuda, cuMemcpyHtoDAsync(*out, from, bytes, run->streams[device]));
  return MOK_OK;
}

typedef struct family {
  mok_weights *to;
  int stream;
  int64_t first_expert, experts, rows, columns;
  const char *what;
} family;

static mok_status make_family(const mok_gpu_run *run, int device, mok_gpu_rank *rank, const family *f) {
  const uint64_t each = (uint64_t)f->rows * (uint64_t)f->columns, count = (uint64_t)f->experts * each;
  mok_cu_pointer pointer = 0;
  if (count == 0) return MOK_OK;
  MOK_TRY(mok_gpu_alloc(run->session, rank->kernel, &rank->blocks, count * sizeof(uint16_t), f->what, &pointer));
  f->to->base = (const void *)(uintptr_t)pointer;
  return mok_gpu_fill(run, device, pointer, mok_random_key(run->problem->seed, (uint64_t)f->stream),
                      (uint64_t)f->first_expert * each, count, mok_weight_scale(f->columns));
}

static mok_status make_rank(mok_gpu_run *run, int device, int64_t r) {
  const mok_model *m = run->model;
  const mok_rank_problem *from = &run->problem->ranks[r];
  mok_gpu_rank *rank = &run->ranks[r];
  rank->kernel = run->kernels[device];
  const size_t T = (size_t)from->tokens, row = (size_t)m->hidden * sizeof(uint16_t), k = (size_t)m->top_k;
  MOK_TRY(upload(run, device, rank, from->x, T * row, "tokens", &rank->x));
  MOK_TRY(upload(run, device, rank, from->ids, T * k * sizeof(int32_t), "topk_ids", &rank->ids));
  MOK_TRY(upload(run, device, rank, from->weights, T * k * sizeof(float), "topk_weights", &rank->weights));
  MOK_TRY(mok_gpu_alloc(run->session, rank->kernel, &rank->blocks, (T + 2) * row, "outputs", &rank->out));
  rank->args = (mok_forward_args){.struct_size = sizeof rank->args,
                                  .x = (const void *)(uintptr_t)rank->x,
                                  .topk_ids = (const int32_t *)(uintptr_t)rank->ids,
                                  .topk_weights = (const float *)(uintptr_t)rank->weights,
                                  .out = (void *)(uintptr_t)(rank->out + row),
                                  .tokens = (int32_t)T};
  const int64_t H = m->hidden, I = m->intermediate, S = m->shared_intermediate;
  const int64_t first = mok_first_expert(m, r), experts = mok_local_experts(m, r), shared = S > 0;
  const int64_t gates = mok_is_gated(m) ? experts : 0, shared_gates = mok_is_gated(m) ? shared : 0;
  const family families[] = {
      {&rank->args.gate, MOK_STREAM_GATE, first, gates, I, H, "gate weights"},
      {&rank->args.up, MOK_STREAM_UP, first, experts, I, H, "up weights"},
      {&rank->args.down, MOK_STREAM_DOWN, first, experts, H, I, "down weights"},
      {&rank->args.shared_gate, MOK_STREAM_SHARED_GATE, 0, shared_gates, S, H, "shared gate weights"},
      {&rank->args.shared_up, MOK_STREAM_SHARED_UP, 0, shared, S, H, "shared up weights"},
      {&rank->args.shared_down, MOK_STREAM_SHARED_DOWN, 0, shared, H, S, "shared down weights"},
  };
  for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i) MOK_TRY(make_family(run, device, rank, &families[i]));
  return MOK_OK;
}

static mok_status make_ranks(mok_gpu_run *run) {
  for (int64_t r = 0; r < run->model->gpus; ++r) {
    const int device = run->devices == 1 ? 0 : (int)r;
    const mok_kernel *kernel = run->kernels[device];
    MOK_TRY(mok_kernel_enter(kernel));
    mok_status status = make_rank(run, device, r);
    if (!status)
      status = mok_cuda_status(&kernel->cuda, kernel->cuda.cuStreamSynchronize(run->streams[device]), "cuStreamSynchronize");
    mok_kernel_leave(kernel);
    if (status) return mok_status_context(status, "preparing rank %" PRId64, r);
    MOK_TRY(mok_interrupt_check());
  }
  return MOK_OK;
}

static mok_status take_timeout(const mok_session *session, mok_launch_options *out) {
  const mok_option_value *given = &session->options.timeout;
  const char *text = getenv("MOK_TIMEOUT_MS");
  int64_t milliseconds = given->given ? given->number : 0;
  if (!given->given && text && text[0]) MOK_TRY(mok_parse_int(text, 1, INT32_MAX, "MOK_TIMEOUT_MS", &milliseconds));
  *out = (mok_launch_options){
      .struct_size = sizeof *out, .local_timeout_ms = (uint32_t)milliseconds, .peer_timeout_ms = (uint32_t)milliseconds};
  return MOK_OK;
}

mok_status mok_gpu_run_open(mok_session *session, const mok_model *model, const mok_load_args *package, const mok_target *target,
                            bool colocate, mok_problem *problem, mok_gpu_run *out) {
  mok_image naive;
  const size_t devices = colocate ? 1 : (size_t)model->gpus;
  *out = (mok_gpu_run){.session = session, .model = model, .problem = problem, .devices = (int)devices};
  out->kernels = MOK_NEW_ARRAY(session->arena, devices, mok_kernel *);
  out->workspaces = MOK_NEW_ARRAY(session->arena, devices, mok_workspace *);
  out->streams = MOK_NEW_ARRAY(session->arena, devices, mok_cu_stream);
  out->events = mok_arena_array(session->arena, devices, sizeof *out->events);
  out->modules = MOK_NEW_ARRAY(session->arena, devices, mok_cu_module);
  out->ranks = MOK_NEW_ARRAY(session->arena, (size_t)model->gpus, mok_gpu_rank);
  out->args = MOK_NEW_ARRAY(session->arena, (size_t)model->gpus, mok_forward_args);
  MOK_TRY(take_timeout(session, &out->launch));
  MOK_TRY(compile_naive(session, target, &naive));
  for (size_t d = 0; d < devices; ++d) MOK_TRY(open_device(out, (int)d, package, &naive));
  const mok_group group = {.struct_size = sizeof group, .kernels = out->kernels, .kernel_count = (int)devices};
  MOK_TRY(mok_workspace_create(&group, out->workspaces));
  return make_ranks(out);
}

void mok_gpu_run_close(mok_gpu_run *run) {
  for (int d = 0; d < run->devices; ++d) mok_workspace_destroy(run->workspaces[d]);
  for (int d = 0; d < run->devices; ++d) {
    mok_kernel *kernel = run->kernels[d];
    if (!kernel) continue;
    mok_status status = mok_kernel_enter(kernel);
    if (!status) {
      for (int64_t r = 0; r < run->model->gpus; ++r)
        if (run->ranks[r].kernel == kernel) mok_gpu_free(kernel, &run->ranks[r].blocks);
      for (int i = 0; i < 2; ++i)
        if (run->events[d][i]) kernel->cuda.cuEventDestroy(run->events[d][i]);
      if (run->streams[d]) kernel->cuda.cuStreamDestroy(run->streams[d]);
      if (run->modules[d]) kernel->cuda.cuModuleUnload(run->modules[d]);
      mok_kernel_leave(kernel);
    }
    mok_status_free(status);
  }
  for (int d = 0; d < run->devices; ++d) mok_kernel_unload(run->kernels[d]);
  memset(run, 0, sizeof *run);
}

/* ------------------------------------------------------------------------------------------------ a step */

static size_t row_bytes(const mok_gpu_run *run) { return (size_t)run->model->hidden * sizeof(uint16_t); }
static size_t out_bytes(const mok_gpu_run *run, int64_t r) { return ((size_t)run->problem->ranks[r].rows + 2) * row_bytes(run); }
static int ranks_here(const mok_gpu_run *run) { return run->devices == 1 ? (int)run->model->gpus : 1; }

static mok_status enqueue(mok_gpu_run *run, int d) {
  const mok_cuda *cuda = &run->kernels[d]->cuda;
  const int here = ranks_here(run), first = d * here;
  mok_forward_args *args = &run->args[first]; /* no allocation: there may be a million launches */
  for (int i = 0; i < here; ++i) {
    args[i] = run->ranks[first + i].args;
    args[i].tokens = (int32_t)run->problem->ranks[first + i].tokens;
    MOK_CU_TRY(cuda, cuMemsetD8Async(run->ranks[first + i].out, 0xff, out_bytes(run, first + i), run->streams[d]));
  }
  MOK_CU_TRY(cuda, cuEventRecord(run->events[d][0], run->streams[d]));
  MOK_TRY(mok_forward(run->workspaces[d], args, &run->launch, run->streams[d]));
  MOK_CU_TRY(cuda, cuEventRecord(run->events[d][1], run->streams[d]));
  return MOK_OK;
}

static mok_status finish(mok_gpu_run *run, int d, double *time_us) {
  const mok_cuda *cuda = &run->kernels[d]->cuda;
  float milliseconds = 0;
  MOK_CU_TRY(cuda, cuStreamSynchronize(run->streams[d]));
  MOK_CU_TRY(cuda, cuEventElapsedTime(&milliseconds, run->events[d][0], run->events[d][1]));
  if ((double)milliseconds * 1e3 > *time_us) *time_us = (double)milliseconds * 1e3;
  return MOK_OK;
}

static mok_status on_device(mok_gpu_run *run, int d, mok_status (*body)(mok_gpu_run *run, int d, double *time_us),
                            double *time_us) {
  MOK_TRY(mok_kernel_enter(run->kernels[d]));
  mok_status status = body(run, d, time_us);
  mok_kernel_leave(run->kernels[d]);
  return status;
}

static mok_status enqueue_body(mok_gpu_run *run, int d, double *time_us) {
  (void)time_us;
  return enqueue(run, d);
}

/* What the device says about the launch; input errors are the run's own (--routing file:F) and only noted. */
static mok_status judge(mok_gpu_run *run, int d) {
  mok_input_errors errors = {.struct_size = sizeof errors};
  MOK_TRY(mok_check(run->workspaces[d], &errors));
  if (errors.bad_ids)
    mok_session_remark(run->session, "%" PRId64 " ids name no expert; the first: rank %d token %d slot %d: %d", errors.bad_ids,
                       errors.rank, errors.token, errors.slot, errors.id);
  if (errors.bad_counts) return MOK_ERROR(MOK_ERR_CODEGEN, "the kernel refused a token count of %d", errors.count);
  return MOK_OK;
}

mok_status mok_gpu_run_launch(mok_gpu_run *run, double *time_us) {
  *time_us = 0;
  for (int d = 0; d < run->devices; ++d) MOK_TRY(on_device(run, d, enqueue_body, time_us));
  for (int d = 0; d < run->devices; ++d)
    MOK_TRY_CTX(on_device(run, d, finish, time_us), "waiting for the kernel on device %d", d);
  for (int d = 0; d < run->devices; ++d) MOK_TRY(judge(run, d));
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ outputs */

static mok_status fetch_rank(mok_gpu_run *run, int64_t r) {
  MOK_CU_TRY(&run->ranks[r].kernel->cuda,
             cuMemcpyDtoH(run->problem->ranks[r].out - run->model->hidden, run->ranks[r].out, out_bytes(run, r)));
  return MOK_OK;
}

mok_status mok_gpu_run_fetch(mok_gpu_run *run) {
  for (int64_t r = 0; r < run->model->gpus; ++r) {
    MOK_TRY(mok_kernel_enter(run->ranks[r].kernel));
    mok_status status = fetch_rank(run, r);
    mok_kernel_leave(run->ranks[r].kernel);
    MOK_TRY(status);
  }
  return MOK_OK;
}

static mok_status compare_rank(mok_gpu_run *run, int device, int64_t r, int64_t *out) {
  mok_gpu_rank *rank = &run->ranks[r];
  const mok_cuda *cuda = &rank->kernel->cuda;
  mok_cu_stream stream = run->streams[device];
  const size_t bytes = out_bytes(run, r);
  if (!rank->first) {
    MOK_TRY(mok_gpu_alloc(run->session, rank->kernel, &rank->blocks, bytes + sizeof(uint64_t), "the first output", &rank->first));
    MOK_CU_TRY(cuda, cuMemcpyDtoDAsync(rank->first, rank->out, bytes, stream));
  }
  mok_cu_pointer counter = rank->first + bytes;
  uint64_t count = bytes / sizeof(uint16_t), differences = 0;
  MOK_CU_TRY(cuda, cuMemsetD8Async(counter, 0, sizeof differences, stream));
  void *parameters[] = {&counter, &rank->first, &rank->out, &count};
  MOK_TRY(mok_gpu_start(run, device, "naive_compare", blocks_for(count), 1, parameters));
  MOK_CU_TRY(cuda, cuStreamSynchronize(stream));
  MOK_CU_TRY(cuda, cuMemcpyDtoH(&differences, counter, sizeof differences));
  *out += (int64_t)differences;
  return MOK_OK;
}

mok_status mok_gpu_run_differences(mok_gpu_run *run, int64_t *out) {
  *out = 0;
  for (int64_t r = 0; r < run->model->gpus; ++r) {
    MOK_TRY(mok_kernel_enter(run->ranks[r].kernel));
    mok_status status = compare_rank(run, run->devices == 1 ? 0 : (int)r, r, out);
    mok_kernel_leave(run->ranks[r].kernel);
    MOK_TRY(status);
  }
  return MOK_OK;
}
