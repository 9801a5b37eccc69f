/* The host primitives' arithmetic where the hardware defines every bit. */
#include <stdio.h>

static int failures;

#include "mok_target.h"

MOK_FN float activate(float gate, float up) { return gate + up; }
static void mok_entry_main(void) {}
static void mok_worker_main(void) {}

static float from_bits(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Nearest of the two neighbours, the even one of two equally near; by comparing distances in double. */
static unsigned nearest(unsigned bits) {
  const unsigned low = bits >> 16, high = low + 1;
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;
  if ((bits & 0xFFFFu) == 0) return low;
  const double exact = from_bits(bits), below = from_bits(low << 16);
  /* the neighbour above the largest finite value stands for 2^128 */
  const double above = (high & 0x7FFFu) == 0x7F80u ? ((high & 0x8000u) ? -0x1p128 : 0x1p128) : (double)from_bits(high << 16);
  const double down = fabs(exact - below), up = fabs(above - exact);
  if (down != up) return down < up ? low : high;
  return low & 1u ? high : low;
}

int main() {
  static const unsigned rests[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1234};
  for (unsigned upper = 0; upper < 0x10000u; ++upper)
    for (unsigned i = 0; i < sizeof rests / sizeof rests[0]; ++i) {
      const unsigned bits = upper << 16 | rests[i], got = mok_to_bf16(from_bits(bits)).bits;
      if (got == nearest(bits)) continue;
      if (++failures < 10) printf("bf16(0x%08X) is 0x%04X, not 0x%04X\n", bits, got, nearest(bits));
    }
  float a[64], b[64];
  for (int i = 0; i < 64; ++i) {
    a[i] = (float)(i + 1);
    b[i] = (float)(64 - i);
  }
  if (mok_dot<64>(a, b) != 45760.0f) {
    printf("dot product is %g, not 45760\n", (double)mok_dot<64>(a, b));
    ++failures;
  }
  if (!(mok_at_most(NAN, 1.0f) != mok_at_most(NAN, 1.0f)) || !(mok_relu2(NAN) != mok_relu2(NAN)) ||
      mok_clip(-9.0f, 2.0f) != -2.0f || mok_silu(-200.0f) != 0.0f || mok_silu(0.0f) != 0.0f || mok_gelu(0.0f) != 0.0f ||
      mok_relu2(-3.0f) != 0.0f) {
    printf("an activation loses a NaN or a limit\n");
    ++failures;
  }
  printf("%s\n", failures ? "failed" : "passed");
  return failures != 0;
}
