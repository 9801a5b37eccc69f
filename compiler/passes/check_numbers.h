/* Private to passes. */
#ifndef MOK_PASSES_CHECK_NUMBERS_H
#define MOK_PASSES_CHECK_NUMBERS_H

#include "pass_impl.h"

/* Tiles, extents, offsets and counter words of a protocol-level kernel against the plan. MOK_ERR_CODEGEN, reported. */
MOK_MUST_USE mok_status mok_check_numbers(mok_pass_context *context, const mok_kernel_view *view);

#endif
