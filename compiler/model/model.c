#include "model.h"

#include <stdlib.h>
#include <string.h>

const mok_activation mok_activations[MOK_NUM_ACTIVATIONS] = {
#define MOK_ACTIVATION(name_, gated_, value_, doc_) {.name = #name_, .gated = gated_, .value = #value_},
#include "activations.def"
#undef MOK_ACTIVATION
};

const char mok_activation_list[] = ""
#define MOK_ACTIVATION(name, gated, value, doc) "|" #name
#include "activations.def"
#undef MOK_ACTIVATION
    ;

const char mok_activation_doc[] = "act(gate, up)"
#define MOK_ACTIVATION(name, gated, value, doc) "; " #name ": " doc
#include "activations.def"
#undef MOK_ACTIVATION
    ;

const mok_activation *mok_activation_find(const char *name) {
  for (int i = 0; i < MOK_NUM_ACTIVATIONS; i++) {
    if (strcmp(mok_activations[i].name, name) == 0) return &mok_activations[i];
  }
  return NULL;
}

const mok_field_info mok_fields[MOK_NUM_FIELDS] = {
#define MOK_FIELD(table_, kind_, name_, fallback_, min_, max_, words_, unit_, doc_) \
  {.table = #table_,                                                                \
   .name = #name_,                                                                  \
   .kind = MOK_K_##kind_,                                                           \
   .fallback = fallback_,                                                           \
   .min = min_,                                                                     \
   .max = max_,                                                                     \
   .words = words_,                                                                 \
   .unit = unit_,                                                                   \
   .doc = doc_,                                                                     \
   .offset = offsetof(mok_model, name_)},
#include "model_fields.def"
#undef MOK_FIELD
};

const char *mok_field_word(mok_arena *arena, const mok_field_info *field, int64_t value) {
  if (value == MOK_AUTO) return "auto";
  const char *word = field->words;
  for (int64_t i = 0; *word; i++) {
    const size_t size = strcspn(word, "|");
    if (i == value) return mok_arena_strndup(arena, word, size);
    word += size + (word[size] == '|');
  }
  return "?";
}

bool mok_field_word_index(const mok_field_info *field, const char *word, int64_t *value) {
  if (field->kind == MOK_K_AUTO_WORD && strcmp(word, "auto") == 0) {
    *value = MOK_AUTO;
    return true;
  }
  const size_t length = strlen(word);
  const char *known = field->words;
  for (int64_t i = 0; *known; i++) {
    const size_t size = strcspn(known, "|");
    if (size == length && memcmp(known, word, size) == 0) {
      *value = i;
      return true;
    }
    known += size + (known[size] == '|');
  }
  return false;
}

/* The fallback texts are written by us: a number, "auto", a quoted word, a list of quoted words, nil or derived. */
static void set_default(mok_model *model, const mok_field_info *field) {
  void *value = (char *)model + field->offset;
  const char *text = field->fallback;
  char word[32] = "";
  if (strchr(text, '"')) {
    const char *begin = strchr(text, '"') + 1;
    const size_t size = strcspn(begin, "\"");
    memcpy(word, begin, size < sizeof word - 1 ? size : sizeof word - 1);
  }
  int64_t index = 0;
  switch (field->kind) {
    case MOK_K_STRING:
      break; /* derived */
    case MOK_K_INT:
      *(int64_t *)value = strtoll(text, NULL, 10);
      break;
    case MOK_K_NUMBER:
      if (strcmp(text, "nil") != 0) *(MOK_KIND_NUMBER *)value = (MOK_KIND_NUMBER){true, strtod(text, NULL)};
      break;
    case MOK_K_WORD:
    case MOK_K_AUTO_WORD:
      mok_field_word_index(field, word, &index);
      *(int64_t *)value = index;
      break;
    case MOK_K_WORDS:
      mok_field_word_index(field, word, &index);
      *(int64_t *)value = INT64_C(1) << index;
      break;
    case MOK_K_GPU:
      ((mok_gpu_choice *)value)->sms = MOK_AUTO;
      break;
    case MOK_K_AUTO_INT:
      *(int64_t *)value = MOK_AUTO;
      break;
  }
}

void mok_model_defaults(mok_model *model) {
  memset(model, 0, sizeof *model);
  for (int i = 0; i < MOK_NUM_FIELDS; i++) set_default(model, &mok_fields[i]);
}

int64_t mok_model_granule(int64_t dtype) {
  switch (dtype) {
    case MOK_FP8_BLOCK128:
      return 16;
    case MOK_MXFP8:
      return 32;
    default:
      return 8;
  }
}
