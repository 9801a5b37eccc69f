#include "package.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "../../runtime/base/sha256.h"
#include "../../templates/mok_args.h"
#include "manifest.h"

/* ------------------------------------------------------------------------------------------------ write */

static void put_count(mok_buf *out, const char *key, int64_t value) { mok_buf_printf(out, "%s %lld\n", key, (long long)value); }

static void put_plan(mok_buf *out, const mok_plan *plan) {
  const mok_model *m = plan->model;
  put_count(out, "ranks", m->gpus);
  put_count(out, "tokens_per_gpu", m->tokens_per_gpu);
  put_count(out, "hidden", m->hidden);
  put_count(out, "intermediate", m->intermediate);
  put_count(out, "experts", m->experts);
  put_count(out, "top_k", m->top_k);
  put_count(out, "shared_intermediate", m->shared_intermediate);
  put_count(out, "gated", mok_is_gated(m));
  put_count(out, "grid", plan->grid);
  put_count(out, "threads", plan->threads);
  put_count(out, "cluster", plan->cluster);
  put_count(out, "sms_comm", plan->sms_comm);
  put_count(out, "sms_compute", plan->sms_compute);
  put_count(out, "symmetric_bytes", plan->symmetric_bytes);
  put_count(out, "local_bytes", plan->local_bytes);
  put_count(out, "saved_bytes", plan->saved_bytes);
  put_count(out, "shared_bytes_per_cta", plan->shared_bytes_per_cta);
  for (size_t i = 0; i < plan->layout.count; i++) {
    const mok_region *r = &plan->layout.regions[i];
    if (r->space == MOK_SPACE_SHARED) continue;
    mok_buf_printf(out, "region %s %s %lld %lld\n", mok_space_name(r->space), r->name, (long long)r->offset, (long long)r->bytes);
  }
}

static mok_blob make_manifest(mok_arena *arena, const mok_plan *plan, const mok_target *target, const mok_image *image,
                              const char *plan_sha256, const mok_blob *files, size_t count) {
  mok_buf out = mok_buf_make(arena);
  mok_buf_printf(&out, "mok-package %d\nmokgen %s\n", MOK_PACKAGE_FORMAT, MOKGEN_VERSION);
  mok_buf_printf(&out, "name %s\ngpu %s\n", plan->model->name, plan->gpu.name);
  put_count(&out, "gpu_sms", plan->gpu.sms);
  mok_buf_printf(&out, "target %s\ncompiler %s\n", target->name, image->compiler);
  put_count(&out, "args_abi", MOK_ARGS_ABI);
  mok_buf_printf(&out, "plan_sha256 %s\n", plan_sha256);
  put_plan(&out, plan);
  for (size_t i = 0; i < count; i++) {
    char hex[65];
    mok_sha256_of(files[i].data, files[i].size, hex);
    mok_buf_printf(&out, "file %s %zu %s\n", files[i].name, files[i].size, hex);
  }
  mok_buf_printf(&out, "kernel forward registers %lld spill_bytes %lld stack_bytes %lld shared_bytes %lld\n",
                 (long long)image->registers, (long long)image->spill_bytes, (long long)image->stack_bytes,
                 (long long)image->shared_bytes);
  char hex[65];
  mok_sha256_of(out.data, out.size, hex);
  mok_buf_printf(&out, "end %s\n", hex);
  return (mok_blob){.name = MOK_MANIFEST_NAME, .data = out.data, .size = out.size};
}

mok_status mok_package_write(mok_arena *arena, const char *folder, const mok_plan *plan, const mok_target *target,
                             const mok_sources *sources, const mok_image *image) {
  mok_buf json = mok_buf_make(arena), page = mok_buf_make(arena);
  mok_plan_json(plan, &json);
  mok_plan_explain(plan, &page);
  char plan_sha256[65];
  mok_sha256_of(json.data, json.size, plan_sha256);
  mok_blob files[] = {
      {0}, /* the manifest, once the others are known */
      image->code,
      {.name = "plan.json", .data = json.data, .size = json.size},
      {.name = "plan.txt", .data = page.data, .size = page.size},
      sources->kernel,
      sources->plan_h,
      sources->layout_h,
  };
  enum { NUM_FILES = sizeof files / sizeof files[0] };
  files[0] = make_manifest(arena, plan, target, image, plan_sha256, files + 1, NUM_FILES - 1);
  /* What is written can be read: a name with a blank, say, would be a package that nobody can load. */
  mok_manifest check;
  mok_status status = mok_manifest_parse(arena, MOK_MANIFEST_NAME, files[0].data, files[0].size, &check);
  if (status) {
    mok_status wrong = MOK_ERROR(MOK_ERR_CODEGEN, "the manifest is wrong: %s", mok_status_text(status));
    mok_status_free(status);
    return wrong;
  }
  return mok_folder_write(folder, files, NUM_FILES, MOK_MANIFEST_NAME);
}

/* ------------------------------------------------------------------------------------------------ read */

/* Reads a regular file of the open folder; never through a link. limit: most bytes it may have. */
static mok_status read_member(mok_arena *arena, int folder, const char *place, const char *name, int64_t limit, mok_blob *out) {
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return errno == ELOOP ? MOK_ERROR(MOK_ERR_IO, "%s/%s is a link: a package holds its files itself", place, name)
                          : MOK_ERROR(MOK_ERR_IO, "cannot read %s/%s: %s", place, name, strerror(errno));
  struct stat info;
  mok_status status = MOK_OK;
  if (fstat(fd, &info) != 0)
    status = MOK_ERROR(MOK_ERR_IO, "cannot read %s/%s: %s", place, name, strerror(errno));
  else if (!S_ISREG(info.st_mode))
    status = MOK_ERROR(MOK_ERR_IO, "%s/%s is no regular file", place, name);
  else if (info.st_size > limit)
    status = MOK_ERROR(MOK_ERR_IO, "%s/%s has %lld bytes, but may have at most %lld: changed, or no package of ours", place, name,
                       (long long)info.st_size, (long long)limit);
  if (status) {
    close(fd);
    return status;
  }
  char *data = mok_arena_alloc(arena, (size_t)info.st_size + 1);
  size_t size = 0;
  while (size < (size_t)info.st_size) {
    const ssize_t got = read(fd, data + size, (size_t)info.st_size - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = MOK_ERROR(MOK_ERR_IO, "cannot read %s/%s: %s", place, name, strerror(errno));
    if (got <= 0) break;
    size += (size_t)got;
  }
  close(fd);
  *out = (mok_blob){.name = mok_arena_strdup(arena, name), .data = data, .size = size};
  return status;
}

static mok_status check_file(const char *place, const mok_manifest_file *file, const mok_blob *blob) {
  if ((int64_t)blob->size != file->bytes)
    return MOK_ERROR(MOK_ERR_IO, "%s/%s has %zu bytes, but the manifest says %lld: truncated or changed; rebuild the package",
                     place, file->name, blob->size, (long long)file->bytes);
  char hex[65];
  mok_sha256_of(blob->data, blob->size, hex);
  if (strcmp(hex, file->sha256) == 0) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO, "%s/%s does not match its checksum in the manifest: damaged or changed; rebuild the package",
                   place, file->name);
}

static const char *lookup(const mok_package *package, const char *key) { return mok_manifest_value(package->lines, key); }

static mok_status read_files(mok_arena *arena, int folder, const char *place, mok_package *out) {
  mok_blob *files = MOK_NEW_ARRAY(arena, MOK_MAX_PACKAGE_FILES + 1, mok_blob);
  mok_manifest *manifest = MOK_NEW(arena, mok_manifest);
  MOK_TRY(read_member(arena, folder, place, MOK_MANIFEST_NAME, MOK_MANIFEST_LIMIT, &files[0]));
  MOK_TRY(mok_manifest_parse(arena, mok_path_join(arena, place, MOK_MANIFEST_NAME), files[0].data, files[0].size, manifest));
  int64_t left = MOK_PACKAGE_BYTES_LIMIT;
  for (size_t i = 0; i < manifest->file_count; i++) {
    const mok_manifest_file *file = &manifest->files[i];
    if (file->bytes > left)
      return MOK_ERROR(MOK_ERR_IO, "%s: its files have more than %lld bytes together", place, (long long)MOK_PACKAGE_BYTES_LIMIT);
    left -= file->bytes;
    MOK_TRY(read_member(arena, folder, place, file->name, file->bytes, &files[i + 1]));
    MOK_TRY(check_file(place, file, &files[i + 1]));
  }
  *out = (mok_package){.files = files, .file_count = manifest->file_count + 1, .target = mok_manifest_value(manifest, "target"),
                       .lookup = lookup, .lines = manifest};
  const char *code = strcmp(out->target, "host") == 0 ? "kernel.host.so" : "forward.cubin";
  if (!mok_package_file(out, code))
    return MOK_ERROR(MOK_ERR_IO, "%s: a package for target %s has no %s", place, out->target, code);
  return MOK_OK;
}

mok_status mok_package_read(mok_arena *arena, const char *folder, mok_package *out) {
  memset(out, 0, sizeof *out);
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return MOK_ERROR(MOK_ERR_IO, "cannot open package %s: %s", folder, strerror(errno));
  mok_status status = read_files(arena, fd, folder, out);
  close(fd);
  if (status) memset(out, 0, sizeof *out);
  return status;
}

const mok_blob *mok_package_file(const mok_package *package, const char *name) {
  for (size_t i = 0; i < package->file_count; i++)
    if (strcmp(package->files[i].name, name) == 0) return &package->files[i];
  return NULL;
}
