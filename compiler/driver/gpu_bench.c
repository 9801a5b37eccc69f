#include "gpu_bench.h"

#include <stdlib.h>

#include "../../runtime/base/file.h"
#include "cublas.h"

enum { BLOCK = 10, MOST_CALLS = 100000 };

/* One call of what is timed, enqueued on the stream of each device that takes part. */
typedef struct body {
  mok_status (*enqueue)(mok_gpu_run *run, void *user);
  void *user;
  int devices;
} body;

typedef struct meter {
  mok_gpu_run *run;
  const body *what;
  mok_cu_event (*events)[BLOCK + 1]; /* [devices] */
} meter;

static mok_status record(const meter *m, int i) {
  for (int d = 0; d < m->what->devices; ++d) {
    const mok_kernel *kernel = m->run->kernels[d];
    MOK_TRY(mok_kernel_enter(kernel));
    mok_status status =
        mok_cuda_status(&kernel->cuda, kernel->cuda.cuEventRecord(m->events[d][i], m->run->streams[d]), "cuEventRecord");
    mok_kernel_leave(kernel);
    MOK_TRY(status);
  }
  return MOK_OK;
}

static mok_status read_device(const meter *m, int d, int count, double *us) {
  const mok_cuda *cuda = &m->run->kernels[d]->cuda;
  MOK_CU_TRY(cuda, cuStreamSynchronize(m->run->streams[d]));
  for (int i = 0; i < count; ++i) {
    float milliseconds = 0;
    MOK_CU_TRY(cuda, cuEventElapsedTime(&milliseconds, m->events[d][i], m->events[d][i + 1]));
    if (d == 0 || (double)milliseconds * 1e3 > us[i]) us[i] = (double)milliseconds * 1e3;
  }
  return MOK_OK;
}

/* At most BLOCK calls. */
static mok_status run_block(const meter *m, int count, double *us) {
  MOK_TRY(record(m, 0));
  for (int i = 0; i < count; ++i) {
    MOK_TRY(m->what->enqueue(m->run, m->what->user));
    MOK_TRY(record(m, i + 1));
  }
  for (int d = 0; d < m->what->devices; ++d) {
    MOK_TRY(mok_kernel_enter(m->run->kernels[d]));
    mok_status status = read_device(m, d, count, us);
    mok_kernel_leave(m->run->kernels[d]);
    MOK_TRY(status);
  }
  for (int d = 0; d < m->run->devices; ++d) {
    mok_input_errors errors = {.struct_size = sizeof errors};
    MOK_TRY(mok_check(m->run->workspaces[d], &errors)); /* wrong ids may be meant: --routing file:F */
  }
  return mok_interrupt_check();
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static mok_status run_blocks(const meter *m, const mok_bench_length *length, double *us, size_t *count) {
  const int64_t warm_end = mok_session_clock_us() + length->warm_us;
  do {
    MOK_TRY(run_block(m, BLOCK, us));
  } while (mok_session_clock_us() < warm_end);
  const int64_t end = mok_session_clock_us() + length->measure_us;
  const size_t most = length->calls ? (size_t)length->calls : MOST_CALLS;
  *count = 0;
  while (*count < most && (length->calls || *count == 0 || mok_session_clock_us() < end)) {
    const int block = most - *count < BLOCK ? (int)(most - *count) : BLOCK;
    MOK_TRY(run_block(m, block, us + *count));
    *count += (size_t)block;
  }
  return MOK_OK;
}

static mok_status create_events(meter *m) {
  for (int d = 0; d < m->what->devices; ++d) {
    const mok_kernel *kernel = m->run->kernels[d];
    MOK_TRY(mok_kernel_enter(kernel));
    mok_status status = MOK_OK;
    for (int i = 0; i <= BLOCK && !status; ++i)
      status = mok_cuda_status(&kernel->cuda, kernel->cuda.cuEventCreate(&m->events[d][i], 0), "cuEventCreate");
    mok_kernel_leave(kernel);
    MOK_TRY(status);
  }
  return MOK_OK;
}

static void destroy_events(meter *m) {
  for (int d = 0; d < m->what->devices; ++d) {
    const mok_kernel *kernel = m->run->kernels[d];
    mok_status status = mok_kernel_enter(kernel);
    if (status) {
      mok_status_free(status);
      continue;
    }
    for (int i = 0; i <= BLOCK; ++i)
      if (m->events[d][i]) kernel->cuda.cuEventDestroy(m->events[d][i]);
    mok_kernel_leave(kernel);
  }
}

static mok_status measure(mok_gpu_run *run, const body *what, const mok_bench_length *length, mok_times *out) {
  mok_arena *arena = run->session->arena;
  meter m = {.run = run, .what = what, .events = mok_arena_array(arena, (size_t)what->devices, sizeof *m.events)};
  double *us = MOK_NEW_ARRAY(arena, (length->calls ? (size_t)length->calls : MOST_CALLS) + BLOCK, double);
  size_t count = 0;
  mok_status status = create_events(&m);
  if (!status) status = run_blocks(&m, length, us, &count);
  destroy_events(&m);
  MOK_TRY(status);
  qsort(us, count, sizeof us[0], by_value);
  *out = (mok_times){.count = count,
                     .least = us[0],
                     .lower_quartile = us[count / 4],
                     .median = us[count / 2],
                     .upper_quartile = us[count - 1 - count / 4]};
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ the layer */

static mok_status enqueue_layer(mok_gpu_run *run, void *user) {
  const mok_forward_args *args = user;
  for (int d = 0; d < run->devices; ++d) MOK_TRY(mok_forward(run->workspaces[d], &args[d], &run->launch, run->streams[d]));
  return MOK_OK;
}

mok_status mok_bench_layer(mok_gpu_run *run, const mok_bench_length *length, mok_times *out) {
  const size_t ranks = (size_t)run->model->gpus;
  mok_forward_args *args = MOK_NEW_ARRAY(run->session->arena, ranks, mok_forward_args);
  for (size_t r = 0; r < ranks; ++r) args[r] = run->ranks[r].args;
  const body layer = {enqueue_layer, args, run->devices};
  return measure(run, &layer, length, out);
}

/* ------------------------------------------------------------------------------------------------ what bounds it */

enum { CUBE = 8192 };
static const size_t copy_size = (size_t)256 << 20; /* several times the L2 */
static const mok_bench_length ceiling_length = {.warm_us = 500000, .measure_us = 1000000};

typedef struct copy {
  mok_cu_pointer to, from;
} copy;

static mok_status enqueue_copy(mok_gpu_run *run, void *user) {
  const copy *c = user;
  const mok_kernel *kernel = run->kernels[0];
  MOK_TRY(mok_kernel_enter(kernel));
  mok_status status = mok_cuda_status(&kernel->cuda, kernel->cuda.cuMemcpyDtoDAsync(c->to, c->from, copy_size, run->streams[0]),
                                      "cuMemcpyDtoDAsync");
  mok_kernel_leave(kernel);
  return status;
}

typedef struct product {
  const mok_cublas *library;
  mok_cu_pointer a, b, c;
} product;

static mok_status enqueue_product(mok_gpu_run *run, void *user) {
  const product *p = user;
  MOK_TRY(mok_kernel_enter(run->kernels[0]));
  mok_status status = mok_cublas_product(p->library, p->c, p->a, p->b, CUBE);
  mok_kernel_leave(run->kernels[0]);
  return status;
}

static mok_status make_ceilings(mok_gpu_run *run, mok_gpu_block **blocks, copy *c, product *p) {
  const size_t matrix = (size_t)CUBE * CUBE * sizeof(uint16_t);
  const mok_kernel *kernel = run->kernels[0];
  mok_session *session = run->session;
  MOK_TRY(mok_gpu_alloc(session, kernel, blocks, copy_size, "the copy's source", &c->from));
  MOK_TRY(mok_gpu_alloc(session, kernel, blocks, copy_size, "the copy's destination", &c->to));
  if (!p->library) return MOK_OK;
  MOK_TRY(mok_gpu_alloc(session, kernel, blocks, matrix, "the product's left side", &p->a));
  MOK_TRY(mok_gpu_alloc(session, kernel, blocks, matrix, "the product's right side", &p->b));
  MOK_TRY(mok_gpu_alloc(session, kernel, blocks, matrix, "the product", &p->c));
  /* Zeros would be multiplied faster. */
  MOK_TRY(mok_gpu_fill(run, 0, p->a, 1, 0, (uint64_t)CUBE * CUBE, mok_weight_scale(1)));
  return mok_gpu_fill(run, 0, p->b, 2, 0, (uint64_t)CUBE * CUBE, mok_weight_scale(CUBE));
}

static mok_status measure_ceilings(mok_gpu_run *run, copy *c, product *p, mok_roofline *out) {
  mok_times times;
  if (p->library) {
    const body one = {enqueue_product, p, 1};
    MOK_TRY(measure(run, &one, &ceiling_length, &times));
    out->product_flops = 2.0 * CUBE * CUBE * CUBE / (times.median * 1e-6);
  }
  const body one = {enqueue_copy, c, 1};
  MOK_TRY(measure(run, &one, &ceiling_length, &times));
  out->copy_bytes = 2.0 * (double)copy_size / (times.median * 1e-6);
  return MOK_OK;
}

/* With the device current. */
static mok_status open_ceilings(mok_gpu_run *run, mok_gpu_block **blocks, copy *c, product *p, mok_cublas *library) {
  MOK_TRY(mok_cublas_open(run->session->arena, run->streams[0], library));
  if (library->path) p->library = library;
  return make_ceilings(run, blocks, c, p);
}

mok_status mok_bench_roofline(mok_gpu_run *run, mok_roofline *out) {
  const mok_kernel *kernel = run->kernels[0];
  mok_gpu_block *blocks = NULL;
  mok_cublas library = {0};
  copy c = {0};
  product p = {0};
  *out = (mok_roofline){0};
  MOK_TRY(mok_kernel_enter(kernel));
  mok_status status = open_ceilings(run, &blocks, &c, &p, &library);
  mok_kernel_leave(kernel);
  if (!status) status = measure_ceilings(run, &c, &p, out);
  if (!status && p.library) out->product_by = library.path;
  mok_status entered = mok_kernel_enter(kernel);
  if (!entered) {
    mok_cublas_close(&library);
    mok_gpu_free(kernel, &blocks);
    mok_kernel_leave(kernel);
  }
  mok_status_free(entered);
  return status;
}
