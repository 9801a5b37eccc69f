/* gpu_primitives FOLDER...: checks the kernels that images.sh put there, one line for each. */
#include <stdio.h>

#include "harness.h"

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: gpu_primitives FOLDER...\n");
    return 2;
  }
  int failed = 0;
  for (int i = 1; i < argc; i++) failed |= prim_run(argv[i]);
  return failed;
}
