/* What the device recorded: the control lines of each rank's local workspace (templates/mok_args.h). */
#include <inttypes.h>
#include <string.h>

#include "names.h"
#include "runtime.h"

enum { CONTROL_WORDS = MOK_CONTROL_LINES * MOK_LINE_WORDS };

typedef struct control {
  uint32_t words[CONTROL_WORDS];
} control;

static uint32_t word(const control *c, int line, int index) { return c->words[line * MOK_LINE_WORDS + index]; }

void mok_record_text(const mok_workspace *ws, const uint32_t *record, char *text, size_t size) {
  mok_record_names names;
  mok_names_find(ws->kernel->names, record, &names);
  mok_fault_text(text, size, record, &names.fault, ws->local_limit_ms, ws->peer_limit_ms);
}

static mok_status aborted(const mok_workspace *ws, const control *c, int rank) {
  char text[400];
  mok_record_text(ws, c->words + MOK_LINE_WAIT_ERROR * MOK_LINE_WORDS, text, sizeof text);
  return MOK_ERROR(MOK_ERR_PROTOCOL, "rank %d gave up in launch %u: %s", rank, word(c, MOK_LINE_EPOCH, 0), text);
}

static void add_input_errors(const mok_kernel_info *info, const control *c, int rank, mok_input_errors *out) {
  const uint32_t ids = word(c, MOK_LINE_INPUT_ERROR, MOK_INPUT_BAD_IDS),
                 counts = word(c, MOK_LINE_INPUT_ERROR, MOK_INPUT_BAD_TOKENS);
  if (ids && !out->bad_ids) {
    const uint32_t route = word(c, MOK_LINE_INPUT_ERROR, MOK_INPUT_ROUTE);
    out->rank = rank;
    out->token = (int)(route / (uint32_t)info->top_k);
    out->slot = (int)(route % (uint32_t)info->top_k);
    out->id = (int)word(c, MOK_LINE_INPUT_ERROR, MOK_INPUT_ID);
  }
  if (counts && !out->bad_counts) out->count = (int)word(c, MOK_LINE_INPUT_ERROR, MOK_INPUT_TOKENS);
  out->bad_ids += ids;
  out->bad_counts += counts;
}

static mok_status read_rank(mok_workspace *ws, int r, control *out) {
  const mok_kernel *kernel = ws->kernel;
  const mok_cuda *cuda = &kernel->cuda;
  const mok_cu_pointer at = ws->local + (mok_cu_pointer)r * ws->local_size + (mok_cu_pointer)kernel->control_offset;
  MOK_CU_TRY(cuda, cuMemcpyDtoHAsync(out->words, at, sizeof out->words, kernel->stream));
  MOK_CU_TRY(cuda, cuStreamSynchronize(kernel->stream));
  const bool input = word(out, MOK_LINE_INPUT_ERROR, MOK_INPUT_BAD_IDS) || word(out, MOK_LINE_INPUT_ERROR, MOK_INPUT_BAD_TOKENS);
  if (input) {
    const mok_cu_pointer line = at + (mok_cu_pointer)MOK_LINE_INPUT_ERROR * MOK_LINE_WORDS * 4;
    MOK_CU_TRY(cuda, cuMemsetD8Async(line, 0, (size_t)MOK_LINE_WORDS * 4, kernel->stream));
    MOK_CU_TRY(cuda, cuStreamSynchronize(kernel->stream));
  }
  return MOK_OK;
}

static mok_status check_ranks(mok_workspace *ws, mok_input_errors *errors) {
  mok_status status = MOK_OK;
  for (int r = 0; r < ws->ranks; r++) {
    control c;
    mok_status read = read_rank(ws, r, &c);
    if (read) {
      mok_status_free(status);
      return read;
    }
    add_input_errors(&ws->kernel->info, &c, ws->first_rank + r, errors);
    if (word(&c, MOK_LINE_ABORT, 0) == 0) continue;
    ws->aborted = true;
    /* The rank that reported a wait of its own says more than one that only saw it fail. */
    const uint32_t kind = word(&c, MOK_LINE_WAIT_ERROR, MOK_WAIT_KIND);
    if (status && (kind == MOK_WAIT_IS_RANK_BARRIER || kind == MOK_WAIT_IS_POISONED)) continue;
    mok_status_free(status);
    status = aborted(ws, &c, ws->first_rank + r);
  }
  return status;
}

static mok_status input_status(const mok_kernel *kernel, const mok_input_errors *e) {
  if (e->bad_counts)
    return MOK_ERROR(MOK_ERR_USAGE,
                     "%" PRId64 " launches had a token count outside 0 to %d and computed nothing; the first was %d",
                     e->bad_counts, kernel->info.tokens_per_rank, e->count);
  if (e->bad_ids)
    return MOK_ERROR(MOK_ERR_USAGE, "%" PRId64 " expert ids are outside 0 to %d; the first: rank %d token %d slot %d: %d",
                     e->bad_ids, kernel->info.experts - 1, e->rank, e->token, e->slot, e->id);
  return MOK_OK;
}

mok_status mok_check(mok_workspace *ws, mok_input_errors *errors) {
  if (!ws) return MOK_ERROR(MOK_ERR_USAGE, "mok_check: workspace is NULL");
  mok_input_errors found = {.struct_size = sizeof found};
  if (errors && errors->struct_size != sizeof found)
    return MOK_ERROR(MOK_ERR_USAGE, "mok_input_errors: struct_size is %zu, not %zu", errors->struct_size, sizeof found);
  MOK_TRY(mok_kernel_enter(ws->kernel));
  mok_status status = check_ranks(ws, &found);
  mok_kernel_leave(ws->kernel);
  if (errors) *errors = found;
  else if (!status) status = input_status(ws->kernel, &found);
  return status;
}
