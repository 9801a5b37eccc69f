/* runtime/cuda/tensor_map: recipes of the manifest, and what they ask of the driver. */
#include <string.h>

#include "../../runtime/cuda/tensor_map.h"
#include "../support/support.h"

/* What the driver was asked for last. */
static struct {
  int calls;
  unsigned dimensions, box[3];
  const void *base;
  uint64_t sizes[3], strides[2];
  int swizzle, promotion;
} asked;

static int encode_tiled(void *map, int type, unsigned dimensions, const void *base, const uint64_t *sizes,
                        const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle,
                        int promotion, int fill) {
  ck_assert_uint_eq((uintptr_t)map % 64, 0);
  ck_assert_int_eq(type, 9); /* CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 */
  ck_assert(interleave == 0 && fill == 0 && steps[0] == 1 && steps[1] == 1);
  asked.calls++;
  asked.dimensions = dimensions;
  asked.base = base;
  asked.swizzle = swizzle;
  asked.promotion = promotion;
  memcpy(asked.sizes, sizes, dimensions * sizeof *sizes);
  memcpy(asked.box, box, dimensions * sizeof *box);
  memcpy(asked.strides, strides, (dimensions - 1) * sizeof *strides);
  memset(map, asked.calls, sizeof(mok_tensor_map));
  return MOK_CU_SUCCESS;
}

static const mok_cuda cuda = {.cuTensorMapEncodeTiled = encode_tiled};

static mok_status read_line(const char *line, mok_map_recipes *out) {
  static mok_manifest_line lines[2];
  lines[0] = (mok_manifest_line){"region", "local ring_x 4096 1048576"};
  lines[1] = (mok_manifest_line){"map", line};
  const mok_manifest manifest = {.lines = lines, .line_count = 2};
  return mok_map_recipes_read(&manifest, 3, 37, out);
}

static char memory[64];

START_TEST(region) {
  mok_map_recipes recipes;
  mok_assert_ok(read_line("up.ring_x bf16 local ring_x 512 1024 box 128 64 swizzle 128 promotion 256", &recipes));
  ck_assert_int_eq(recipes.count, 1);
  mok_rank_args args = {.local = memory};
  mok_assert_ok(mok_map_recipes_encode(&cuda, &recipes, &args));
  ck_assert_uint_eq(asked.dimensions, 2);
  ck_assert_ptr_eq(asked.base, memory + 4096);
  ck_assert(asked.sizes[0] == 1024 && asked.sizes[1] == 512 && asked.strides[0] == 2048);
  ck_assert(asked.box[0] == 64 && asked.box[1] == 128 && asked.swizzle == 3 && asked.promotion == 3);
  ck_assert_uint_eq(args.maps[0].words[0] & 0xff, (unsigned)asked.calls);
}
END_TEST

START_TEST(weight) {
  mok_map_recipes recipes;
  mok_assert_ok(read_line("down.down bf16 weight down 2888 1224 box 224 64 swizzle 128 promotion 256", &recipes));
  mok_rank_args args = {.down = {memory, 5000000, 1232}, .rank = 2};
  mok_assert_ok(mok_map_recipes_encode(&cuda, &recipes, &args));
  ck_assert_uint_eq(asked.dimensions, 3);
  ck_assert_ptr_eq(asked.base, memory);
  ck_assert(asked.sizes[0] == 1224 && asked.sizes[1] == 2888 && asked.sizes[2] == 13); /* experts 24 .. 36 of 37 on rank 2 of 3 */
  ck_assert(asked.strides[0] == 2464 && asked.strides[1] == 10000000);
  ck_assert(asked.box[0] == 64 && asked.box[1] == 224 && asked.box[2] == 1);

  mok_assert_ok(read_line("shared_up.shared_gate bf16 weight shared_gate 1224 2888 box 96 64 swizzle 64 promotion 0", &recipes));
  args.shared_gate = (mok_weight){memory, 0, 2888};
  mok_assert_ok(mok_map_recipes_encode(&cuda, &recipes, &args));
  ck_assert(asked.sizes[2] == 1 && asked.swizzle == 2 && asked.promotion == 0);
}
END_TEST

START_TEST(tokens_bound_the_rows) {
  mok_map_recipes recipes;
  mok_assert_ok(read_line("shared_up.x bf16 tokens x 2888 box 128 64 swizzle 128 promotion 256", &recipes));
  mok_rank_args args = {.x = memory, .tokens = 77};
  mok_assert_ok(mok_map_recipes_encode(&cuda, &recipes, &args));
  ck_assert(asked.dimensions == 2 && asked.base == memory && asked.sizes[1] == 77 && asked.strides[0] == 5776);
}
END_TEST

START_TEST(nothing_there) {
  mok_map_recipes recipes;
  const int calls = asked.calls;
  mok_assert_ok(read_line("shared_up.x bf16 tokens x 2888 box 128 64 swizzle 128 promotion 256", &recipes));
  mok_rank_args args = {.x = memory, .tokens = 0};
  memset(args.maps, 0xff, sizeof args.maps);
  mok_assert_ok(mok_map_recipes_encode(&cuda, &recipes, &args));
  ck_assert_uint_eq(args.maps[0].words[0], 0);
  mok_assert_ok(read_line("up.up bf16 weight up 64 64 box 8 64 swizzle 128 promotion 256", &recipes));
  mok_assert_ok(mok_map_recipes_encode(&cuda, &recipes, &args));
  ck_assert_int_eq(asked.calls, calls);
}
END_TEST

START_TEST(no_recipes) {
  static const char *const lines[] = {
      "up.x",
      "up.x f16 tokens x 64 box 64 64 swizzle 128 promotion 256",
      "up.x bf16 tokens y 64 box 64 64 swizzle 128 promotion 256",
      "up.x bf16 weight x 64 64 box 64 64 swizzle 128 promotion 256",
      "up.x bf16 tokens x 63 box 64 64 swizzle 128 promotion 256",
      "up.x bf16 tokens x 64 box 257 64 swizzle 128 promotion 256",
      "up.x bf16 tokens x 64 box 64 0 swizzle 128 promotion 256",
      "up.x bf16 tokens x 64 box 64 64 swizzle 127 promotion 256",
      "up.x bf16 tokens x 64 box 64 64 swizzle 128 promotion",
      "up.x bf16 tokens x 64 box 64 64 swizzle 128 promotion 256 more",
      "up.x bf16 local ring_y 64 64 box 64 64 swizzle 128 promotion 256",
      "up.x bf16 local ring_x 513 1024 box 64 64 swizzle 128 promotion 256", /* more than the region has */
      "up.x bf16 local ring_x 99999999999999999999 64 box 64 64 swizzle 128 promotion 256",
      "up.x bf16 local ring_x -1 64 box 64 64 swizzle 128 promotion 256",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    mok_map_recipes recipes;
    mok_assert_error(read_line(lines[i], &recipes), MOK_ERR_IO, "no recipe of a tensor map");
  }
}
END_TEST

START_TEST(too_many) {
  mok_manifest_line lines[MOK_MAX_MAPS + 1];
  for (size_t i = 0; i <= MOK_MAX_MAPS; i++)
    lines[i] = (mok_manifest_line){"map", "up.x bf16 tokens x 64 box 64 64 swizzle 128 promotion 256"};
  const mok_manifest manifest = {.lines = lines, .line_count = MOK_MAX_MAPS + 1};
  mok_map_recipes recipes;
  mok_assert_error(mok_map_recipes_read(&manifest, 1, 1, &recipes), MOK_ERR_IO, "more than 16 lines 'map'");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tensor_map");
  TCase *c = tcase_create("tensor_map");
  tcase_add_test(c, region);
  tcase_add_test(c, weight);
  tcase_add_test(c, tokens_bound_the_rows);
  tcase_add_test(c, nothing_there);
  tcase_add_test(c, no_recipes);
  tcase_add_test(c, too_many);
  suite_add_tcase(suite, c);
  return mok_suite_main(suite);
}
