/* ptxas' -v report: "Used 168 registers, used 2 barriers, 16 bytes smem" and "0 bytes stack frame, 0 bytes spill stores, ...". */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

/* The number in front of `unit` in the line at `at`; -1 if the line has none. */
static int64_t number_before(const char *at, const char *unit) {
  const char *line_end = at + strcspn(at, "\n");
  const char *found = strstr(at, unit);
  if (!found || found >= line_end) return -1;
  const char *digits = found;
  while (digits > at && digits[-1] >= '0' && digits[-1] <= '9') digits--;
  return digits < found ? (int64_t)strtoll(digits, NULL, 10) : -1;
}

static void keep_largest(int64_t *value, int64_t candidate) {
  if (candidate > *value) *value = candidate;
}

bool mok_ptxas_resources(const char *log, mok_image *out) {
  out->registers = out->spill_bytes = out->stack_bytes = out->shared_bytes = -1;
  for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    keep_largest(&out->stack_bytes, number_before(line, " bytes stack frame"));
    keep_largest(&out->spill_bytes, number_before(line, " bytes spill stores"));
    keep_largest(&out->spill_bytes, number_before(line, " bytes spill loads"));
    keep_largest(&out->registers, number_before(line, " registers"));
    keep_largest(&out->shared_bytes, number_before(line, " bytes smem"));
  }
  if (out->shared_bytes < 0) out->shared_bytes = 0; /* a kernel without static shared memory has no such item */
  return out->registers > 0 && out->stack_bytes >= 0 && out->spill_bytes >= 0;
}

const char *mok_ptxas_refusal(mok_arena *arena, const char *log, const mok_image *image) {
  if (image->spill_bytes > 0)
    return mok_arena_printf(arena, "%lld bytes of registers spill to memory", (long long)image->spill_bytes);
  if (image->stack_bytes > 0) return mok_arena_printf(arena, "a stack frame of %lld bytes", (long long)image->stack_bytes);
  if (strstr(log, "C7508")) return "ptxas warns C7508: setmaxnreg is ignored";
  /* C7510, and C7514 and others by what stands in the way. */
  if (strstr(log, "C7510") || strstr(log, "wgmma.mma_async instructions are serialized")) return "ptxas serialises wgmma";
  return NULL;
}
