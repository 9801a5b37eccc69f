/* A program of a user, in C and in C++: the library is there, and is of the header's version. */
#include <mok.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.", MOK_VERSION_MAJOR, MOK_VERSION_MINOR);
  if (strncmp(mok_version(), version, strlen(version)) != 0) {
    printf("mok.h is of %s*, libmok of %s\n", version, mok_version());
    return 1;
  }
  mok_load_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.path = "no such package";
  mok_kernel *kernel = NULL;
  mok_status status = mok_kernel_load(&args, &kernel);
  const int code = mok_status_exit_code(status);
  if (code == MOK_STATUS_OK || kernel != NULL) return 1;
  if (mok_status_text(status)[0] == '\0') return 1;
  printf("libmok %s: %s\n", mok_version(), mok_status_text(status));
  mok_status_free(status);
  return code == MOK_STATUS_FILE || code == MOK_STATUS_DEVICE ? 0 : 1;
}
