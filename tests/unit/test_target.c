/* compiler/target: rows, device names, wire curves. */
#include <string.h>

#include "../../compiler/target/target.h"
#include "../support/support.h"

START_TEST(every_row_is_complete) {
  for (size_t i = 0; i < mok_gpu_count; ++i) {
    const mok_gpu *g = &mok_gpus[i];
    ck_assert_ptr_eq(mok_gpu_find(g->name), g);
    ck_assert_msg(mok_target_find(g->arch) != NULL, "%s names the unknown target %s", g->name, g->arch);
    ck_assert_msg(g->sms > 1 && g->shared_bytes_per_block >= 100 * 1024 && g->registers_per_sm == 65536, "%s", g->name);
    ck_assert_msg(g->l2_bytes > 0 && g->memory_bytes > g->l2_bytes, "%s", g->name);
    ck_assert_msg(g->bf16_tflops > 0 && g->fp8_tflops >= g->bf16_tflops, "%s", g->name);
    ck_assert_msg(g->memory_gbs > 0 && g->l2_gbs > g->memory_gbs && g->link_gbs > 0, "%s", g->name);
    ck_assert_msg(g->launch_us > 0 && g->grid_barrier_us > 0 && g->flag_round_trip_us > 0, "%s", g->name);
    ck_assert_msg(g->pull.count > 0 && g->push.count > 0 && g->pull.limit_gbs > 0, "%s", g->name);
    ck_assert_msg(g->source && *g->source, "%s has no source", g->name);
  }
  static const char *const names[] = {"H100", "H200", "H20", "B200", "GB200", "B300", "GB300", "host"};
  ck_assert_uint_eq(mok_gpu_count, sizeof names / sizeof names[0]);
  for (size_t i = 0; i < mok_gpu_count; ++i) ck_assert_ptr_nonnull(mok_gpu_find(names[i]));
  ck_assert_ptr_null(mok_gpu_find("h200"));
}
END_TEST

START_TEST(device_names_find_the_longest_product) {
  static const struct {
    const char *device, *row;
  } cases[] = {{"NVIDIA H200", "H200"},           {"NVIDIA H20", "H20"},           {"NVIDIA H20-3e", "H20"},
               {"NVIDIA H100 80GB HBM3", "H100"}, {"NVIDIA GB300", "GB300"},       {"NVIDIA B200", "B200"},
               {"NVIDIA H100 PCIe", NULL},        {"NVIDIA A100-SXM4-80GB", NULL}, {"", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const mok_gpu *row = mok_gpu_of_product(cases[i].device);
    ck_assert_msg(row ? cases[i].row && strcmp(row->name, cases[i].row) == 0 : !cases[i].row, "\"%s\" gives %s", cases[i].device,
                  row ? row->name : "nothing");
  }
}
END_TEST

static bool near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

START_TEST(measured_points_are_met) {
  for (size_t g = 0; g < mok_gpu_count; ++g) {
    const mok_wire_curve *curves[] = {&mok_gpus[g].pull, &mok_gpus[g].push};
    for (size_t c = 0; c < 2; ++c) {
      for (size_t i = 0; i < curves[c]->count; ++i) {
        const mok_wire_point *p = &curves[c]->points[i];
        const double got = mok_wire_gbs(curves[c], p->piece_bytes, p->issuers, p->sms);
        ck_assert_msg(near(got, p->gbs), "%s: %g instead of %g", mok_gpus[g].name, got, p->gbs);
      }
    }
  }
}
END_TEST

START_TEST(between_points_it_is_linear) {
  const mok_wire_curve *pull = &mok_gpu_find("H200")->pull;
  ck_assert(near(mok_wire_gbs(pull, 2048, 8, 6), (105.0 + 205.0) / 2));            /* SMs */
  ck_assert(near(mok_wire_gbs(pull, 2048, 6, 4), (55.0 + 105.0) / 2));             /* issuers */
  ck_assert(near(mok_wire_gbs(pull, 1280, 16, 4), (50.0 + 188.0) / 2));            /* bytes */
  ck_assert(near(mok_wire_gbs(pull, 256, 16, 4), 25.0));                           /* below the smallest piece */
  ck_assert(near(mok_wire_gbs(pull, 2048, 2, 4), mok_wire_gbs(pull, 2048, 4, 2))); /* fewer issuers count as fewer SMs */
  ck_assert(near(mok_wire_gbs(pull, 65536, 1, 8), 294.0));                         /* above the largest piece */
  ck_assert(near(mok_wire_gbs(pull, 512, 1, 24), 15.0 + 7.0));                     /* beyond the last SM count */
}
END_TEST

START_TEST(limits_hold_and_nothing_moves_nothing) {
  for (size_t g = 0; g < mok_gpu_count; ++g) {
    const mok_wire_curve *c = &mok_gpus[g].push;
    ck_assert(mok_wire_gbs(c, 0, 8, 8) == 0.0 && mok_wire_gbs(c, 4096, 0, 8) == 0.0 && mok_wire_gbs(c, 4096, 8, 0) == 0.0);
    for (int64_t piece = 16; piece <= 1 << 20; piece *= 2) {
      for (int issuers = 1; issuers <= 32; ++issuers) {
        double before = 0;
        for (int sms = 1; sms <= 160; ++sms) {
          const double now = mok_wire_gbs(c, piece, issuers, sms);
          ck_assert_msg(now >= before - 1e-9 && now <= c->limit_gbs, "%s: %d bytes, %d issuers, %d SMs: %g after %g",
                        mok_gpus[g].name, (int)piece, issuers, sms, now, before);
          before = now;
        }
      }
    }
  }
}
END_TEST

START_TEST(targets) {
  ck_assert_str_eq(mok_target_find("sm_90a")->templates, "sm90");
  ck_assert(mok_target_find("host")->native && !mok_target_find("sm_100a")->native);
  ck_assert_ptr_null(mok_target_find("sm_103a")->templates);
  ck_assert_ptr_null(mok_target_find("sm_80"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("target");
  TCase *t = tcase_create("target");
  tcase_add_test(t, every_row_is_complete);
  tcase_add_test(t, device_names_find_the_longest_product);
  tcase_add_test(t, measured_points_are_met);
  tcase_add_test(t, between_points_it_is_linear);
  tcase_add_test(t, limits_hold_and_nothing_moves_nothing);
  tcase_add_test(t, targets);
  suite_add_tcase(suite, t);
  return mok_suite_main(suite);
}
