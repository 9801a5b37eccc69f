/* A driver for tests: says what FAKE_NAME, FAKE_SMS, FAKE_COUNT and FAKE_INIT (cuInit's answer, or abort) tell it. */
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuGetErrorName(int code, const char **name);

static const char *setting(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value ? value : fallback;
}

int cuInit(unsigned flags) {
  (void)flags;
  if (strcmp(setting("FAKE_INIT", "0"), "abort") == 0) abort();
  return atoi(setting("FAKE_INIT", "0"));
}

int cuDeviceGetCount(int *count) {
  *count = atoi(setting("FAKE_COUNT", "1"));
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
  (void)device;
  strncpy(name, setting("FAKE_NAME", "NVIDIA H200"), (size_t)size - 1);
  name[size - 1] = 0;
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 16 ? atoi(setting("FAKE_SMS", "132")) : 0; /* 16: multiprocessors */
  return 0;
}

int cuGetErrorName(int code, const char **name) {
  *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : NULL;
  return code == 100 ? 0 : 1;
}
