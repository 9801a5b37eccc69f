#include "tensor_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enumerators of cuTensorMapEncodeTiled. */
enum { TYPE_BF16 = 9, INTERLEAVE_NONE = 0, FILL_ZEROS = 0, MOST_BOX = 256 };
static const int swizzles[] = {0, 32, 64, 128}, promotions[] = {0, 64, 128, 256}; /* bytes, by enumerator */

static const struct {
  const char *name;
  mok_map_source source;
  size_t member;
  bool one_expert;
} members[] = {
    {"x", MOK_MAP_TOKENS, offsetof(mok_rank_args, x), false},
    {"gate", MOK_MAP_WEIGHT, offsetof(mok_rank_args, gate), false},
    {"up", MOK_MAP_WEIGHT, offsetof(mok_rank_args, up), false},
    {"down", MOK_MAP_WEIGHT, offsetof(mok_rank_args, down), false},
    {"shared_gate", MOK_MAP_WEIGHT, offsetof(mok_rank_args, shared_gate), true},
    {"shared_up", MOK_MAP_WEIGHT, offsetof(mok_rank_args, shared_up), true},
    {"shared_down", MOK_MAP_WEIGHT, offsetof(mok_rank_args, shared_down), true},
};

/* ------------------------------------------------------------------------------------------------ manifest */

/* The next word of *at; its end is a blank or the end of the line. */
static size_t next_word(const char **at, const char **word) {
  *at += strspn(*at, " ");
  *word = *at;
  const size_t size = strcspn(*at, " ");
  *at += size;
  return size;
}

static bool take_word(const char **at, const char *expected) {
  const char *word;
  const size_t size = next_word(at, &word);
  return size == strlen(expected) && memcmp(word, expected, size) == 0;
}

static bool take_number(const char **at, int64_t least, int64_t most, int64_t *out) {
  const char *word;
  const size_t size = next_word(at, &word);
  if (size == 0 || size > 15 || strspn(word, "0123456789") != size) return false;
  *out = (int64_t)strtoll(word, NULL, 10);
  return *out >= least && *out <= most;
}

static bool take_choice(const char **at, const int *choices, int count, int *out) {
  int64_t value;
  if (!take_number(at, 0, INT32_MAX, &value)) return false;
  for (*out = 0; *out < count; ++*out)
    if (choices[*out] == value) return true;
  return false;
}

/* "region local NAME OFFSET BYTES" */
static bool find_region(const mok_manifest *manifest, const char *name, size_t size, int64_t *offset, int64_t *bytes) {
  for (size_t i = 0; i < manifest->line_count; i++) {
    if (strcmp(manifest->lines[i].key, "region") != 0) continue;
    const char *at = manifest->lines[i].value, *word;
    if (!take_word(&at, "local")) continue;
    if (next_word(&at, &word) != size || memcmp(word, name, size) != 0) continue;
    return take_number(&at, 0, INT64_MAX, offset) && take_number(&at, 0, INT64_MAX, bytes);
  }
  return false;
}

static bool read_base(const mok_manifest *manifest, const char **at, mok_map_recipe *out) {
  static const char *const kinds[] = {[MOK_MAP_LOCAL] = "local", [MOK_MAP_WEIGHT] = "weight", [MOK_MAP_TOKENS] = "tokens"};
  const int64_t most = INT64_C(1) << 31;
  const char *kind, *name;
  const size_t kind_size = next_word(at, &kind), size = next_word(at, &name);
  int source = 0;
  while (source < 3 && (strlen(kinds[source]) != kind_size || memcmp(kinds[source], kind, kind_size) != 0)) source++;
  if (source == 3) return false;
  out->source = (mok_map_source)source;
  if (out->source != MOK_MAP_TOKENS && !take_number(at, 1, most, &out->rows)) return false;
  if (!take_number(at, 1, most, &out->columns) || out->columns % 8 != 0) return false;
  if (out->source == MOK_MAP_LOCAL) {
    int64_t bytes;
    return find_region(manifest, name, size, &out->offset, &bytes) && out->offset % 16 == 0 &&
           out->rows <= bytes / 2 / out->columns;
  }
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    if (members[i].source != out->source || strlen(members[i].name) != size || memcmp(members[i].name, name, size) != 0) continue;
    out->member = members[i].member;
    out->one_expert = members[i].one_expert;
    return true;
  }
  return false;
}

static bool read_recipe(const mok_manifest *manifest, const char *line, mok_map_recipe *out) {
  const char *at = line, *name;
  int64_t box_rows = 0, box_columns = 0;
  *out = (mok_map_recipe){0};
  if (next_word(&at, &name) == 0 || !take_word(&at, "bf16") || !read_base(manifest, &at, out)) return false;
  if (!take_word(&at, "box") || !take_number(&at, 1, MOST_BOX, &box_rows) || !take_number(&at, 1, MOST_BOX, &box_columns))
    return false;
  out->box_rows = (int)box_rows;
  out->box_columns = (int)box_columns;
  if (!take_word(&at, "swizzle") || !take_choice(&at, swizzles, 4, &out->swizzle)) return false;
  if (!take_word(&at, "promotion") || !take_choice(&at, promotions, 4, &out->promotion)) return false;
  return next_word(&at, &name) == 0;
}

mok_status mok_map_recipes_read(const mok_manifest *manifest, int ranks, int experts, mok_map_recipes *out) {
  *out = (mok_map_recipes){.ranks = ranks, .experts = experts};
  for (size_t i = 0; i < manifest->line_count; i++) {
    const mok_manifest_line *line = &manifest->lines[i];
    if (strcmp(line->key, "map") != 0) continue;
    if (out->count == MOK_MAX_MAPS)
      return MOK_ERROR(MOK_ERR_IO, "the package's manifest has more than %d lines 'map'", MOK_MAX_MAPS);
    if (!read_recipe(manifest, line->value, &out->recipes[out->count]))
      return MOK_ERROR(MOK_ERR_IO, "the package's manifest says 'map %s', which is no recipe of a tensor map", line->value);
    out->count++;
  }
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ encode */

static int64_t experts_of(const mok_map_recipes *recipes, int rank) {
  const int64_t experts = recipes->experts, ranks = recipes->ranks;
  return (rank + 1) * experts / ranks - rank * experts / ranks;
}

static mok_status encode(const mok_cuda *cuda, const mok_map_recipes *recipes, const mok_map_recipe *recipe,
                         const mok_rank_args *args, mok_tensor_map *out) {
  /* Innermost dimension first; strides in bytes, of all but the innermost. */
  uint64_t sizes[3] = {(uint64_t)recipe->columns, (uint64_t)recipe->rows, 1}, strides[2] = {(uint64_t)recipe->columns * 2, 0};
  const unsigned box[3] = {(unsigned)recipe->box_columns, (unsigned)recipe->box_rows, 1}, steps[3] = {1, 1, 1};
  const char *base = NULL;
  unsigned dimensions = 2;
  if (recipe->source == MOK_MAP_LOCAL) {
    base = (const char *)args->local + recipe->offset;
  } else if (recipe->source == MOK_MAP_TOKENS) {
    memcpy(&base, (const char *)args + recipe->member, sizeof base);
    sizes[1] = (uint64_t)args->tokens;
  } else {
    mok_weight weight;
    memcpy(&weight, (const char *)args + recipe->member, sizeof weight);
    base = weight.base;
    dimensions = 3;
    sizes[2] = recipe->one_expert ? 1 : (uint64_t)experts_of(recipes, args->rank);
    strides[0] = (uint64_t)weight.row_stride * 2;
    strides[1] = (uint64_t)weight.expert_stride * 2;
  }
  if (!base || sizes[1] == 0 || sizes[2] == 0) {
    memset(out, 0, sizeof *out);
    return MOK_OK;
  }
  _Alignas(64) mok_tensor_map map; /* the driver asks for it */
  MOK_CU_TRY(cuda, cuTensorMapEncodeTiled(&map, TYPE_BF16, dimensions, base, sizes, strides, box, steps, INTERLEAVE_NONE,
                                          recipe->swizzle, recipe->promotion, FILL_ZEROS));
  *out = map;
  return MOK_OK;
}

mok_status mok_map_recipes_encode(const mok_cuda *cuda, const mok_map_recipes *recipes, mok_rank_args *args) {
  for (int i = 0; i < recipes->count; i++) MOK_TRY(encode(cuda, recipes, &recipes->recipes[i], args, &args->maps[i]));
  return MOK_OK;
}
