/* One launch. The kernel reads its ranks' arguments from device memory; they are copied there in stream order before it. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* CTAs of one rank's role: asked for, or the planned ones shared out over the ranks of the launch. */
static mok_status count_ctas(const mok_workspace *ws, const char *role, int asked, int planned, int *out) {
  const int cluster = ws->kernel->cluster, part = planned / ws->ranks / cluster * cluster, least = planned > 0 ? cluster : 0;
  *out = asked ? asked : part > least ? part : least;
  if (*out < least || *out > planned)
    return MOK_ERROR(MOK_ERR_USAGE, "mok_launch_options: %d %s CTAs; the plan allows %d to %d", asked, role, least, planned);
  if (*out % cluster != 0)
    return MOK_ERROR(MOK_ERR_USAGE, "mok_launch_options: %d %s CTAs; they start in clusters of %d", asked, role, cluster);
  return MOK_OK;
}

static mok_status check_rank(const mok_workspace *ws, int r, const mok_forward_args *args) {
  const mok_kernel_info *info = &ws->kernel->info;
  const int rank = ws->first_rank + r;
  if (args->tokens < 0 || args->tokens > info->tokens_per_rank)
    return MOK_ERROR(MOK_ERR_USAGE, "rank %d: %d tokens; %s was planned for 0 to %d", rank, args->tokens, ws->kernel->name,
                     info->tokens_per_rank);
  const bool local_experts = (int64_t)(rank + 1) * info->experts / info->ranks > (int64_t)rank * info->experts / info->ranks;
  const bool shared = info->shared_intermediate > 0;
  const struct {
    const char *name;
    const void *pointer;
    bool needed;
    uintptr_t alignment;
  } pointers[] = {
      {"x", args->x, args->tokens > 0, 16},
      {"topk_ids", args->topk_ids, args->tokens > 0, 4},
      {"topk_weights", args->topk_weights, args->tokens > 0, 4},
      {"out", args->out, args->tokens > 0, 16},
      {"tokens_dev", args->tokens_dev, false, 4},
      {"gate", args->gate.base, local_experts && info->gated, 16},
      {"up", args->up.base, local_experts, 16},
      {"down", args->down.base, local_experts, 16},
      {"shared_gate", args->shared_gate.base, shared && info->gated, 16},
      {"shared_up", args->shared_up.base, shared, 16},
      {"shared_down", args->shared_down.base, shared, 16},
  };
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
    if (pointers[i].needed && !pointers[i].pointer)
      return MOK_ERROR(MOK_ERR_USAGE, "rank %d: %s is NULL, but needed", rank, pointers[i].name);
    if ((uintptr_t)pointers[i].pointer % pointers[i].alignment != 0)
      return MOK_ERROR(MOK_ERR_USAGE, "rank %d: %s is not aligned to %d bytes", rank, pointers[i].name,
                       (int)pointers[i].alignment);
  }
  return MOK_OK;
}

/* Strides in elements; 0 becomes the stride without gaps. */
static mok_status take_weights(int rank, const char *name, const mok_weights *from, int64_t rows, int64_t columns,
                               mok_weight *to) {
  const int64_t row = from->row_stride ? from->row_stride : columns;
  const int64_t expert = from->expert_stride ? from->expert_stride : rows * row;
  if (row < columns || row % 8 != 0 || expert < 0 || expert % 8 != 0)
    return MOK_ERROR(MOK_ERR_USAGE,
                     "rank %d: %s has strides of %" PRId64 " and %" PRId64 " elements; rows have %" PRId64
                     ", and both must be multiples of 8",
                     rank, name, expert, row, columns);
  *to = (mok_weight){from->base, expert, row};
  return MOK_OK;
}

static mok_status fill_rank(const mok_workspace *ws, int r, const mok_forward_args *from, mok_rank_args *to) {
  const mok_kernel_info *info = &ws->kernel->info;
  const int rank = ws->first_rank + r;
  const int64_t H = info->hidden, I = info->intermediate, S = info->shared_intermediate;
  MOK_TRY(check_rank(ws, r, from));
  memset(to, 0, sizeof *to);
  to->x = from->x;
  to->topk_ids = from->topk_ids;
  to->topk_weights = from->topk_weights;
  to->out = from->out;
  MOK_TRY(take_weights(rank, "gate", &from->gate, I, H, &to->gate));
  MOK_TRY(take_weights(rank, "up", &from->up, I, H, &to->up));
  MOK_TRY(take_weights(rank, "down", &from->down, H, I, &to->down));
  if (S > 0) {
    MOK_TRY(take_weights(rank, "shared_gate", &from->shared_gate, S, H, &to->shared_gate));
    MOK_TRY(take_weights(rank, "shared_up", &from->shared_up, S, H, &to->shared_up));
    MOK_TRY(take_weights(rank, "shared_down", &from->shared_down, H, S, &to->shared_down));
  }
  to->local = (void *)(uintptr_t)(ws->local + (mok_cu_pointer)r * ws->local_size);
  for (int peer = 0; peer < ws->team->ranks; peer++) to->heap[peer] = (void *)(uintptr_t)ws->team->heaps[peer].pointer;
  to->tokens_dev = from->tokens_dev;
  to->tokens = from->tokens;
  to->rank = rank;
  return mok_map_recipes_encode(&ws->kernel->cuda, &ws->kernel->maps, to);
}

static mok_status launch(mok_workspace *ws, const mok_captured *ranks, const mok_launch_options *options, int comm, int compute,
                         mok_cu_stream stream) {
  const mok_kernel *kernel = ws->kernel;
  const mok_cuda *cuda = &kernel->cuda;
  mok_args args = {
      .ranks = (const mok_rank_args *)(uintptr_t)ws->rank_args,
      .num_ranks_here = ws->ranks,
      .phases = MOK_PHASE_ALL,
      .comm_ctas = comm,
      .compute_ctas = compute,
      .local_limit_ms = options->local_timeout_ms,
      .peer_limit_ms = options->peer_timeout_ms,
  };
  mok_cu_launch_attribute attributes[] = {{.id = MOK_CU_LAUNCH_COOPERATIVE, .value = {.cooperative = 1}},
                                          {.id = MOK_CU_LAUNCH_CLUSTER, .value = {.cluster = {(unsigned)kernel->cluster, 1, 1}}}};
  const mok_cu_launch_config config = {
      .grid = {(unsigned)((comm + compute) * ws->ranks), 1, 1},
      .block = {(unsigned)kernel->threads, 1, 1},
      .shared_bytes = (unsigned)kernel->shared_bytes,
      .stream = stream,
      .attributes = attributes,
      .attribute_count = kernel->cluster > 1 ? 2 : 1,
  };
  void *parameters[] = {&args};
  /* From pageable memory the driver takes its own copy before it returns, unless the copy becomes part of a graph. */
  MOK_CU_TRY(cuda, cuMemcpyHtoDAsync(ws->rank_args, ranks->ranks, sizeof(mok_rank_args) * (size_t)ws->ranks, stream));
  MOK_CU_TRY(cuda, cuLaunchKernelEx(&config, kernel->function, parameters, NULL));
  return MOK_OK;
}

/* With the device's context current, which encoding a tensor map needs as well. */
static mok_status enqueue(mok_workspace *ws, const mok_forward_args *args, const mok_launch_options *options, int comm,
                          int compute, mok_cu_stream stream, mok_captured *ranks, int *capturing) {
  const mok_cuda *cuda = &ws->kernel->cuda;
  const char *at = (const char *)args;
  for (int r = 0; r < ws->ranks; r++, at += args->struct_size) {
    mok_forward_args one;
    MOK_TRY(mok_take_args(&one, sizeof one, sizeof one, at, "mok_forward_args"));
    MOK_TRY(fill_rank(ws, r, &one, &ranks->ranks[r]));
  }
  MOK_CU_TRY(cuda, cuStreamIsCapturing(stream, capturing));
  return launch(ws, ranks, options, comm, compute, stream);
}

static mok_status forward(mok_workspace *ws, const mok_forward_args *args, const mok_launch_options *options,
                          mok_cu_stream stream, mok_captured *ranks, int *capturing) {
  int comm = 0, compute = 0;
  MOK_TRY(count_ctas(ws, "communication", options->comm_ctas, ws->kernel->info.comm_ctas, &comm));
  MOK_TRY(count_ctas(ws, "compute", options->compute_ctas, ws->kernel->info.compute_ctas, &compute));
  /* Where ranks share a device, a share of communication CTAs may have been rounded up to a cluster. */
  const int room = ws->kernel->resident_ctas / ws->ranks - comm, cluster = ws->kernel->cluster;
  if (!options->compute_ctas && compute > room && room >= cluster) compute = room / cluster * cluster;
  if ((comm + compute) * ws->ranks > ws->kernel->resident_ctas)
    return MOK_ERROR(MOK_ERR_GPU, "%d ranks with %d CTAs each are more than the %d that device %d runs at once", ws->ranks,
                     comm + compute, ws->kernel->resident_ctas, ws->kernel->ordinal);
  MOK_TRY(mok_kernel_enter(ws->kernel));
  mok_status status = enqueue(ws, args, options, comm, compute, stream, ranks, capturing);
  mok_kernel_leave(ws->kernel);
  return status;
}

mok_status mok_forward(mok_workspace *ws, const mok_forward_args *args, const mok_launch_options *caller_options, void *stream) {
  mok_launch_options options = {0};
  if (!ws || !args) return MOK_ERROR(MOK_ERR_USAGE, "mok_forward: %s is NULL", ws ? "args" : "workspace");
  if (ws->aborted)
    return MOK_ERROR(MOK_ERR_PROTOCOL,
                     "an earlier launch of this workspace gave up waiting (mok_check says why): create a new one, on "
                     "all ranks");
  if (caller_options)
    MOK_TRY(mok_take_args(&options, sizeof options, offsetof(mok_launch_options, local_timeout_ms), caller_options,
                          "mok_launch_options"));
  mok_captured *ranks = malloc(sizeof *ranks + sizeof(mok_rank_args) * (size_t)ws->ranks);
  if (!ranks) return MOK_ERROR(MOK_ERR_IO, "out of memory");
  int capturing = 0;
  mok_status status = forward(ws, args, &options, stream, ranks, &capturing);
  if (!status) {
    ws->local_limit_ms = options.local_timeout_ms;
    ws->peer_limit_ms = options.peer_timeout_ms;
  }
  if (status || !capturing) {
    free(ranks);
  } else {
    ranks->next = ws->captured;
    ws->captured = ranks;
  }
  return status;
}
