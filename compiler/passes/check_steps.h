/* Private to passes. */
#ifndef MOK_PASSES_CHECK_STEPS_H
#define MOK_PASSES_CHECK_STEPS_H

#include "pass_impl.h"

/* Places, tile spaces, warps and barriers of a protocol-level kernel against what its primitives fix. MOK_ERR_CODEGEN,
 * reported. */
MOK_MUST_USE mok_status mok_check_steps(mok_pass_context *context, const mok_kernel_view *view);

#endif
