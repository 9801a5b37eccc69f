/* Memory of the ranks of this process. One heap per rank with one layout; every device of the group has every heap mapped at the
 * same address. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

static size_t rounded(int64_t bytes, size_t unit) {
  const size_t size = bytes > 0 ? (size_t)bytes : 1;
  return (size + unit - 1) / unit * unit;
}
enum { LOCAL_UNIT = 512 };

static mok_cu_allocation allocation_on(const mok_kernel *kernel) {
  return (mok_cu_allocation){.type = MOK_CU_ALLOCATION_PINNED, .location = {MOK_CU_LOCATION_DEVICE, kernel->device}};
}

static mok_status heap_size(const mok_kernel *kernel, size_t *out) {
  const mok_cu_allocation what = allocation_on(kernel);
  size_t granularity = 0;
  MOK_CU_TRY(&kernel->cuda, cuMemGetAllocationGranularity(&granularity, &what, MOK_CU_GRANULARITY_MINIMUM));
  if (!granularity) /* a driver that stands in for one may */
    return MOK_ERROR(MOK_ERR_GPU, "cuMemGetAllocationGranularity says 0 bytes for device %d", kernel->ordinal);
  *out = rounded(kernel->info.symmetric_bytes, granularity);
  return MOK_OK;
}

/* Adds to a refused allocation what there would have been: the driver tells it of the current context's device. */
static mok_status with_free_bytes(const mok_kernel *kernel, mok_status status) {
  if (!status) return status;
  mok_status entered = mok_kernel_enter(kernel);
  if (entered) {
    mok_status_free(entered);
    return status;
  }
  size_t free_bytes = 0, total = 0;
  const bool known = kernel->cuda.cuMemGetInfo(&free_bytes, &total) == MOK_CU_SUCCESS;
  mok_kernel_leave(kernel);
  if (!known) return status;
  return mok_status_context(status, "device %d had %zu of %zu bytes free", kernel->ordinal, free_bytes, total);
}

mok_status mok_workspace_size(const mok_kernel *kernel, int64_t *symmetric_bytes, int64_t *local_bytes) {
  if (!kernel || !symmetric_bytes || !local_bytes) return MOK_ERROR(MOK_ERR_USAGE, "mok_workspace_size: an argument is NULL");
  size_t heap = 0;
  MOK_TRY(heap_size(kernel, &heap));
  *symmetric_bytes = (int64_t)heap;
  *local_bytes = (int64_t)rounded(kernel->info.local_bytes, LOCAL_UNIT);
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ heaps */

static mok_status heap_create(const mok_kernel *owner, const mok_group *group, mok_heap *heap) {
  const mok_cuda *cuda = &owner->cuda;
  const mok_cu_allocation what = allocation_on(owner);
  size_t size = 0;
  MOK_TRY(heap_size(owner, &size));
  MOK_CU_TRY(cuda, cuMemAddressReserve(&heap->pointer, size, 0, 0, 0));
  heap->size = size;
  MOK_TRY(with_free_bytes(owner, mok_cuda_status(cuda, cuda->cuMemCreate(&heap->handle, size, &what, 0), "cuMemCreate")));
  heap->created = true;
  MOK_CU_TRY(cuda, cuMemMap(heap->pointer, size, 0, heap->handle, 0));
  heap->mapped = true;
  mok_cu_access access[MOK_MAX_RANKS];
  for (int i = 0; i < group->kernel_count; i++)
    access[i] = (mok_cu_access){{MOK_CU_LOCATION_DEVICE, group->kernels[i]->device}, MOK_CU_ACCESS_READ_WRITE};
  MOK_CU_TRY(cuda, cuMemSetAccess(heap->pointer, size, access, (size_t)group->kernel_count));
  return MOK_OK;
}

static void heap_destroy(const mok_cuda *cuda, mok_heap *heap) {
  if (heap->mapped) cuda->cuMemUnmap(heap->pointer, heap->size);
  if (heap->created) cuda->cuMemRelease(heap->handle);
  if (heap->size) cuda->cuMemAddressFree(heap->pointer, heap->size);
  memset(heap, 0, sizeof *heap);
}

/* ------------------------------------------------------------------------------------------------ group */

static mok_status check_peers(const mok_group *group) {
  for (int i = 0; i < group->kernel_count; i++) {
    for (int j = 0; j < group->kernel_count; j++) {
      const mok_kernel *a = group->kernels[i], *b = group->kernels[j];
      if (i == j) continue;
      if (memcmp(&a->uuid, &b->uuid, sizeof a->uuid) == 0)
        return MOK_ERROR(MOK_ERR_USAGE,
                         "mok_group: kernels %d and %d are on the same device %d; give one kernel to run all ranks on "
                         "one device",
                         i, j, a->ordinal);
      int possible = 0;
      MOK_CU_TRY(&a->cuda, cuDeviceCanAccessPeer(&possible, a->device, b->device));
      if (!possible)
        return MOK_ERROR(MOK_ERR_GPU, "device %d cannot reach the memory of device %d: all ranks must be in one NVLink domain",
                         a->ordinal, b->ordinal);
    }
  }
  return MOK_OK;
}

static mok_status check_group(const mok_group *group) {
  if (!group->kernels || group->kernel_count < 1)
    return MOK_ERROR(MOK_ERR_USAGE, "mok_group: kernels is NULL or kernel_count is %d", group->kernel_count);
  for (int i = 0; i < group->kernel_count; i++)
    if (!group->kernels[i]) return MOK_ERROR(MOK_ERR_USAGE, "mok_group: kernels[%d] is NULL", i);
  const mok_kernel *first = group->kernels[0];
  if (group->kernel_count != 1 && group->kernel_count != first->info.ranks)
    return MOK_ERROR(MOK_ERR_USAGE, "mok_group: %d kernels for the %d ranks of %s; give one for each, or a single one",
                     group->kernel_count, first->info.ranks, first->name);
  for (int i = 1; i < group->kernel_count; i++)
    if (strcmp(group->kernels[i]->digest, first->digest) != 0)
      return MOK_ERROR(MOK_ERR_USAGE, "mok_group: kernels 0 (%s) and %d (%s) are of different packages", first->name, i,
                       group->kernels[i]->name);
  return check_peers(group);
}

static mok_status team_create(const mok_group *group, mok_team **out) {
  const mok_kernel *first = group->kernels[0];
  mok_team *team = calloc(1, sizeof *team);
  if (!team) return MOK_ERROR(MOK_ERR_IO, "out of memory");
  *out = team;
  MOK_TRY(mok_cuda_open(&team->cuda));
  team->ranks = first->info.ranks;
  for (int r = 0; r < team->ranks; r++)
    MOK_TRY_CTX(heap_create(group->kernels[group->kernel_count == 1 ? 0 : r], group, &team->heaps[r]),
                "making the symmetric heap of rank %d, %" PRId64 " bytes", r, first->info.symmetric_bytes);
  return MOK_OK;
}

static void team_release(mok_team *team) {
  if (!team || --team->users > 0) return;
  for (int r = 0; r < team->ranks; r++) heap_destroy(&team->cuda, &team->heaps[r]);
  mok_cuda_close(&team->cuda);
  free(team);
}

/* ------------------------------------------------------------------------------------------------ workspace */

static mok_status allocate(mok_workspace *ws) {
  const mok_kernel *kernel = ws->kernel;
  const mok_cuda *cuda = &kernel->cuda;
  const size_t bytes = ws->local_size * (size_t)ws->ranks;
  MOK_TRY_CTX(with_free_bytes(kernel, mok_cuda_status(cuda, cuda->cuMemAlloc(&ws->local, bytes), "cuMemAlloc")),
              "making the local workspaces of %d ranks, %zu bytes", ws->ranks, bytes);
  MOK_CU_TRY(cuda, cuMemAlloc(&ws->rank_args, sizeof(mok_rank_args) * (size_t)ws->ranks));
  MOK_CU_TRY(cuda, cuMemsetD8Async(ws->local, 0, bytes, kernel->stream));
  for (int r = ws->first_rank; r < ws->first_rank + ws->ranks; r++)
    MOK_CU_TRY(cuda, cuMemsetD8Async(ws->team->heaps[r].pointer, 0, ws->team->heaps[r].size, kernel->stream));
  MOK_CU_TRY(cuda, cuStreamSynchronize(kernel->stream));
  return MOK_OK;
}

static mok_status create_one(mok_kernel *kernel, mok_team *team, int first_rank, int ranks, mok_workspace **out) {
  mok_workspace *ws = calloc(1, sizeof *ws);
  if (!ws) return MOK_ERROR(MOK_ERR_IO, "out of memory");
  *out = ws;
  ws->kernel = kernel;
  ws->team = team;
  ws->first_rank = first_rank;
  ws->ranks = ranks;
  ws->local_size = rounded(kernel->info.local_bytes, LOCAL_UNIT);
  team->users++;
  kernel->workspaces++;
  MOK_TRY(mok_kernel_enter(kernel));
  mok_status status = allocate(ws);
  mok_kernel_leave(kernel);
  return status;
}

static mok_status create_all(const mok_group *group, mok_workspace **out) {
  mok_team *team = NULL;
  mok_status status = team_create(group, &team);
  if (team) team->users++; /* until the workspaces have it */
  const int ranks = group->kernels[0]->info.ranks;
  const int here = group->kernel_count == 1 ? ranks : 1;
  for (int i = 0; i < group->kernel_count && !status; i++) status = create_one(group->kernels[i], team, i * here, here, &out[i]);
  team_release(team);
  return status;
}

mok_status mok_workspace_create(const mok_group *caller_group, mok_workspace **out) {
  mok_group group;
  if (!out) return MOK_ERROR(MOK_ERR_USAGE, "mok_workspace_create: out is NULL");
  MOK_TRY(mok_take_args(&group, sizeof group, sizeof group, caller_group, "mok_group"));
  MOK_TRY(check_group(&group));
  for (int i = 0; i < group.kernel_count; i++) out[i] = NULL;
  mok_status status = create_all(&group, out);
  for (int i = 0; i < group.kernel_count && status; i++) {
    mok_workspace_destroy(out[i]);
    out[i] = NULL;
  }
  return status;
}

void mok_workspace_destroy(mok_workspace *ws) {
  if (!ws) return;
  const mok_cuda *cuda = &ws->kernel->cuda;
  mok_status status = mok_kernel_enter(ws->kernel);
  if (!status) {
    cuda->cuCtxSynchronize(); /* a fault that comes out here was mok_check's to tell */
    if (ws->rank_args) cuda->cuMemFree(ws->rank_args);
    if (ws->local) cuda->cuMemFree(ws->local);
    mok_kernel_leave(ws->kernel);
  }
  mok_status_free(status);
  for (mok_captured *c = ws->captured; c;) {
    mok_captured *next = c->next;
    free(c);
    c = next;
  }
  ws->kernel->workspaces--;
  team_release(ws->team);
  free(ws);
}
