/* Shared by diag.c (the list) and render.c (its text form). */
#ifndef MOK_DIAG_IMPL_H
#define MOK_DIAG_IMPL_H

#include "../../runtime/base/buf.h"
#include "diag.h"

typedef struct mok_diag_source {
  struct mok_diag_source *next;
  const char *file;
  const char *text; /* borrowed from the caller of mok_diag_add_source */
  size_t size;
} mok_diag_source;

typedef struct mok_diag_item {
  mok_severity severity;
  mok_loc loc;
  mok_loc anchor; /* place it sorts by */
  const char *message;
  const char *hint; /* NULL: none */
  size_t order;     /* of report */
} mok_diag_item;

/* `source` may be NULL: no caret lines. */
void mok_diag_render(mok_buf *out, const mok_diag_item *item, const mok_diag_source *source, bool color);

#endif
