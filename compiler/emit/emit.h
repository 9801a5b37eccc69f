/* Stage 5, emit: protocol-level module + plan -> readable CUDA C. Decides nothing: module and plan have names and numbers. */
#ifndef MOK_EMIT_H
#define MOK_EMIT_H

#include "../ir/ir.h"

typedef struct mok_sources {
  mok_blob kernel;   /* kernel.cu */
  mok_blob plan_h;   /* mok_plan.h */
  mok_blob layout_h; /* mok_layout.h */
  /* Lines of the manifest; no files. */
  mok_blob maps;  /* recipes of the tensor maps (runtime/cuda/tensor_map.h) */
  mok_blob names; /* what the numbers of an abort record are called (runtime/names.h) */
} mok_sources;

/* The module must have passed lower-to-cuda. Texts live in the arena. Same text for every target. */
MOK_MUST_USE mok_status mok_emit(mok_arena *arena, const mok_module *module, const mok_plan *plan, mok_sources *out);

/* Files of templates/, embedded: common ones have folder "", the others "sm90", "host". */
typedef struct mok_template {
  const char *name; /* "sm90/mok_target.h" */
  const char *text;
  size_t size;
} mok_template;
extern const mok_template mok_templates[];
extern const size_t mok_template_count;

#endif
