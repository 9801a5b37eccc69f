#include "npy.h"

#include <inttypes.h>
#include <string.h>

mok_blob mok_npy(mok_arena *arena, const char *name, const char *descr, const int64_t *shape, int dimensions, const void *data) {
  enum { PREFIX = 10, ALIGN = 64 };
  mok_buf header = mok_buf_make(arena);
  mok_buf_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  size_t bytes = (size_t)(descr[2] - '0');
  for (int i = 0; i < dimensions; ++i) {
    mok_buf_printf(&header, "%" PRId64 "%s", shape[i], i + 1 < dimensions || dimensions == 1 ? ", " : "");
    bytes *= (size_t)shape[i];
  }
  mok_buf_puts(&header, "), }");
  while ((PREFIX + header.size + 1) % ALIGN != 0) mok_buf_putc(&header, ' ');
  mok_buf_putc(&header, '\n');

  char *blob = mok_arena_alloc(arena, PREFIX + header.size + bytes);
  memcpy(blob, "\x93NUMPY\x01\x00", 8);
  blob[8] = (char)(header.size & 0xff);
  blob[9] = (char)(header.size >> 8);
  memcpy(blob + PREFIX, header.data, header.size);
  if (bytes > 0) memcpy(blob + PREFIX + header.size, data, bytes);
  return (mok_blob){name, blob, PREFIX + header.size + bytes};
}
