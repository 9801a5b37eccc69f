/* Status values: what a fallible function returns.
 *
 * NULL is success. Anything else is an owned record {code, message, C place of the first failure}, released with
 * mok_status_free or handed up. User mistakes in a description are diagnostics (compiler/diag), not statuses: a stage
 * reports as many of those as it finds and then returns one status of their kind.
 */
#ifndef MOK_BASE_STATUS_H
#define MOK_BASE_STATUS_H

#include <stdarg.h>

/* The code is the exit code of the tool. */
typedef enum mok_code {
#define MOK_STATUS_CODE(name, exit_code, meaning) MOK_ERR_##name = exit_code,
#include "status_codes.def"
#undef MOK_STATUS_CODE
} mok_code;

typedef struct mok_status_record *mok_status;

#define MOK_OK ((mok_status)0)
#define MOK_MUST_USE __attribute__((warn_unused_result))
#define MOK_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Makes a record; never NULL (out of memory yields a static record). */
#define MOK_ERROR(code, ...) mok_status_make(__FILE__, __LINE__, (code), __VA_ARGS__)
mok_status mok_status_make(const char *file, int line, mok_code code, const char *fmt, ...) MOK_PRINTF(4, 5);

/* Appends "while ..." to an error and returns it; MOK_OK stays MOK_OK. */
mok_status mok_status_context(mok_status status, const char *fmt, ...) MOK_PRINTF(2, 3);

/* `status` already told the user through diagnostics; the driver then prints nothing more. */
mok_status mok_status_mark_reported(mok_status status);
int mok_status_is_reported(mok_status status);

int mok_status_exit_code(mok_status status);     /* 0 for MOK_OK */
const char *mok_status_text(mok_status status);  /* "message\n  while ..."; borrowed, "" for MOK_OK */
const char *mok_status_place(mok_status status); /* "plan.c:120", where the failure was made; borrowed */
const char *mok_code_meaning(mok_code code);     /* one sentence from status_codes.def, NULL if unknown */
void mok_status_free(mok_status status);         /* accepts MOK_OK */

#define MOK_TRY(expr)                            \
  do {                                           \
    mok_status mok_try_status_ = (expr);         \
    if (mok_try_status_) return mok_try_status_; \
  } while (0)

#define MOK_TRY_CTX(expr, ...)                                                    \
  do {                                                                            \
    mok_status mok_try_status_ = (expr);                                          \
    if (mok_try_status_) return mok_status_context(mok_try_status_, __VA_ARGS__); \
  } while (0)

#endif
