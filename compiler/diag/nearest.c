#include <string.h>

#include "diag.h"

enum { LONGEST = 64 };

static int min(int a, int b) { return a < b ? a : b; }

/* Optimal string alignment: insert, delete, replace, swap of neighbours. */
static int distance(const char *a, int na, const char *b, int nb) {
  int rows[3][LONGEST + 1];
  int *before = rows[0], *above = rows[1], *row = rows[2];
  for (int j = 0; j <= nb; j++) above[j] = j;
  memcpy(before, above, sizeof rows[0]);
  for (int i = 1; i <= na; i++) {
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      row[j] = min(min(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = min(row[j], before[j - 2] + 1);
    }
    int *oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[nb];
}

const char *mok_nearest_word(const char *word, const char *const *words, size_t count) {
  size_t length = strlen(word);
  if (length == 0 || length > LONGEST) return NULL;
  const char *best = NULL;
  int best_distance = 0;
  for (size_t i = 0; i < count; i++) {
    size_t other = strlen(words[i]);
    if (other == 0 || other > LONGEST) continue;
    int d = distance(word, (int)length, words[i], (int)other);
    int longer = (int)(length > other ? length : other);
    if (3 * d > longer) continue;
    if (!best || d < best_distance) best = words[i], best_distance = d;
  }
  return best;
}
