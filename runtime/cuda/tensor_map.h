/* Tensor maps from the manifest's recipes, whose order is that of their ids (MAP_* of mok_layout.h):
 *
 *   map up.ring_x bf16 local ring_x 11776 7168 box 128 64 swizzle 128 promotion 256
 *   map up.gate bf16 weight gate 2048 7168 box 128 64 swizzle 128 promotion 256
 *   map shared_up.x bf16 tokens x 7168 box 128 64 swizzle 128 promotion 256
 *
 * Name; element type; where the data lies, with rows and columns; rows and columns of a box; bytes of the shared-memory swizzle
 * and of an L2 promotion. local: a region of the local workspace. weight: a mok_weight of the rank's arguments, with its strides
 * and an outermost dimension of the rank's experts, so that a box beyond an expert's last row holds zeros and nothing of the next
 * expert. tokens: an argument of as many rows as the step has tokens (at most: as their bound says).
 *
 * Use: mok_map_recipes_read when a package is loaded; for every rank of a launch, once all other members of its mok_rank_args are
 * set, mok_map_recipes_encode fills `maps`. That is host arithmetic, under a microsecond a map. The kernel reads the maps where
 * it reads the arguments, so they travel and are captured with them; that copy must begin at a multiple of 64 bytes. */
#ifndef MOK_CUDA_TENSOR_MAP_H
#define MOK_CUDA_TENSOR_MAP_H

#include "../../templates/mok_args.h"
#include "../package/manifest.h"
#include "driver.h"

typedef enum mok_map_source { MOK_MAP_LOCAL, MOK_MAP_WEIGHT, MOK_MAP_TOKENS } mok_map_source;

typedef struct mok_map_recipe {
  mok_map_source source;
  size_t member;         /* weight, tokens: its offset in mok_rank_args */
  bool one_expert;       /* weight: of the shared expert */
  int64_t offset;        /* local: of the region */
  int64_t rows, columns; /* rows of one expert; tokens: none */
  int box_rows, box_columns;
  int swizzle, promotion; /* the driver's enumerators */
} mok_map_recipe;

typedef struct mok_map_recipes {
  mok_map_recipe recipes[MOK_MAX_MAPS];
  int count;
  int ranks, experts;
} mok_map_recipes;

/* ranks, experts: of the package. Errors are MOK_ERR_IO and name the line. */
MOK_MUST_USE mok_status mok_map_recipes_read(const mok_manifest *manifest, int ranks, int experts, mok_map_recipes *out);

/* args->maps from everything else in *args. Data that a rank does not have (no experts, no tokens) gets an empty map, which the
 * kernel does not use. */
MOK_MUST_USE mok_status mok_map_recipes_encode(const mok_cuda *cuda, const mok_map_recipes *recipes, mok_rank_args *args);

#endif
