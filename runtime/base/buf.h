/* Growing text buffer on an arena. Always NUL-terminated; may hold any bytes. */
#ifndef MOK_BASE_BUF_H
#define MOK_BASE_BUF_H

#include <stddef.h>

#include "arena.h"

typedef struct mok_buf {
  mok_arena *arena; /* borrowed */
  char *data;       /* in the arena; never NULL after init */
  size_t size;      /* bytes without the NUL */
  size_t capacity;
} mok_buf;

mok_buf mok_buf_make(mok_arena *arena);
void mok_buf_write(mok_buf *buf, const void *bytes, size_t size);
void mok_buf_puts(mok_buf *buf, const char *text);
void mok_buf_putc(mok_buf *buf, char c);
void mok_buf_printf(mok_buf *buf, const char *fmt, ...) MOK_PRINTF(2, 3);
void mok_buf_vprintf(mok_buf *buf, const char *fmt, va_list args);
void mok_buf_pad_to(mok_buf *buf, int column); /* spaces until the current line has `column` characters */

/* An immutable named text or blob: an artefact of a stage, a file of a package. */
typedef struct mok_blob {
  const char *name; /* file name without folder */
  const void *data;
  size_t size;
} mok_blob;

#endif
