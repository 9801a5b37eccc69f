/* What the checkers of this folder share: numbers of a kernel's plan, memory where the kernel runs, launches, and what was wrong.
 * A kernel is a folder that images.sh made; it runs on the host target if it has kernel.host.so, else on the first GPU. */
#ifndef MOK_PRIMITIVE_HARNESS_H
#define MOK_PRIMITIVE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../runtime/base/status.h"
#include "../../runtime/cuda/tensor_map.h"

/* Where kernels run. Failures of these calls end the process: nothing that follows would mean anything. */
typedef struct prim prim;
typedef struct prim_machine {
  void (*load)(prim *p);
  void (*unload)(prim *p);
  void *(*allocate)(prim *p, size_t bytes);
  void (*release)(prim *p, void *memory);
  void (*copy_in)(prim *p, void *to, const void *from, size_t bytes);
  void (*copy_out)(prim *p, void *to, const void *from, size_t bytes);
  /* Runs one launch of p->args to its end; p->seed is the schedule's. */
  void (*launch)(prim *p);
  int schedules;  /* worth trying: seeds 0 .. schedules - 1 */
  bool real_time; /* limits of waits are milliseconds */
} prim_machine;
extern const prim_machine prim_host, prim_gpu;

enum { PRIM_MOST_BLOCKS = 1024 };

struct prim {
  const char *folder, *name;
  char family[32];
  const prim_machine *machine;
  void *kernel; /* the machine's */
  char *facts;  /* mok_plan.h and mok_layout.h */

  int rank_count;
  mok_rank_args ranks[MOK_MAX_RANKS]; /* pointers of the machine */
  void *heaps[MOK_MAX_RANKS];
  mok_map_recipes maps; /* of products; encoded for every launch on a GPU */
  mok_args args;        /* but its ranks */
  uint64_t seed;
  bool races;        /* the host target's detector looks on */
  bool may_deadlock; /* this launch is to end in a fault */

  void *blocks[PRIM_MOST_BLOCKS];
  int block_count;
  long long checks;
  int failures;
};

/* 0, or 1 when something was wrong. */
int prim_run(const char *folder);

/* A number of the plan or of the layout; ends the process if there is none. prim_real: of a plan's float, 0 if it has none. */
long long prim_fact(const prim *p, const char *name);
double prim_real(const prim *p, const char *name);

/* Memory of the machine, filled with bytes of `fill`, released when the kernel is done with. */
void *prim_memory(prim *p, size_t bytes, int fill);
void *prim_upload(prim *p, const void *from, size_t bytes);
void prim_write(prim *p, void *to, const void *from, size_t bytes);
void prim_read(prim *p, void *to, const void *from, size_t bytes);
void prim_fill(prim *p, void *to, int fill, size_t bytes);
void *prim_host_memory(size_t bytes, int fill); /* for free() */

/* Workspaces and heaps of all ranks as at their creation, everything but control, counters and flags filled with `fill`. */
void prim_reset(prim *p, int fill);
void *prim_local(const prim *p, int rank, const char *region); /* "RING_X" */
void *prim_heap(const prim *p, int rank, const char *region);

/* One launch of all ranks; ranks[] and args are set but for what the harness knows. Where a plan has no role comm, those CTAs are
 * of role compute, too. */
void prim_launch(prim *p, int comm_ctas, int compute_ctas);
/* Words of a line of a rank's control region. */
void prim_control(prim *p, int rank, int line, unsigned *words);

/* What is the case when it fails; a few failures are printed. */
bool prim_expect(prim *p, bool holds, const char *format, ...) MOK_PRINTF(3, 4);
/* memcmp of what the machine has at `at` and `expected`, with the place of the first difference in units of `unit` bytes. */
bool prim_expect_bytes(prim *p, const void *at, const void *expected, size_t bytes, size_t unit, const char *format, ...)
    MOK_PRINTF(6, 7);
_Noreturn void prim_die(const char *format, ...) MOK_PRINTF(1, 2);

/* The same numbers everywhere. */
unsigned prim_random(uint64_t *state, unsigned bound);
uint16_t prim_bf16(double value);
double prim_from_bf16(uint16_t bits);

void check_sync(prim *p);
void check_route(prim *p);
void check_move(prim *p);
void check_product(prim *p);
void check_reduce(prim *p);

#endif
