/* run_sample LIBRARY SEEDS [races]: the sample layer over some schedules, also under a sanitizer, which says itself what it
 * finds; exit 0 when the results are right and agree. */
#include <stdio.h>
#include <stdlib.h>

#include "sample_case.h"

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) return 2;
  const unsigned flags = MOK_HOST_POISON | (argc == 4 ? MOK_HOST_RACES : 0);
  const int tokens[] = {150, 37};
  layer_case *c = layer_case_create(argv[1], &sample_shape, tokens, 11);
  c->args.comm_ctas = 2;
  c->args.compute_ctas = 3;
  int failures = 0;
  uint64_t digest = 0;
  for (int seed = 0; seed < atoi(argv[2]); ++seed) {
    const int result = layer_case_run(c, (uint64_t)seed, flags, MOK_PHASE_ALL);
    const double error = seed == 0 ? layer_case_error(c) : 0;
    if (seed == 0) digest = layer_case_digest(c);
    if (result == MOK_HOST_OK && error < 5e-3 && layer_case_digest(c) == digest) continue;
    printf("seed %d: result %d, error %g, digest %s\n%s", seed, result, error,
           layer_case_digest(c) == digest ? "same" : "differs", c->text);
    ++failures;
  }
  layer_case_destroy(c);
  return failures != 0;
}
