/* The activations as formulas in double, for the reference and for the kernels of tests/gpu/naive.cu: C, C++ and NVRTC. Written
 * apart from compiler/model/activations.def, or a mistake there would be checked against itself; whoever needs the formula of a
 * row that has none here does not compile. */
#ifndef MOK_REFERENCE_ACTIVATIONS_H
#define MOK_REFERENCE_ACTIVATIONS_H

#ifndef MOK_REFERENCE_FN /* how a function is declared */
#include <math.h>
#define MOK_REFERENCE_FN static inline
#endif

/* FORMULA(word, value); an activation without a gate gets 0 for it. */
#define MOK_REFERENCE_FORMULAS(FORMULA)                                      \
  FORMULA(swiglu, gate / (1 + exp(-gate)) * up)                              \
  FORMULA(geglu, 0.5 * gate * (1 + erf(gate * 0.70710678118654752440)) * up) \
  FORMULA(relu2, up > 0 ? up * up : 0)

typedef enum mok_reference_activation {
#define MOK_REFERENCE_ROW(word, value) MOK_REFERENCE_##word,
  MOK_REFERENCE_FORMULAS(MOK_REFERENCE_ROW)
#undef MOK_REFERENCE_ROW
} mok_reference_activation;

/* NaN for a value that is none of the list. */
MOK_REFERENCE_FN double mok_reference_activate(mok_reference_activation activation, double gate, double up) {
  switch (activation) {
#define MOK_REFERENCE_ROW(word, value) \
  case MOK_REFERENCE_##word:           \
    return value;
    MOK_REFERENCE_FORMULAS(MOK_REFERENCE_ROW)
#undef MOK_REFERENCE_ROW
  }
  return nan("");
}

#endif
