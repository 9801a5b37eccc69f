#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime.h"

const char *mok_version(void) { return MOKGEN_VERSION; }

mok_status mok_kernel_enter(const mok_kernel *kernel) {
  MOK_CU_TRY(&kernel->cuda, cuCtxPushCurrent(kernel->context));
  return MOK_OK;
}

void mok_kernel_leave(const mok_kernel *kernel) {
  mok_cu_context context;
  kernel->cuda.cuCtxPopCurrent(&context);
}

void mok_log(const mok_kernel *kernel, const char *fmt, ...) {
  if (!kernel->log) return;
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  kernel->log(kernel->log_user, text);
}

mok_status mok_take_args(void *to, size_t size, size_t oldest, const void *from, const char *what) {
  if (!from) return MOK_ERROR(MOK_ERR_USAGE, "%s is NULL", what);
  size_t given;
  memcpy(&given, from, sizeof given);
  if (given < oldest)
    return MOK_ERROR(MOK_ERR_USAGE, "%s: struct_size is %zu, at least %zu is needed; set it to sizeof(%s)", what, given, oldest,
                     what);
  for (size_t i = size; i < given; i++)
    if (((const unsigned char *)from)[i])
      return MOK_ERROR(MOK_ERR_USAGE, "%s: struct_size is %zu and the byte at %zu is not 0, but libmok %s knows %zu bytes", what,
                       given, i, MOKGEN_VERSION, size);
  memset(to, 0, size);
  memcpy(to, from, given < size ? given : size);
  memcpy(to, &size, sizeof size);
  return MOK_OK;
}
