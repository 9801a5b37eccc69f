/* The reference layer against values worked out by hand, and the input generator against its promise. */
#include "../../tests/reference/reference.h"

#include <math.h>
#include <string.h>

#include "../support/support.h"
#include "random.h"

enum { H = 8, I = 8, E = 2, K = 2 };

/* bf16 bits of numbers that bf16 holds exactly. */
#define ZERO 0x0000
#define ONE 0x3f80
#define TWO 0x4000
#define HALF 0x3f00
#define MINUS_ONE 0xbf80

static uint16_t gate[E * I * H], up[E * I * H], down[E * H * I];
static double scratch[H + 16], out[H];

/* Every expert: gate and up the identity times g and u, down the identity. */
static mok_reference_layer layer_with(mok_reference_activation activation, uint16_t g, uint16_t u) {
  memset(gate, 0, sizeof gate);
  memset(up, 0, sizeof up);
  memset(down, 0, sizeof down);
  for (int e = 0; e < E; ++e)
    for (int i = 0; i < I; ++i) {
      gate[(e * I + i) * H + i] = g;
      up[(e * I + i) * H + i] = u;
      down[(e * H + i) * I + i] = ONE;
    }
  return (mok_reference_layer){.hidden = H, .experts = E, .top_k = K, .activation = activation, .routed = {gate, up, down, I}};
}

static void run(const mok_reference_layer *layer, uint16_t x, int32_t id0, int32_t id1, float w0, float w1) {
  uint16_t row[H];
  for (int c = 0; c < H; ++c) row[c] = x;
  const int32_t ids[K] = {id0, id1};
  const float weights[K] = {w0, w1};
  ck_assert_int_le(mok_reference_scratch(layer), (int64_t)(sizeof scratch / sizeof scratch[0]));
  mok_reference_token(layer, row, ids, weights, scratch, out);
  for (int c = 1; c < H; ++c) ck_assert_double_eq(out[c], out[0]);
}

START_TEST(swiglu_of_one) {
  const mok_reference_layer layer = layer_with(MOK_REFERENCE_swiglu, ONE, TWO);
  /* silu(1) * 2 = 2 / (1 + 1/e) = 1.4621172 -> bf16 1.4609375 (187 / 128) */
  run(&layer, ONE, 0, -1, 1.0f, 5.0f);
  ck_assert_double_eq(out[0], 1.4609375);
  /* two routes of a token to one expert count twice: 0.5 * h + 0.25 * h = 1.095703125 -> 1.09375 */
  run(&layer, ONE, 1, 1, 0.5f, 0.25f);
  ck_assert_double_eq(out[0], 1.09375);
}
END_TEST

START_TEST(geglu_of_one) {
  const mok_reference_layer layer = layer_with(MOK_REFERENCE_geglu, ONE, ONE);
  run(&layer, ONE, 0, -1, 1.0f, 0.0f); /* gelu(1) = 0.8413447 -> 0.83984375 (215 / 256) */
  ck_assert_double_eq(out[0], 0.83984375);
}
END_TEST

START_TEST(relu2_has_no_gate) {
  mok_reference_layer layer = layer_with(MOK_REFERENCE_relu2, ZERO, TWO);
  layer.routed.gate = NULL;
  run(&layer, ONE, 0, -1, 1.0f, 0.0f);
  ck_assert_double_eq(out[0], 4);
  run(&layer, MINUS_ONE, 0, -1, 1.0f, 0.0f);
  ck_assert_double_eq(out[0], 0);
}
END_TEST

START_TEST(clamp_limits_gate_above_and_up_on_both_sides) {
  mok_reference_layer layer = layer_with(MOK_REFERENCE_swiglu, TWO, TWO);
  layer.has_clamp = true;
  layer.clamp = 1;
  run(&layer, ONE, 0, -1, 1.0f, 0.0f); /* silu(1) * 1 = 0.7310586 -> 0.73046875 */
  ck_assert_double_eq(out[0], 0.73046875);
  run(&layer, MINUS_ONE, 0, -1, 1.0f, 0.0f); /* the gate stays -2: silu(-2) * -1 = 0.2384058 -> 0.23828125 */
  ck_assert_double_eq(out[0], 0.23828125);
}
END_TEST

START_TEST(ids_that_name_no_expert_are_no_route) {
  const mok_reference_layer layer = layer_with(MOK_REFERENCE_swiglu, ONE, ONE);
  run(&layer, ONE, -1, E, 1.0f, 1.0f);
  ck_assert_double_eq(out[0], 0);
  run(&layer, ONE, INT32_MIN, INT32_MAX, 1.0f, 1.0f);
  ck_assert_double_eq(out[0], 0);
}
END_TEST

START_TEST(shared_expert_is_added_with_weight_one) {
  mok_reference_layer layer = layer_with(MOK_REFERENCE_relu2, ZERO, ONE);
  layer.routed.gate = NULL;
  layer.shared = (mok_reference_mlp){NULL, up, down, I};
  run(&layer, TWO, -1, -1, 1.0f, 1.0f);
  ck_assert_double_eq(out[0], 4);
  run(&layer, TWO, 1, -1, -0.5f, 1.0f); /* 4 - 0.5 * 4 */
  ck_assert_double_eq(out[0], 2);
}
END_TEST

START_TEST(experts_have_their_own_weights) {
  mok_reference_layer layer = layer_with(MOK_REFERENCE_relu2, ZERO, ONE);
  layer.routed.gate = NULL;
  for (int i = 0; i < I; ++i) down[(H + i) * I + i] = HALF; /* of expert 1 */
  run(&layer, TWO, 0, 1, 1.0f, 1.0f);
  ck_assert_double_eq(out[0], 6);
}
END_TEST

START_TEST(products_are_rows_times_columns) {
  mok_reference_layer layer = layer_with(MOK_REFERENCE_relu2, ZERO, ZERO);
  layer.routed.gate = NULL;
  memset(down, 0, sizeof down);
  up[3 * H + 5] = ONE;   /* h[3] = relu(x[5])^2 */
  down[6 * I + 3] = TWO; /* out[6] = 2 h[3] */
  uint16_t x[H] = {0};
  x[5] = TWO;
  const int32_t ids[K] = {0, -1};
  const float weights[K] = {1, 1};
  mok_reference_token(&layer, x, ids, weights, scratch, out);
  for (int c = 0; c < H; ++c) ck_assert_double_eq(out[c], c == 6 ? 8 : 0);
}
END_TEST

/* Ties go to even, as in hardware. */
START_TEST(rounding_points) {
  mok_reference_layer layer = layer_with(MOK_REFERENCE_relu2, ZERO, ONE);
  layer.routed.gate = NULL;
  layer.shared = (mok_reference_mlp){NULL, up, down, I};
  run(&layer, ONE, 0, -1, 0.00390625f, 0); /* 1 + 2^-8: half way between 1 and 1 + 2^-7 */
  ck_assert_double_eq(out[0], 1);
  run(&layer, ONE, 0, -1, 0.01171875f, 0); /* 1 + 3 * 2^-8: half way to 1 + 2^-6 */
  ck_assert_double_eq(out[0], 1.015625);
}
END_TEST

/* The bits are part of the record of every run: they must not change by accident. */
START_TEST(generator_is_fixed) {
  const mok_random_u64 key = mok_random_key(1, MOK_STREAM_X);
  mok_random_u64 mixed = 0;
  for (mok_random_u64 i = 0; i < 1000; ++i) mixed = mok_random_mix(mixed ^ mok_random_bits(key, i));
  ck_assert_uint_eq(mixed, 0x7c3fee37bfe241d4ull);
}
END_TEST

START_TEST(normal_numbers_are_normal) {
  enum { N = 200000 };
  const mok_random_u64 key = mok_random_key(7, MOK_STREAM_UP);
  double sum = 0, square = 0, cube = 0;
  int beyond_two = 0;
  for (int i = 0; i < N; ++i) {
    const double v = (double)mok_random_normal(mok_random_bits(key, (mok_random_u64)i), mok_random_scale(1));
    sum += v;
    square += v * v;
    cube += v * v * v;
    beyond_two += fabs(v) > 2;
  }
  ck_assert_double_lt(fabs(sum / N), 0.01);
  ck_assert_double_lt(fabs(square / N - 1), 0.01);
  ck_assert_double_lt(fabs(cube / N), 0.02);
  ck_assert_double_lt(fabs((double)beyond_two / N - 0.0437), 0.005);
}
END_TEST

START_TEST(bf16_rounding) {
  ck_assert_uint_eq(mok_random_bf16(1.0f), ONE);
  ck_assert_uint_eq(mok_random_bf16(1.00390625f), 0x3f80); /* tie, down to even */
  ck_assert_uint_eq(mok_random_bf16(1.01171875f), 0x3f82); /* tie, up to even */
  ck_assert_uint_eq(mok_random_bf16(1.003907f), 0x3f81);   /* above the tie */
  ck_assert_uint_eq(mok_random_bf16(-1.0f), MINUS_ONE);
  ck_assert_uint_eq(mok_random_bf16(0.0f), ZERO);
}
END_TEST

START_TEST(below_covers_its_range) {
  int seen[7] = {0};
  for (mok_random_u64 i = 0; i < 700; ++i) seen[mok_random_below(3, i, 7)] += 1;
  for (int i = 0; i < 7; ++i) ck_assert_int_gt(seen[i], 60);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reference");
  TCase *layer = tcase_create("layer");
  tcase_add_test(layer, swiglu_of_one);
  tcase_add_test(layer, geglu_of_one);
  tcase_add_test(layer, relu2_has_no_gate);
  tcase_add_test(layer, clamp_limits_gate_above_and_up_on_both_sides);
  tcase_add_test(layer, ids_that_name_no_expert_are_no_route);
  tcase_add_test(layer, shared_expert_is_added_with_weight_one);
  tcase_add_test(layer, experts_have_their_own_weights);
  tcase_add_test(layer, products_are_rows_times_columns);
  tcase_add_test(layer, rounding_points);
  suite_add_tcase(suite, layer);
  TCase *random = tcase_create("random");
  tcase_add_test(random, generator_is_fixed);
  tcase_add_test(random, normal_numbers_are_normal);
  tcase_add_test(random, bf16_rounding);
  tcase_add_test(random, below_covers_its_range);
  suite_add_tcase(suite, random);
  return mok_suite_main(suite);
}
