/* NVRTC's result codes in our terms. Included by nvrtc.c only. */
#ifndef MOK_NVRTC_STATUS_H
#define MOK_NVRTC_STATUS_H

enum {
  MOK_NVRTC_SUCCESS = 0,
  MOK_NVRTC_OUT_OF_MEMORY = 1,
  MOK_NVRTC_INVALID_OPTION = 5,
  MOK_NVRTC_COMPILATION = 6,
  MOK_NVRTC_BUILTIN_OPERATION_FAILURE = 7,
};

/* What a failed call means; the library's own word for the code is added by the caller. */
static inline const char *mok_nvrtc_meaning(int result) {
  switch (result) {
    case MOK_NVRTC_OUT_OF_MEMORY:
      return "out of memory";
    case MOK_NVRTC_INVALID_OPTION:
      return "this NVRTC does not know an option or the target";
    case MOK_NVRTC_COMPILATION:
      return "the kernel does not compile";
    case MOK_NVRTC_BUILTIN_OPERATION_FAILURE:
      return "libnvrtc-builtins is not found beside libnvrtc, or is of another version";
    default:
      return "NVRTC failed";
  }
}

/* The user's installation is at fault, not the kernel. */
static inline int mok_nvrtc_is_installation(int result) {
  return result == MOK_NVRTC_OUT_OF_MEMORY || result == MOK_NVRTC_BUILTIN_OPERATION_FAILURE;
}

#endif
