/* tests/gpu/naive.cu and what it includes, embedded: the check of `mokgen run` is part of the product. */
#ifndef MOK_DRIVER_NAIVE_SOURCES_H
#define MOK_DRIVER_NAIVE_SOURCES_H

#include <stddef.h>

typedef struct mok_naive_file {
  const char *name; /* relative to tests/ */
  const char *text;
  size_t size;
} mok_naive_file;
extern const mok_naive_file mok_naive_files[];
extern const size_t mok_naive_count;

#endif
