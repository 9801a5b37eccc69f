/* Packages: NAME.mok/ with manifest.txt first among equals. Format: runtime/package/manifest.h. Reading one back is the
 * runtime's part: runtime/package/reader.h. */
#ifndef MOK_PACKAGE_H
#define MOK_PACKAGE_H

#include "../../runtime/package/reader.h"
#include "../jit/jit.h"

/* Writes the package to `folder` by rename. Overwrites only a folder that holds a manifest. */
MOK_MUST_USE mok_status mok_package_write(mok_arena *arena, const char *folder, const mok_plan *plan, const mok_target *target,
                                          const mok_sources *sources, const mok_image *image);

/* Whether it would get as far as writing; for before the long work. */
MOK_MUST_USE mok_status mok_package_check(const char *folder);

/* The same package as one block of memory, in the arena. */
MOK_MUST_USE mok_status mok_package_pack(mok_arena *arena, const mok_plan *plan, const mok_target *target,
                                         const mok_sources *sources, const mok_image *image, mok_blob *out);

#endif
