/* The values that options are known to take. */
#include <string.h>

#include "../model/model.h"
#include "../passes/pass.h"
#include "../target/target.h"
#include "texts.h"

static const char *const listed[MOK_NUM_OPTIONS] = {
#define MOK_CHOICES(id, words) [MOK_OPTION_##id] = words,
#include "options.def"
};

const char *mok_next_word(const char **rest, mok_arena *arena, char separator) {
  const char *word = *rest, *end = strchr(word, separator);
  if (!*word) return NULL;
  const size_t size = end ? (size_t)(end - word) : strlen(word);
  *rest = word + size + (end != NULL);
  return mok_arena_strndup(arena, word, size);
}

typedef struct word_list {
  mok_arena *arena;
  const char **words;
  size_t count, capacity;
} word_list;

static void add(word_list *list, const char *word) {
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity ? 2 * list->capacity : 16;
    const char **words = MOK_NEW_ARRAY(list->arena, capacity, const char *);
    if (list->count > 0) memcpy(words, list->words, list->count * sizeof words[0]);
    list->words = words;
    list->capacity = capacity;
  }
  list->words[list->count++] = word;
}

/* model.hidden= where any value may follow, model.dtype=bf16 where the words are known. */
static void add_fields(word_list *list) {
  for (size_t i = 0; i < MOK_NUM_FIELDS; ++i) {
    const mok_field_info *field = &mok_fields[i];
    const char *key = mok_arena_printf(list->arena, "%s.%s=", field->table, field->name);
    const bool automatic = field->kind == MOK_K_AUTO_INT || field->kind == MOK_K_AUTO_WORD;
    if (!field->words[0] || field->kind == MOK_K_WORDS) add(list, key);
    if (automatic) add(list, mok_arena_printf(list->arena, "%sauto", key));
    const char *rest = field->words;
    for (const char *word; field->kind != MOK_K_WORDS && (word = mok_next_word(&rest, list->arena, '|'));)
      add(list, mok_arena_printf(list->arena, "%s%s", key, word));
    for (size_t gpu = 0; field->kind == MOK_K_GPU && gpu < mok_gpu_count; ++gpu)
      add(list, mok_arena_printf(list->arena, "%s%s", key, mok_gpus[gpu].name));
  }
}

mok_choices mok_option_choices(mok_arena *arena, mok_option_id id) {
  word_list list = {.arena = arena};
  const char *rest = listed[id] ? listed[id] : "";
  for (const char *word; (word = mok_next_word(&rest, arena, ' '));) add(&list, word);
  for (size_t i = 0; id == MOK_OPTION_target && i < mok_target_count; ++i) add(&list, mok_targets[i].name);
  for (size_t i = 0; id == MOK_OPTION_emit && i < mok_pipeline_length; ++i)
    add(&list, mok_arena_printf(arena, "mok:%s", mok_pipeline[i]->name));
  if (id == MOK_OPTION_define) add_fields(&list);
  return (mok_choices){list.words, list.count};
}
