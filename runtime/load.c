/* Package -> device. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "names.h"
#include "package/reader.h"
#include "runtime.h"

enum { WARP = 32, MAX_GRID = 1 << 16 };

/* ------------------------------------------------------------------------------------------------ manifest */

static mok_status read_number(const mok_package *package, const char *key, int64_t min, int64_t max, int64_t *out) {
  const char *text = package->lookup(package, key);
  if (!text) return MOK_ERROR(MOK_ERR_IO, "the package's manifest has no line '%s'", key);
  char *end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (text[strspn(text, "0123456789")] != '\0' || *end != '\0' || errno || value < min || value > max)
    return MOK_ERROR(MOK_ERR_IO, "the package's manifest says '%s %s', which is no number from %" PRId64 " to %" PRId64, key,
                     text, min, max);
  *out = value;
  return MOK_OK;
}

static mok_status read_int(const mok_package *package, const char *key, int min, int max, int *out) {
  int64_t value = 0;
  MOK_TRY(read_number(package, key, min, max, &value));
  *out = (int)value;
  return MOK_OK;
}

/* "region local control OFFSET BYTES" */
static mok_status read_control(const mok_package *package, int64_t local_bytes, int64_t *offset) {
  static const char start[] = "local control ";
  for (size_t i = 0; i < package->manifest->line_count; i++) {
    const mok_manifest_line *line = &package->manifest->lines[i];
    if (strcmp(line->key, "region") != 0 || strncmp(line->value, start, sizeof start - 1) != 0) continue;
    char *end = NULL;
    const long long at = strtoll(line->value + sizeof start - 1, &end, 10);
    const long long bytes = strtoll(end, NULL, 10);
    const long long need = (long long)MOK_CONTROL_LINES * MOK_LINE_WORDS * 4;
    if (at < 0 || bytes < need || at > local_bytes - need || at % 128 != 0)
      return MOK_ERROR(MOK_ERR_IO, "the package's manifest says 'region %s', which is no place for %lld bytes", line->value,
                       need);
    *offset = at;
    return MOK_OK;
  }
  return MOK_ERROR(MOK_ERR_IO, "the package's manifest has no line 'region local control'");
}

static mok_status read_manifest(const mok_package *package, mok_kernel *kernel) {
  const int64_t most = INT64_C(1) << 46;
  mok_kernel_info *info = &kernel->info;
  int abi = 0;
  if (strncmp(package->target, "sm_", 3) != 0)
    return MOK_ERROR(MOK_ERR_USAGE, "the package was built for target %s; libmok runs packages for GPUs", package->target);
  MOK_TRY(read_int(package, "args_abi", 0, 1 << 30, &abi));
  if (abi != MOK_ARGS_ABI)
    return MOK_ERROR(MOK_ERR_IO, "the package has launch arguments of form %d, libmok %s of form %d: rebuild with mokgen %s", abi,
                     MOKGEN_VERSION, MOK_ARGS_ABI, MOKGEN_VERSION);
  MOK_TRY(read_int(package, "ranks", 1, MOK_MAX_RANKS, &info->ranks));
  MOK_TRY(read_int(package, "tokens_per_gpu", 0, 1 << 30, &info->tokens_per_rank));
  MOK_TRY(read_int(package, "hidden", 1, 1 << 30, &info->hidden));
  MOK_TRY(read_int(package, "intermediate", 1, 1 << 30, &info->intermediate));
  MOK_TRY(read_int(package, "shared_intermediate", 0, 1 << 30, &info->shared_intermediate));
  MOK_TRY(read_int(package, "experts", 1, 1 << 30, &info->experts));
  MOK_TRY(read_int(package, "top_k", 1, 64, &info->top_k));
  MOK_TRY(read_int(package, "gated", 0, 1, &info->gated));
  MOK_TRY(read_int(package, "sms_comm", 0, MAX_GRID, &info->comm_ctas));
  MOK_TRY(read_int(package, "sms_compute", 1, MAX_GRID, &info->compute_ctas));
  MOK_TRY(read_number(package, "symmetric_bytes", 0, most, &info->symmetric_bytes));
  MOK_TRY(read_number(package, "local_bytes", 0, most, &info->local_bytes));
  MOK_TRY(read_int(package, "grid", 1, MAX_GRID, &kernel->grid));
  MOK_TRY(read_int(package, "threads", WARP, 1024, &kernel->threads));
  MOK_TRY(read_int(package, "cluster", 1, 8, &kernel->cluster));
  info->cluster = kernel->cluster;
  MOK_TRY(read_number(package, "shared_bytes_per_cta", 0, 1 << 20, &kernel->shared_bytes));
  if (info->comm_ctas + info->compute_ctas != kernel->grid)
    return MOK_ERROR(MOK_ERR_IO, "the package's manifest has a grid of %d CTAs, but %d + %d of the roles", kernel->grid,
                     info->comm_ctas, info->compute_ctas);
  const char *name = package->lookup(package, "name");
  if (!name || strlen(name) >= sizeof kernel->name) return MOK_ERROR(MOK_ERR_IO, "the package's manifest has no valid name");
  strcpy(kernel->name, name);
  mok_sha256_of(package->files[0].data, package->files[0].size, kernel->digest);
  MOK_TRY(mok_map_recipes_read(package->manifest, info->ranks, info->experts, &kernel->maps));
  MOK_TRY(mok_names_read(package->manifest, &kernel->names));
  return read_control(package, info->local_bytes, &kernel->control_offset);
}

/* ------------------------------------------------------------------------------------------------ device */

static mok_status attribute(const mok_kernel *kernel, int which, int *out) {
  MOK_CU_TRY(&kernel->cuda, cuDeviceGetAttribute(out, which, kernel->device));
  return MOK_OK;
}

/* "sm_90a" runs on compute capability 9.0 and nothing else. */
static mok_status check_arch(const mok_kernel *kernel, const char *device_name, const char *target) {
  int major = 0, minor = 0;
  MOK_TRY(attribute(kernel, MOK_CU_DEVICE_MAJOR, &major));
  MOK_TRY(attribute(kernel, MOK_CU_DEVICE_MINOR, &minor));
  const int number = atoi(target + 3);
  if (number == major * 10 + minor) return MOK_OK;
  return MOK_ERROR(MOK_ERR_GPU, "the package was built for %s (compute capability %d.%d), device %d is %s with %d.%d", target,
                   number / 10, number % 10, kernel->ordinal, device_name, major, minor);
}

static mok_status check_limits(mok_kernel *kernel, const char *device_name) {
  int shared = 0, cooperative = 0, virtual_memory = 0;
  MOK_TRY(attribute(kernel, MOK_CU_DEVICE_SMS, &kernel->sms));
  MOK_TRY(attribute(kernel, MOK_CU_DEVICE_SHARED_OPTIN, &shared));
  MOK_TRY(attribute(kernel, MOK_CU_DEVICE_COOPERATIVE, &cooperative));
  MOK_TRY(attribute(kernel, MOK_CU_DEVICE_VIRTUAL_MEMORY, &virtual_memory));
  if (kernel->grid > kernel->sms)
    return MOK_ERROR(MOK_ERR_GPU,
                     "the plan has %d CTAs, one for each SM, but device %d (%s) has %d SMs; plan for it with "
                     "topology.gpu = { base = ..., sms = %d }",
                     kernel->grid, kernel->ordinal, device_name, kernel->sms, kernel->sms);
  if (kernel->shared_bytes > shared)
    return MOK_ERROR(MOK_ERR_GPU, "the plan has %" PRId64 " bytes of shared memory in a CTA, device %d (%s) has %d",
                     kernel->shared_bytes, kernel->ordinal, device_name, shared);
  if (!cooperative)
    return MOK_ERROR(MOK_ERR_GPU, "device %d (%s) has no cooperative launches, which keep all CTAs running at once",
                     kernel->ordinal, device_name);
  if (!virtual_memory)
    return MOK_ERROR(MOK_ERR_GPU, "device %d (%s) has no virtual memory management, which the symmetric heap needs",
                     kernel->ordinal, device_name);
  return MOK_OK;
}

static mok_status load_code(mok_kernel *kernel, const mok_package *package, const char *device_name) {
  const mok_cuda *cuda = &kernel->cuda;
  const mok_blob *code = mok_package_file(package, "forward.cubin");
  const char *compiler = mok_manifest_value(package->manifest, "compiler");
  MOK_TRY_CTX(mok_cuda_load_module(cuda, code->data, code->size, &kernel->module), "loading forward.cubin, made by %s for %s",
              compiler ? compiler : "a compiler not named", package->target);
  MOK_CU_TRY(cuda, cuModuleGetFunction(&kernel->function, kernel->module, "mok_forward"));
  MOK_CU_TRY(cuda, cuFuncSetAttribute(kernel->function, MOK_CU_FUNCTION_DYNAMIC_SHARED_LIMIT, (int)kernel->shared_bytes));
  int per_sm = 0;
  MOK_CU_TRY(cuda, cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel->function, kernel->threads,
                                                               (size_t)kernel->shared_bytes));
  if (per_sm < 1)
    return MOK_ERROR(MOK_ERR_GPU,
                     "an SM of device %d (%s) does not hold a CTA of %d threads and %" PRId64 " bytes of shared memory",
                     kernel->ordinal, device_name, kernel->threads, kernel->shared_bytes);
  kernel->resident_ctas = per_sm * kernel->sms;
  if (kernel->cluster > 1) { /* some SMs may have no partner */
    mok_cu_launch_attribute attribute = {.id = MOK_CU_LAUNCH_CLUSTER, .value = {.cluster = {(unsigned)kernel->cluster, 1, 1}}};
    const mok_cu_launch_config config = {.grid = {(unsigned)kernel->cluster, 1, 1},
                                         .block = {(unsigned)kernel->threads, 1, 1},
                                         .shared_bytes = (unsigned)kernel->shared_bytes,
                                         .attributes = &attribute,
                                         .attribute_count = 1};
    int clusters = 0;
    MOK_CU_TRY(cuda, cuOccupancyMaxActiveClusters(&clusters, kernel->function, &config));
    kernel->resident_ctas = clusters * kernel->cluster;
  }
  MOK_CU_TRY(cuda, cuStreamCreate(&kernel->stream, MOK_CU_STREAM_NON_BLOCKING));
  return MOK_OK;
}

static mok_status open_device(mok_kernel *kernel, const mok_package *package) {
  MOK_TRY(mok_cuda_open(&kernel->cuda));
  const mok_cuda *cuda = &kernel->cuda;
  int count = 0;
  char name[256] = "";
  MOK_CU_TRY(cuda, cuDeviceGetCount(&count));
  if (kernel->ordinal < 0 || kernel->ordinal >= count)
    return MOK_ERROR(MOK_ERR_GPU, "there is no device %d: the driver sees %d, counted from 0", kernel->ordinal, count);
  MOK_CU_TRY(cuda, cuDeviceGet(&kernel->device, kernel->ordinal));
  MOK_CU_TRY(cuda, cuDeviceGetName(name, (int)sizeof name, kernel->device));
  MOK_CU_TRY(cuda, cuDeviceGetUuid(&kernel->uuid, kernel->device));
  MOK_TRY(check_arch(kernel, name, package->target));
  MOK_TRY(check_limits(kernel, name));
  MOK_CU_TRY(cuda, cuDevicePrimaryCtxRetain(&kernel->context, kernel->device));
  MOK_TRY(mok_kernel_enter(kernel));
  mok_status status = load_code(kernel, package, name);
  mok_kernel_leave(kernel);
  if (!status)
    mok_log(kernel, "%s: loaded on device %d (%s, %d SMs): %d CTAs of %d threads, %" PRId64 " bytes of shared memory",
            kernel->name, kernel->ordinal, name, kernel->sms, kernel->grid, kernel->threads, kernel->shared_bytes);
  return status;
}

/* ------------------------------------------------------------------------------------------------ interface */

static void out_of_memory(void *user, size_t bytes) {
  (void)bytes;
  longjmp(*(jmp_buf *)user, 1);
}

/* Everything that reads the package; its memory ends with this call. */
static mok_status load(const mok_load_args *args, mok_kernel *kernel) {
  jmp_buf no_memory;
  mok_arena *const arena = mok_arena_try_create(out_of_memory, &no_memory);
  if (!arena) return MOK_ERROR(MOK_ERR_IO, "out of memory while reading the package");
  if (setjmp(no_memory)) {
    mok_arena_destroy(arena);
    return MOK_ERROR(MOK_ERR_IO, "out of memory while reading the package");
  }
  mok_package package;
  mok_status status = args->path ? mok_package_read(arena, args->path, &package)
                                 : mok_package_read_memory(arena, args->memory, args->memory_size, &package);
  if (!status) status = read_manifest(&package, kernel);
  if (!status) status = open_device(kernel, &package);
  mok_arena_destroy(arena);
  return status;
}

mok_status mok_kernel_load(const mok_load_args *caller_args, mok_kernel **out) {
  mok_load_args args;
  if (!out) return MOK_ERROR(MOK_ERR_USAGE, "mok_kernel_load: out is NULL");
  *out = NULL;
  MOK_TRY(mok_take_args(&args, sizeof args, sizeof args, caller_args, "mok_load_args"));
  if (!args.path == !args.memory) return MOK_ERROR(MOK_ERR_USAGE, "mok_load_args: exactly one of path and memory is to be set");
  mok_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return MOK_ERROR(MOK_ERR_IO, "out of memory");
  kernel->ordinal = args.device;
  kernel->log = args.log;
  kernel->log_user = args.log_user;
  mok_status status = load(&args, kernel);
  if (status) {
    mok_kernel_unload(kernel);
    return mok_status_context(status, "loading %s", args.path ? args.path : "a package in memory");
  }
  *out = kernel;
  return MOK_OK;
}

void mok_kernel_unload(mok_kernel *kernel) {
  if (!kernel) return;
  if (kernel->context) {
    mok_status status = mok_kernel_enter(kernel);
    if (!status) {
      if (kernel->stream) kernel->cuda.cuStreamDestroy(kernel->stream);
      if (kernel->module) kernel->cuda.cuModuleUnload(kernel->module);
      mok_kernel_leave(kernel);
    }
    mok_status_free(status);
    kernel->cuda.cuDevicePrimaryCtxRelease(kernel->device);
  }
  mok_cuda_close(&kernel->cuda);
  free(kernel->names);
  free(kernel);
}

mok_status mok_kernel_query(const mok_kernel *kernel, mok_kernel_info *info) {
  if (!kernel || !info) return MOK_ERROR(MOK_ERR_USAGE, "mok_kernel_query: %s is NULL", kernel ? "info" : "kernel");
  const size_t size = info->struct_size;
  if (size < sizeof size || size > sizeof *info)
    return MOK_ERROR(MOK_ERR_USAGE, "mok_kernel_info: struct_size is %zu, this library knows up to %zu", size, sizeof *info);
  memcpy(info, &kernel->info, size);
  info->struct_size = size;
  return MOK_OK;
}
