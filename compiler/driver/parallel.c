#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "../../runtime/base/file.h"

enum { MAX_THREADS = 64 };

typedef struct pool {
  void (*work)(void *user, int64_t i);
  void *user;
  int64_t count;
  atomic_llong next;
} pool;

static void *run(void *user) {
  pool *p = user;
  while (!mok_interrupt_pending()) {
    const int64_t i = atomic_fetch_add(&p->next, 1);
    if (i >= p->count) break;
    p->work(p->user, i);
  }
  return NULL;
}

mok_status mok_parallel(int64_t count, void (*work)(void *user, int64_t i), void *user) {
  pool p = {.work = work, .user = user, .count = count};
  pthread_t threads[MAX_THREADS];
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t wanted = cores < MAX_THREADS ? cores : MAX_THREADS;
  if (wanted > count) wanted = count;
  int started = 0;
  while (started + 1 < wanted && pthread_create(&threads[started], NULL, run, &p) == 0) ++started;
  run(&p); /* this thread too: it finishes the work even if no other could be started */
  for (int i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  return mok_interrupt_check();
}
