#include "package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/base/file.h"
#include "../../runtime/base/sha256.h"
#include "../../templates/mok_args.h"

static const char format_word[] = "mok-package"; /* how a manifest begins */

static void put_count(mok_buf *out, const char *key, int64_t value) { mok_buf_printf(out, "%s %lld\n", key, (long long)value); }

/* As few digits as read back as the same number. The tool never calls setlocale. */
static void put_number(mok_buf *out, const char *key, double value) {
  char text[32];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  mok_buf_printf(out, "%s %s\n", key, text);
}

static void put_word(mok_buf *out, mok_field_id field, int64_t value) {
  mok_buf_printf(out, "%s %s\n", mok_fields[field].name, mok_field_word(out->arena, &mok_fields[field], value));
}

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
  put_word(out, MOK_FIELD_activation, m->activation);
  put_word(out, MOK_FIELD_dtype, m->dtype);
  if (m->clamp.present) put_number(out, "clamp", m->clamp.value);
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
                              const mok_sources *sources, const char *plan_sha256, const mok_blob *files, size_t count) {
  mok_buf out = mok_buf_make(arena);
  mok_buf_printf(&out, "%s %d\nmokgen %s\n", format_word, MOK_PACKAGE_FORMAT, MOKGEN_VERSION);
  mok_buf_printf(&out, "name %s\ngpu %s\n", plan->model->name, plan->gpu.name);
  put_count(&out, "gpu_sms", plan->gpu.sms);
  mok_buf_printf(&out, "target %s\ncompiler %s\n", target->name, image->compiler);
  put_count(&out, "args_abi", MOK_ARGS_ABI);
  mok_buf_printf(&out, "plan_sha256 %s\n", plan_sha256);
  put_plan(&out, plan);
  if (!target->native) {
    mok_buf_write(&out, sources->maps.data, sources->maps.size);
    mok_buf_write(&out, sources->names.data, sources->names.size);
  }
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

enum { MAX_FILES = 8 };

/* All files of the package, the manifest first. */
static mok_status make_files(mok_arena *arena, const mok_plan *plan, const mok_target *target, const mok_sources *sources,
                             const mok_image *image, mok_blob files[MAX_FILES], size_t *count) {
  mok_buf json = mok_buf_make(arena), page = mok_buf_make(arena);
  mok_plan_json(plan, &json);
  mok_plan_explain(plan, &page);
  char plan_sha256[65];
  mok_sha256_of(json.data, json.size, plan_sha256);
  const mok_blob others[] = {
      image->code,
      {.name = "plan.json", .data = json.data, .size = json.size},
      {.name = "plan.txt", .data = page.data, .size = page.size},
      sources->kernel,
      sources->plan_h,
      sources->layout_h,
  };
  enum { NUM_OTHERS = sizeof others / sizeof others[0] };
  files[0] = make_manifest(arena, plan, target, image, sources, plan_sha256, others, NUM_OTHERS);
  memcpy(files + 1, others, sizeof others);
  *count = NUM_OTHERS + 1;
  /* What is written can be read: a name with a blank, say, would be a package that nobody can load. */
  mok_manifest check;
  mok_status status = mok_manifest_parse(arena, MOK_MANIFEST_NAME, files[0].data, files[0].size, &check);
  if (!status) return MOK_OK;
  mok_status wrong = MOK_ERROR(MOK_ERR_CODEGEN, "the manifest is wrong: %s", mok_status_text(status));
  mok_status_free(status);
  return wrong;
}

mok_status mok_package_write(mok_arena *arena, const char *folder, const mok_plan *plan, const mok_target *target,
                             const mok_sources *sources, const mok_image *image) {
  mok_blob files[MAX_FILES];
  size_t count = 0;
  MOK_TRY(make_files(arena, plan, target, sources, image, files, &count));
  return mok_folder_write(folder, files, count, MOK_MANIFEST_NAME);
}

mok_status mok_package_check(const char *folder) { return mok_folder_check(folder, MOK_MANIFEST_NAME, format_word); }

static void put_little_endian(mok_buf *out, uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) mok_buf_putc(out, (char)(value & 0xff));
}

mok_status mok_package_pack(mok_arena *arena, const mok_plan *plan, const mok_target *target, const mok_sources *sources,
                            const mok_image *image, mok_blob *out) {
  mok_blob files[MAX_FILES];
  size_t count = 0;
  MOK_TRY(make_files(arena, plan, target, sources, image, files, &count));
  mok_buf pack = mok_buf_make(arena);
  mok_buf_puts(&pack, MOK_PACKAGE_MAGIC);
  for (size_t i = 0; i < count; ++i) {
    put_little_endian(&pack, strlen(files[i].name), 4);
    put_little_endian(&pack, files[i].size, 8);
    mok_buf_puts(&pack, files[i].name);
    mok_buf_write(&pack, files[i].data, files[i].size);
  }
  *out = (mok_blob){.name = "package", .data = pack.data, .size = pack.size};
  return MOK_OK;
}
