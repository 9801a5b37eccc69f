#include "reference.h"

#include <math.h>
#include <string.h>

static double from_bf16(uint16_t bits) {
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return (double)value;
}

/* Nearest bf16, ties to even, straight from the double: bf16 keeps 8 significant bits. */
static double round_bf16(double value) {
  if (value == 0 || !isfinite(value)) return value;
  int exponent;
  const double fraction = frexp(value, &exponent);              /* 0.5 <= |fraction| < 1 */
  const int bits = exponent < -125 ? 8 - (-125 - exponent) : 8; /* fewer for a subnormal */
  return ldexp(nearbyint(ldexp(fraction, bits)), exponent - bits);
}

/* Eight partial sums, so that the compiler may use vectors. */
static double dot(const uint16_t *row, const double *x, int64_t n) {
  double sum[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j) sum[j] += from_bf16(row[i + j]) * x[i + j];
  for (; i < n; ++i) sum[0] += from_bf16(row[i]) * x[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static double activate(const mok_reference_layer *layer, double gate, double up) {
  if (layer->has_clamp) {
    gate = fmin(gate, layer->clamp);
    up = fmax(fmin(up, layer->clamp), -layer->clamp);
  }
  return mok_reference_activate(layer->activation, gate, up);
}

/* out += weight * mlp(x); h holds `intermediate` doubles. */
static void add_mlp(const mok_reference_layer *layer, const mok_reference_mlp *mlp, int64_t expert, const double *x,
                    double weight, double *h, double *out) {
  const int64_t H = layer->hidden, I = mlp->intermediate;
  for (int64_t i = 0; i < I; ++i) {
    const int64_t row = (expert * I + i) * H;
    const double gate = mlp->gate ? dot(mlp->gate + row, x, H) : 0;
    h[i] = round_bf16(activate(layer, gate, dot(mlp->up + row, x, H)));
  }
  for (int64_t c = 0; c < H; ++c) out[c] += weight * round_bf16(dot(mlp->down + (expert * H + c) * I, h, I));
}

int64_t mok_reference_scratch(const mok_reference_layer *layer) {
  const int64_t routed = layer->routed.intermediate, shared = layer->shared.intermediate;
  return layer->hidden + (routed > shared ? routed : shared);
}

void mok_reference_token(const mok_reference_layer *layer, const uint16_t *x, const int32_t *ids, const float *weights,
                         double *scratch, double *out) {
  double *input = scratch, *h = scratch + layer->hidden;
  for (int64_t c = 0; c < layer->hidden; ++c) {
    input[c] = from_bf16(x[c]);
    out[c] = 0;
  }
  if (layer->shared.intermediate > 0) add_mlp(layer, &layer->shared, 0, input, 1, h, out);
  for (int64_t j = 0; j < layer->top_k; ++j)
    if (ids[j] >= 0 && ids[j] < layer->experts) add_mlp(layer, &layer->routed, ids[j], input, (double)weights[j], h, out);
  for (int64_t c = 0; c < layer->hidden; ++c) out[c] = round_bf16(out[c]);
}
