/* Independent pieces of work on all cores. */
#ifndef MOK_DRIVER_PARALLEL_H
#define MOK_DRIVER_PARALLEL_H

#include <stdint.h>

#include "../../runtime/base/status.h"

/* Calls work(user, i) once for each i in 0 .. count-1, in any order and from several threads at once; the result must not depend
 * on either. Polls for interruption between pieces: then MOK_ERR_INTERRUPTED, with pieces left out. */
MOK_MUST_USE mok_status mok_parallel(int64_t count, void (*work)(void *user, int64_t i), void *user);

#endif
