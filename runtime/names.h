/* What the numbers of an abort record are called. Lines of the manifest, written where kernel.cu is:
 *
 *   counter 12 COUNTER_H_READY       its first word in a counter set
 *   barrier 0 BARRIER_ROUTED         between ranks
 *   wait 234 compute_mma down        a line of kernel.cu: the worker that waits there, in which task
 *
 * A package without them has records with numbers. */
#ifndef MOK_NAMES_H
#define MOK_NAMES_H

#include <stdint.h>

#include "../templates/mok_fault.h"
#include "package/manifest.h"

/* One string of all such lines, from malloc; NULL if there are none. Other forms than the above are MOK_ERR_IO. */
MOK_MUST_USE mok_status mok_names_read(const mok_manifest *manifest, char **out);

/* The names of a record, as far as `lines` has them; they live in *out. Long ones are cut. */
typedef struct mok_record_names {
  char counter[64], worker[64], task[64];
  mok_fault_names fault;
} mok_record_names;
void mok_names_find(const char *lines, const uint32_t *record, mok_record_names *out);

#endif
