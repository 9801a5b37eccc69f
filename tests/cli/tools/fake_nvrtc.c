/* An NVRTC of another version: FAKE_VERSION is its major number. Nothing else of it works. */
#include <stdlib.h>

#define nvrtcVersion not_the_version
#define MOK_NVRTC_FUNCTION(name, parameters) \
  int name(void);                            \
  int name(void) { return 1; }
#include "../../../compiler/jit/nvrtc_api.def"
#undef MOK_NVRTC_FUNCTION
#undef nvrtcVersion

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor) {
  *major = atoi(getenv("FAKE_VERSION"));
  *minor = 3;
  return 0;
}

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result) { return result ? "fake" : "none"; }
