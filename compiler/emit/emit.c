/* Entry of the emitter: the three texts, and a digest that ties the first two together. */
#include "emit.h"

#include "../../runtime/base/sha256.h"
#include "emit_impl.h"

enum { DIGEST_DIGITS = 32 };

static const char *digest_of(mok_arena *arena, const mok_blob *plan_h, const mok_blob *layout_h) {
  mok_sha256 sha;
  uint8_t digest[32];
  char hex[65];
  mok_sha256_init(&sha);
  mok_sha256_field(&sha, plan_h->data, plan_h->size);
  mok_sha256_field(&sha, layout_h->data, layout_h->size);
  mok_sha256_final(&sha, digest);
  mok_sha256_hex(digest, hex);
  return mok_arena_strndup(arena, hex, DIGEST_DIGITS);
}

mok_status mok_emit(mok_arena *arena, const mok_module *module, const mok_plan *plan, mok_sources *out) {
  *out = (mok_sources){0};
  const mok_kernel_view *view;
  MOK_TRY(mok_ir_kernel_view(arena, module, NULL, &view));
  if (!view->function)
    return MOK_ERROR(MOK_ERR_CODEGEN, "the module stands after '%s': run the passes up to lower-to-cuda first",
                     mok_ir_after(module));
  mok_blob undigested;
  MOK_TRY(mok_emit_layout(arena, view, plan, &out->layout_h));
  MOK_TRY(mok_emit_plan(arena, plan, NULL, &undigested));
  MOK_TRY(mok_emit_plan(arena, plan, digest_of(arena, &undigested, &out->layout_h), &out->plan_h));
  MOK_TRY(mok_emit_kernel(arena, view, plan, &out->kernel, &out->names));
  MOK_TRY(mok_emit_map_recipes(arena, view, plan, &out->maps));
  return MOK_OK;
}
