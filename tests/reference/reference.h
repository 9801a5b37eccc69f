/* The layer as a formula: forward, one token at a time, plain C in double. The rounding points are those of the definition of the
 * layer: h to bf16, y to bf16, out to bf16; everything between is double.
 *
 * Linked into the tool, because the check of `mokgen run` is part of the product; shares no code with the kernel and its
 * templates, or a mistake in them would be checked against itself. */
#ifndef MOK_REFERENCE_H
#define MOK_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "activations.h"

/* bf16 bits; gate is NULL for an activation without one. */
typedef struct mok_reference_mlp {
  const uint16_t *gate, *up; /* [intermediate, hidden] of one expert after the other */
  const uint16_t *down;      /* [hidden, intermediate] */
  int64_t intermediate;
} mok_reference_mlp;

typedef struct mok_reference_layer {
  int64_t hidden, experts, top_k;
  mok_reference_activation activation;
  bool has_clamp;
  double clamp;
  mok_reference_mlp routed; /* `experts` of them */
  mok_reference_mlp shared; /* one, intermediate = 0: none */
} mok_reference_layer;

/* Doubles of scratch that mok_reference_token needs. */
int64_t mok_reference_scratch(const mok_reference_layer *layer);

/* out[hidden] of one token: x[hidden] bf16, ids[top_k] (anything outside 0..experts-1: no route), weights[top_k]. */
void mok_reference_token(const mok_reference_layer *layer, const uint16_t *x, const int32_t *ids, const float *weights,
                         double *scratch, double *out);

#endif
