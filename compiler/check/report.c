#include <string.h>

#include "check_impl.h"

const char *mok_check_kind_name(mok_check_kind kind) {
  static const char *const names[MOK_CHECK_NUM_KINDS] = {
      [MOK_CHECK_DEADLOCK] = "deadlock",   [MOK_CHECK_UNWRITTEN] = "unwritten", [MOK_CHECK_OVERWRITTEN] = "overwritten",
      [MOK_CHECK_UNORDERED] = "unordered", [MOK_CHECK_RANKS] = "ranks",         [MOK_CHECK_PASSED] = "counter-passed",
      [MOK_CHECK_SHORT] = "counter-short", [MOK_CHECK_STALE] = "counter-stale", [MOK_CHECK_INDEX] = "counter-index",
      [MOK_CHECK_TWICE] = "written-twice", [MOK_CHECK_NEVER] = "never-run",     [MOK_CHECK_PIPELINE] = "pipeline",
      [MOK_CHECK_FENCE] = "proxy-fence",
  };
  return names[kind];
}

void check_find(mok_checker *c, mok_check_kind kind, const void *about, mok_loc loc, const char *when, const char *fmt, ...) {
  for (size_t i = 0; i < c->finding_count; ++i)
    if (c->findings[i].kind == kind && c->about[i] == about) return;
  if (c->finding_count == CHECK_MAX_FINDINGS) return;
  va_list args;
  va_start(args, fmt);
  const char *text = mok_arena_vprintf(c->arena, fmt, args);
  va_end(args);
  c->about[c->finding_count] = about;
  c->findings[c->finding_count++] = (mok_check_finding){.kind = kind, .loc = loc, .text = text, .when = when};
}

const mok_check_finding *mok_checker_findings(const mok_checker *checker, size_t *count) {
  *count = checker->finding_count;
  return checker->findings;
}

const char *check_where(const mok_checker *c, const check_worker *worker, const check_task *task) {
  return mok_arena_printf(c->arena, "%s.%s, task %s", worker->role->name, worker->worker->name, task->task->name);
}

static void put_places(mok_buf *out, const char *word, const mok_ir_place *places, size_t count) {
  if (count == 0) return;
  mok_buf_printf(out, " %s(", word);
  for (size_t i = 0; i < count; ++i)
    mok_buf_printf(out, "%s@%s%s", i ? ", " : "", places[i].argument ? "args." : "", places[i].name);
  mok_buf_putc(out, ')');
}

const char *mok_check_op_text(mok_arena *arena, const mok_ir_op *op) {
  mok_buf out = mok_buf_make(arena);
  mok_buf_puts(&out, mok_ir_op_name(op->kind));
  if (op->product) {
    mok_buf_printf(&out, " @%s", op->product->name);
    if (op->kind == MOK_IR_LOAD_GATHERED) put_places(&out, "reads", op->reads, op->read_count);
  } else if (op->counter) {
    mok_buf_printf(&out, " @%s[%s%s%s]", op->counter->name, mok_ir_base_name(op->index.base), op->index.lag ? " - " : "",
                   op->index.lag ? op->index.lag : "");
    if (op->kind == MOK_IR_WAIT) mok_buf_printf(&out, " >= %lld", (long long)op->target.value);
    mok_buf_printf(&out, " edge(%s)%s", mok_ir_edge_name(op->edge), op->lap ? " lap" : "");
  } else {
    put_places(&out, "reads", op->reads, op->read_count);
    put_places(&out, "writes", op->writes, op->write_count);
  }
  return out.data;
}
