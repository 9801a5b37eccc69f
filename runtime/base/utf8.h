/* UTF-8, as far as escaping needs it. */
#ifndef MOK_BASE_UTF8_H
#define MOK_BASE_UTF8_H

#include <stddef.h>

/* Length in bytes, 1 to 4, of the well-formed sequence that starts at text; 0 if none does (or size is 0). */
size_t mok_utf8_sequence(const char *text, size_t size);

#endif
