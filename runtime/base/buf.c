#include "buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

mok_buf mok_buf_make(mok_arena *arena) {
  enum { FIRST = 64 };
  return (mok_buf){.arena = arena, .data = mok_arena_alloc(arena, FIRST), .capacity = FIRST};
}

/* Room for `more` bytes and the NUL. */
static void reserve(mok_buf *buf, size_t more) {
  if (more < buf->capacity - buf->size) return;
  size_t capacity = buf->capacity;
  while (more >= capacity - buf->size) {
    /* Past half of the address space the arena reports what it cannot hand out. */
    if (capacity > SIZE_MAX / 2) capacity = SIZE_MAX;
    else capacity *= 2;
    if (capacity == SIZE_MAX) break;
  }
  char *data = mok_arena_alloc(buf->arena, capacity);
  memcpy(data, buf->data, buf->size + 1);
  buf->data = data;
  buf->capacity = capacity;
}

void mok_buf_write(mok_buf *buf, const void *bytes, size_t size) {
  if (!size) return;
  reserve(buf, size);
  memcpy(buf->data + buf->size, bytes, size);
  buf->size += size;
  buf->data[buf->size] = 0;
}

void mok_buf_puts(mok_buf *buf, const char *text) { mok_buf_write(buf, text, strlen(text)); }

void mok_buf_putc(mok_buf *buf, char c) { mok_buf_write(buf, &c, 1); }

void mok_buf_printf(mok_buf *buf, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  mok_buf_vprintf(buf, fmt, args);
  va_end(args);
}

void mok_buf_vprintf(mok_buf *buf, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int size = vsnprintf(buf->data + buf->size, buf->capacity - buf->size, fmt, args);
  if (size < 0) {
    reserve(buf, SIZE_MAX - buf->size - 1); /* longer than INT_MAX: out of memory */
  } else if ((size_t)size >= buf->capacity - buf->size) {
    buf->data[buf->size] = 0;
    reserve(buf, (size_t)size);
    vsnprintf(buf->data + buf->size, buf->capacity - buf->size, fmt, again);
  }
  buf->size += size > 0 ? (size_t)size : 0;
  va_end(again);
}

void mok_buf_pad_to(mok_buf *buf, int column) {
  int at = 0;
  for (size_t i = buf->size; i > 0 && buf->data[i - 1] != '\n'; i--) {
    at += ((unsigned char)buf->data[i - 1] & 0xC0) != 0x80; /* UTF-8 continuation bytes are not characters */
  }
  for (; at < column; at++) mok_buf_putc(buf, ' ');
}
