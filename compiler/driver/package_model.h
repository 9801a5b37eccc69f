/* A package built elsewhere, to be run as it is: the description again, as far as its manifest says it. */
#ifndef MOK_DRIVER_PACKAGE_MODEL_H
#define MOK_DRIVER_PACKAGE_MODEL_H

#include "../../runtime/include/mok.h"
#include "stages.h"

/* If the operand is the folder of a package: verifies it and sets the work's package, model, target and target_name. Otherwise
 * nothing. Flags that would change what was built are MOK_ERR_USAGE, a manifest that says no layer is MOK_ERR_IO, a package for
 * the host target MOK_ERR_NO_PLAN. */
MOK_MUST_USE mok_status mok_package_take(mok_session *session, mok_work *work);

/* What libmok loads: the package the work was given, or one in memory made of its stages' results. */
MOK_MUST_USE mok_status mok_work_package(mok_arena *arena, const mok_work *work, mok_load_args *out);

#endif
