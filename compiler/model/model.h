/* The description as plain values, const once read. One flat struct: a field keeps its Lua key as its name everywhere. */
#ifndef MOK_MODEL_H
#define MOK_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../runtime/base/buf.h"
#include "../../runtime/base/json.h"
#include "../diag/diag.h"

#define MOK_AUTO INT64_C(-1) /* value of an AUTO_INT or AUTO_WORD field left to the planner */

/* MOK_ACTIVATION_swiglu and so on, from activations.def. */
enum {
#define MOK_ACTIVATION(name, gated, value, doc) MOK_ACTIVATION_##name,
#include "activations.def"
#undef MOK_ACTIVATION
  MOK_NUM_ACTIVATIONS
};
enum { MOK_BF16, MOK_FP8_BLOCK128, MOK_MXFP8 };       /* dtype */
enum { MOK_PASS_FORWARD = 1, MOK_PASS_BACKWARD = 2 }; /* passes: bits, 1 << position in the word list */
enum { MOK_SAVE_ALL, MOK_SAVE_INPUT, MOK_SAVE_NONE };
enum { MOK_COMM_SMS, MOK_COMM_WARPS, MOK_COMM_EPILOGUE };
enum { MOK_READY_TILE, MOK_READY_MINIBATCH };
enum { MOK_OWN_COPY, MOK_OWN_DIRECT };

enum { MOK_MIN_GPU_SMS = 2, MOK_MAX_GPU_SMS = 1024 }; /* of `sms`: one SM moves rows while another computes */

typedef struct mok_gpu_choice {
  const char *row; /* name of a GPU row, or "auto" */
  int64_t sms;     /* override of the row's SM count; MOK_AUTO: none */
} mok_gpu_choice;

/* C types of the kinds in model_fields.def. */
typedef const char *MOK_KIND_STRING;
typedef int64_t MOK_KIND_INT;
typedef struct mok_opt_number {
  bool present;
  double value;
} MOK_KIND_NUMBER;
typedef int64_t MOK_KIND_WORD;  /* position in the word list */
typedef int64_t MOK_KIND_WORDS; /* bit set over the word list */
typedef mok_gpu_choice MOK_KIND_GPU;
typedef int64_t MOK_KIND_AUTO_INT;  /* value or MOK_AUTO */
typedef int64_t MOK_KIND_AUTO_WORD; /* position or MOK_AUTO */

/* One row of activations.def at run time. */
typedef struct mok_activation {
  const char *name;
  bool gated;
  const char *value; /* CUDA: "mok_silu(gate) * up" */
} mok_activation;

extern const mok_activation mok_activations[MOK_NUM_ACTIVATIONS];
const mok_activation *mok_activation_find(const char *name); /* NULL: not in the list */

/* Of the field: "|swiglu|geglu|...", and what each one is. */
extern const char mok_activation_list[], mok_activation_doc[];
#define MOK_ACTIVATION_WORDS (mok_activation_list + 1)

typedef enum mok_field_id {
#define MOK_FIELD(table, kind, name, fallback, min, max, words, unit, doc) MOK_FIELD_##name,
#include "model_fields.def"
#undef MOK_FIELD
  MOK_NUM_FIELDS
} mok_field_id;

typedef struct mok_model {
#define MOK_FIELD(table, kind, name, fallback, min, max, words, unit, doc) MOK_KIND_##kind name;
#include "model_fields.def"
#undef MOK_FIELD
  mok_loc loc[MOK_NUM_FIELDS]; /* where each value came from; the constructor's call for a default */
  bool given[MOK_NUM_FIELDS];  /* false: default */
} mok_model;

typedef enum mok_kind {
  MOK_K_STRING,
  MOK_K_INT,
  MOK_K_NUMBER,
  MOK_K_WORD,
  MOK_K_WORDS,
  MOK_K_GPU,
  MOK_K_AUTO_INT,
  MOK_K_AUTO_WORD
} mok_kind;

/* One row of model_fields.def at run time. */
typedef struct mok_field_info {
  const char *table, *name;
  mok_kind kind;
  const char *fallback;
  double min, max;
  const char *words, *unit, *doc;
  size_t offset; /* of the value in mok_model */
} mok_field_info;

extern const mok_field_info mok_fields[MOK_NUM_FIELDS];

/* Word of a WORD or AUTO_WORD value ("auto" for MOK_AUTO); static or in the arena. */
const char *mok_field_word(mok_arena *arena, const mok_field_info *field, int64_t value);
/* Sets *value to the position; false if the word is not in the list. */
bool mok_field_word_index(const mok_field_info *field, const char *word, int64_t *value);

/* Every field at its default; required ones zero, derived ones left to mok_model_finish. */
void mok_model_defaults(mok_model *model);

/* Letters, digits, '.', '_', '-'; 1 to 64 of them. */
bool mok_model_name_ok(const char *name);

/* hidden, intermediate and shared_intermediate are multiples of this. */
int64_t mok_model_granule(int64_t dtype);

/* Fills the derived defaults and checks the rules that relate fields (multiples by dtype, k against E, shared width, ring against
 * minibatch, ...). Ranges of single fields were checked by the reader. Reports every violation. */
void mok_model_finish(mok_model *model, const char *file_stem, mok_diag *diag);

/* Canonical Lua text, every field spelled out: --emit=model. Reading it back gives the same model. */
void mok_model_print(const mok_model *model, mok_buf *out);

/* The objects "model", "topology" and "workload" of plan.json, in the order of the list, as keys of the open object. */
void mok_model_json(const mok_model *model, mok_json *json);

/* The description reference of the README: one Markdown table per constructor, from model_fields.def. */
void mok_model_reference(mok_buf *out);

/* Derived quantities, one place each. R = gpus, E = experts. */
static inline int64_t mok_first_expert(const mok_model *m, int64_t rank) { return rank * m->experts / m->gpus; }
static inline int64_t mok_local_experts(const mok_model *m, int64_t rank) {
  return mok_first_expert(m, rank + 1) - mok_first_expert(m, rank);
}
static inline int64_t mok_local_experts_max(const mok_model *m) { return (m->experts + m->gpus - 1) / m->gpus; }
static inline bool mok_is_gated(const mok_model *m) { return mok_activations[m->activation].gated; }
/* Columns of the up product: gate and up together for gated activations. */
static inline int64_t mok_up_columns(const mok_model *m) { return (mok_is_gated(m) ? 2 : 1) * m->intermediate; }
static inline int64_t mok_element_bytes(const mok_model *m) { return m->dtype == MOK_BF16 ? 2 : 1; }

#endif
