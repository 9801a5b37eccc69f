/* Every row of activations.def in the templates' arithmetic, as kernel.cu has it, against its formula, and the formula against
 * values worked out by hand. */
#include <stdio.h>
#include <string.h>

#include "mok_target.h"

MOK_FN float activate(float gate, float up) { return gate + up; }
static void mok_entry_main(void) {}
static void mok_worker_main(void) {}

#include "activations.h"

struct activation {
  const char *name;
  bool gated;
  float (*value)(float gate, float up);
  mok_reference_activation formula;
};

#define MOK_ACTIVATION(name, gated, value, doc) \
  static float value_of_##name(float gate, float up) { return (void)gate, (void)up, value; }
#include "../../compiler/model/activations.def"
#undef MOK_ACTIVATION

static const activation activations[] = {
#define MOK_ACTIVATION(name, gated, value, doc) {#name, gated, value_of_##name, MOK_REFERENCE_##name},
#include "../../compiler/model/activations.def"
#undef MOK_ACTIVATION
};

struct by_hand {
  mok_reference_activation formula;
  double gate, up, expected;
};

static const by_hand values[] = {
    {MOK_REFERENCE_swiglu, 1, 2, 1.4621171573}, /* 2 / (1 + 1/e) */
    {MOK_REFERENCE_swiglu, -2, 1, -0.2384058440},
    {MOK_REFERENCE_geglu, 1, 3, 2.5240342382}, /* 3 * 0.8413447461, the normal distribution's at 1 */
    {MOK_REFERENCE_geglu, -1, 1, -0.1586552539},
    {MOK_REFERENCE_relu2, 0, 3, 9},
    {MOK_REFERENCE_relu2, 0, -3, 0},
};

static int failures;

static void check_by_hand(const activation &a) {
  int found = 0;
  for (const by_hand &v : values) {
    if (v.formula != a.formula) continue;
    ++found;
    const double got = mok_reference_activate(v.formula, v.gate, v.up);
    if (fabs(got - v.expected) <= 1e-9) continue;
    printf("%s(%g, %g): the formula gives %.10f, by hand %.10f\n", a.name, v.gate, v.up, got, v.expected);
    ++failures;
  }
  if (found > 0) return;
  printf("%s: no value worked out by hand\n", a.name);
  ++failures;
}

static void check_formula(const activation &a) {
  for (double gate = -12; gate <= 12; gate += 0.375)
    for (double up = -6; up <= 6; up += 0.375) {
      const double want = mok_reference_activate(a.formula, a.gated ? gate : 0, up);
      const double got = (double)a.value((float)gate, (float)up);
      if (fabs(got - want) <= 1e-5 * fabs(want) + 1e-6) continue;
      if (++failures < 10) printf("%s(%g, %g): %.8g in the kernel, the formula gives %.8g\n", a.name, gate, up, got, want);
    }
}

/* A kernel must not turn a value that is no number into one. */
static void check_nan(const activation &a) {
  const bool gate = !a.gated || a.value(NAN, 1.0f) != a.value(NAN, 1.0f), up = a.value(1.0f, NAN) != a.value(1.0f, NAN);
  if (gate && up) return;
  printf("%s: loses a NaN of %s\n", a.name, gate ? "up" : "gate");
  ++failures;
}

int main() {
  for (const activation &a : activations) {
    check_by_hand(a);
    check_formula(a);
    check_nan(a);
  }
  printf("%s\n", failures ? "failed" : "passed");
  return failures != 0;
}
