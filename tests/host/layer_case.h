/* One run of a layer on the host target against plain loops: inputs, workspaces, launch, oracle. For the engine's own tests, so
 * that they do not lean on the tool. */
#ifndef MOK_TEST_LAYER_CASE_H
#define MOK_TEST_LAYER_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "../reference/activations.h"
#include "host/mok_host.h"

enum { LAYER_MAX_RANKS = 8 };

typedef struct layer_shape {
  int hidden, intermediate, experts, top_k, shared_intermediate, gpus, tokens_per_gpu;
  mok_reference_activation activation;
  float clamp; /* 0: none */
} layer_shape;

typedef struct layer_case {
  layer_shape shape;
  int tokens[LAYER_MAX_RANKS];
  mok_rank_args ranks[LAYER_MAX_RANKS];
  mok_args args;
  uint16_t *x[LAYER_MAX_RANKS], *out[LAYER_MAX_RANKS];
  int *ids[LAYER_MAX_RANKS];
  float *weights[LAYER_MAX_RANKS];
  uint16_t *gate, *up, *down; /* all experts */
  uint16_t *shared_gate, *shared_up, *shared_down;
  void *library;
  const mok_host_about_t *about;
  mok_host_run_fn run;
  char text[16384];
  mok_host_report_t report;
} layer_case;

/* Loads the library and makes inputs from `seed`: uniform routing, no -1. Any failure ends the process with a message. */
layer_case *layer_case_create(const char *library, const layer_shape *shape, const int *tokens, uint64_t seed);
void layer_case_destroy(layer_case *c);

/* Zeroes workspaces and heaps, as at their creation. */
void layer_case_reset(layer_case *c);
/* One launch; returns the mok_host_result. */
int layer_case_run(layer_case *c, uint64_t seed, unsigned flags, unsigned phases);
/* Relative L2 error over all ranks' outputs, NaN if any element is; 0 when there is nothing to compare. */
double layer_case_error(const layer_case *c);
uint64_t layer_case_digest(const layer_case *c); /* of all outputs */
const unsigned *layer_case_input_error(const layer_case *c, int rank);

#endif
