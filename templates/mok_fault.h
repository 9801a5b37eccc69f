/* Text of an abort record: what a rank waited for when it gave up. Plain C, for everybody who reads control lines. */
#ifndef MOK_FAULT_H
#define MOK_FAULT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "mok_args.h"

/* Names of a kernel's parts; what is NULL is numbered instead. */
typedef struct mok_fault_names {
  const char *counter; /* of word MOK_WAIT_COUNTER, or of the barrier of that number: "COUNTER_X_READY" */
  const char *worker;  /* "compute_load" */
  const char *task;    /* "down"; NULL: not told */
} mok_fault_names;

/* Appends; cut to fit. */
__attribute__((format(printf, 4, 5))) static inline void mok_fault_add(char *text, size_t size, size_t *used, const char *format,
                                                                       ...) {
  if (*used >= size) return;
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(text + *used, size - *used, format, args);
  va_end(args);
  *used += n > 0 ? (size_t)n : 0;
}

/* `record`: the words of MOK_LINE_WAIT_ERROR. Limits as in mok_args. One line without its end; cut to fit. */
static inline void mok_fault_text(char *text, size_t size, const unsigned *record, const mok_fault_names *names,
                                  unsigned local_limit_ms, unsigned peer_limit_ms) {
  const unsigned kind = record[MOK_WAIT_KIND], number = record[MOK_WAIT_COUNTER], index = record[MOK_WAIT_INDEX];
  const unsigned expected = record[MOK_WAIT_EXPECTED], seen = record[MOK_WAIT_SEEN];
  const double local = (local_limit_ms ? local_limit_ms : MOK_LOCAL_LIMIT_MS) / 1e3;
  const double peer = (peer_limit_ms ? peer_limit_ms : MOK_PEER_LIMIT_MS) / 1e3;
  const char *counter = names ? names->counter : NULL, *worker = names ? names->worker : NULL;
  size_t used = 0;
  mok_fault_add(text, size, &used, "rank %u", record[MOK_WAIT_RANK]);
  if (kind < MOK_WAIT_IS_COUNTER || kind > MOK_WAIT_IS_POISONED) {
    mok_fault_add(text, size, &used, " gave up, without a record of the wait");
    return;
  }
  mok_fault_add(text, size, &used, " CTA %u", record[MOK_WAIT_CTA]);
  if (kind == MOK_WAIT_IS_COUNTER) {
    if (worker) mok_fault_add(text, size, &used, " %s", worker);
    else mok_fault_add(text, size, &used, " role %u, worker at warp %u", record[MOK_WAIT_ROLE], record[MOK_WAIT_WARP]);
    mok_fault_add(text, size, &used, "[%u]", record[MOK_WAIT_INSTANCE]);
    if (names && names->task) mok_fault_add(text, size, &used, " in task %s", names->task);
  }
  if (record[MOK_WAIT_LINE]) mok_fault_add(text, size, &used, " at kernel.cu:%u", record[MOK_WAIT_LINE]);
  mok_fault_add(text, size, &used, ": ");
  if (kind == MOK_WAIT_IS_GRID_BARRIER) {
    mok_fault_add(text, size, &used, "grid barrier %u expected %u arrivals, seen %u: a CTA did not arrive within %g s", number,
                  expected, seen, local);
    return;
  }
  if (kind == MOK_WAIT_IS_COUNTER) {
    if (counter) mok_fault_add(text, size, &used, "%s[%u]", counter, index);
    else mok_fault_add(text, size, &used, "counter word %u", number + index);
    mok_fault_add(text, size, &used, " expected %u, seen %u: a worker did not signal within %g s", expected, seen, local);
    return;
  }
  if (counter) mok_fault_add(text, size, &used, "rank barrier %s", counter);
  else mok_fault_add(text, size, &used, "rank barrier %u", number);
  if (kind == MOK_WAIT_IS_RANK_BARRIER)
    mok_fault_add(text, size, &used, " expected launch %u of rank %u, seen %u: the rank did not arrive within %g s", expected,
                  index, seen, peer);
  else
    mok_fault_add(text, size, &used, ": rank %u gave up and will not arrive (%s)", index,
                  seen == MOK_WAIT_IS_COUNTER        ? "it waited for a counter"
                  : seen == MOK_WAIT_IS_GRID_BARRIER ? "it waited for its own CTAs"
                  : seen == MOK_WAIT_IS_RANK_BARRIER ? "it waited for a rank"
                                                     : "another rank had given up");
}

#endif
