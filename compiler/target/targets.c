#include <string.h>

#include "target.h"

const mok_target mok_targets[] = {
    {"sm_90a", "sm90", "run on H200", false},
    {"sm_100a", NULL, "planned", false},
    {"sm_103a", NULL, "planned", false},
    {"host", "host", "run on the CPU", true},
};
const size_t mok_target_count = sizeof mok_targets / sizeof mok_targets[0];

const mok_target *mok_target_find(const char *name) {
  for (size_t i = 0; i < mok_target_count; ++i)
    if (strcmp(mok_targets[i].name, name) == 0) return &mok_targets[i];
  return NULL;
}
