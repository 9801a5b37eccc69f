/* Checks of `mokgen run` on a GPU: inputs made where they are used, and the layer computed the slow way.
 *
 * Plain fp32, activations in double, with one thread per element and no tensor cores, written from the formulas; shares nothing
 * with the templates, or a mistake in them would be checked against itself. Experts are computed one after the other on rows that
 * the host lists. A route is (first token of its rank + token) * top_k + slot, over all ranks.
 */
#define MOK_RANDOM_FN static __device__ inline
#define MOK_REFERENCE_FN static __device__ inline
#include "activations.h"
#include "random.h"

typedef unsigned short bf16;

static __device__ float from_bf16(bf16 bits) { return __uint_as_float((unsigned)bits << 16); }

/* Elements first .. first + count - 1 of a stream of normal numbers. */
extern "C" __global__ void naive_fill(bf16 *out, unsigned long long key, unsigned long long first, unsigned long long count,
                                      float scale) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    out[i] = mok_random_bf16(mok_random_normal(mok_random_bits(key, first + i), scale));
}

/* c[rows, columns] = a b^T, a[rows, depth], b[columns, depth]. With `list`, row i of a is row list[i] / divisor of the array. One
 * block makes 64 x 64 elements, a thread 4 x 4 of them; k from first to last. */
enum { TILE = 64, DEPTH = 16, EACH = 4 };
extern "C" __global__ void __launch_bounds__(256)
    naive_product(float *c, const bf16 *a, const int *list, int divisor, const bf16 *b, int rows, int columns, int depth) {
  __shared__ float left[DEPTH][TILE + 1], right[DEPTH][TILE + 1];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  float sum[EACH][EACH];
#pragma unroll
  for (int i = 0; i < EACH; ++i)
#pragma unroll
    for (int j = 0; j < EACH; ++j) sum[i][j] = 0.0f;
  for (int k = 0; k < depth; k += DEPTH) {
#pragma unroll
    for (int i = threadIdx.x; i < TILE * DEPTH; i += 256) {
      const int line = i / DEPTH, at = i % DEPTH, row = first_row + line, column = first_column + line;
      float l = 0.0f, r = 0.0f;
      if (row < rows && k + at < depth) l = from_bf16(a[(long long)(list ? list[row] / divisor : row) * depth + k + at]);
      if (column < columns && k + at < depth) r = from_bf16(b[(long long)column * depth + k + at]);
      left[at][line] = l;
      right[at][line] = r;
    }
    __syncthreads();
#pragma unroll
    for (int at = 0; at < DEPTH; ++at)
#pragma unroll
      for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) sum[i][j] = fmaf(left[at][y + 16 * i], right[at][x + 16 * j], sum[i][j]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; ++i)
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
      const int row = first_row + y + 16 * i, column = first_column + x + 16 * j;
      if (row < rows && column < columns) c[(long long)row * columns + column] = sum[i][j];
    }
}

/* h = bf16(activation(gate, up)); gate: NULL for an activation without. limit: infinity for none. */
extern "C" __global__ void naive_activate(bf16 *h, const float *gate, const float *up, unsigned long long count, int activation,
                                          float limit) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    float g = gate ? gate[i] : 0.0f, u = up[i];
    if (g > limit) g = limit;
    if (u > limit) u = limit;
    if (u < -limit) u = -limit;
    h[i] = mok_random_bf16((float)mok_reference_activate((mok_reference_activation)activation, g, u));
  }
}

/* y[list[row]] = bf16(c[row]); without list, y[row]. */
extern "C" __global__ void naive_scatter(bf16 *y, const float *c, const int *list, int rows, int columns) {
  const unsigned long long count = (unsigned long long)rows * columns, step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const long long row = (long long)(i / columns);
    y[(list ? list[row] : row) * columns + (long long)(i % columns)] = mok_random_bf16(c[i]);
  }
}

/* out[token] = shared[token] + sum over slots of weight * y, in fp32, rounded once. shared: NULL for a layer without. */
extern "C" __global__ void naive_combine(bf16 *out, const bf16 *y, const bf16 *shared, const int *ids, const float *weights,
                                         int experts, int top_k, int columns, unsigned long long count) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const long long token = (long long)(i / columns), column = (long long)(i % columns);
    float sum = shared ? from_bf16(shared[i]) : 0.0f;
    for (int slot = 0; slot < top_k; ++slot) {
      const long long route = token * top_k + slot;
      if (ids[route] >= 0 && ids[route] < experts) sum += weights[route] * from_bf16(y[route * columns + column]);
    }
    out[i] = mok_random_bf16(sum);
  }
}

/* *differences += number of 16-bit words in which a and b differ. */
extern "C" __global__ void naive_compare(unsigned long long *differences, const bf16 *a, const bf16 *b,
                                         unsigned long long count) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned long long mine = 0;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    mine += a[i] != b[i];
  if (mine) atomicAdd(differences, mine);
}
