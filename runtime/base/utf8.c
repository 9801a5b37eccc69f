#include "utf8.h"

#include <stdint.h>

size_t mok_utf8_sequence(const char *text, size_t size) {
  const unsigned char *s = (const unsigned char *)text;
  if (!size) return 0;
  size_t length = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
  if (length < 2) return length;
  if (length > size) return 0;
  uint32_t point = s[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    point = point << 6 | (s[i] & 0x3Fu);
  }
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < smallest[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return 0;
  return length;
}
