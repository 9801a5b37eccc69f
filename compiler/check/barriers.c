/* What barriers alone must order: accesses of different groups, of different ranks, and those no block index connects. Decided
 * from the program, once for all sizes. */
#include <string.h>

#include "check_impl.h"

typedef struct site {
  const check_group *group;
  int number; /* of the group */
  const check_worker *worker;
  const check_task *task;
  const check_op *op;
  const check_access *access;
} site;

typedef struct site_list {
  site *items;
  size_t count;
} site_list;

static site_list collect(const mok_checker *c) {
  site_list list = {NULL, 0};
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) list.items = MOK_NEW_ARRAY(c->arena, list.count, site);
    list.count = 0;
    for (int g = 0; g < c->group_count; ++g)
      for (int w = 0; w < c->groups[g].worker_count; ++w)
        for (int t = 0; t < c->groups[g].workers[w].task_count; ++t) {
          const check_task *task = &c->groups[g].workers[w].tasks[t];
          for (int o = 0; o < task->op_count; ++o)
            for (int a = 0; a < task->ops[o].access_count; ++a, ++list.count)
              if (pass == 1)
                list.items[list.count] =
                    (site){&c->groups[g], g, &c->groups[g].workers[w], task, &task->ops[o], &task->ops[o].accesses[a]};
        }
  }
  return list;
}

static const char *where(const mok_checker *c, const site *s) { return check_where(c, s->worker, s->task); }

/* A rank's own order: a read needs a write in an earlier group, or one that blocks connect it to. */
static void check_read(mok_checker *c, const site_list *all, const site *read) {
  bool written = read->access->stream != NULL;
  for (size_t i = 0; i < all->count; ++i) {
    const site *write = &all->items[i];
    if (!write->access->write || write->access->region != read->access->region) continue;
    if (write->number < read->number) written = true;
    if (write->number != read->number || (read->access->stream && write->access->stream)) continue;
    if (read->access->peers || write->access->peers) continue; /* reported as an access across ranks */
    written = true;
    check_find(c, MOK_CHECK_UNORDERED, read->op->op, read->op->op->loc, NULL,
               "%s: `%s` reads @%s, which %s writes with no barrier between and no block in common to count by", where(c, read),
               mok_check_op_text(c->arena, read->op->op), read->access->region->name, where(c, write));
  }
  if (!written)
    check_find(c, MOK_CHECK_UNWRITTEN, read->op->op, read->op->op->loc, NULL, "%s: `%s` reads @%s, which nothing has written",
               where(c, read), mok_check_op_text(c->arena, read->op->op), read->access->region->name);
}

/* The proxy fence of a wait in front of a bulk read of what ordinary stores have written. */
static void check_fence(mok_checker *c, const site *read) {
  if (!read->access->stream || read->access->proxy != MOK_PROXY_BULK) return;
  for (int w = 0; w < read->access->track->write_count; ++w) {
    if (read->access->track->writes[w].proxy != MOK_PROXY_GENERIC) continue;
    bool fenced = false;
    for (const check_op *op = read->task->ops; op < read->op; ++op)
      fenced = fenced || (op->op->kind == MOK_IR_WAIT && op->op->edge == MOK_IR_GENERIC_TO_BULK);
    if (!fenced)
      check_find(c, MOK_CHECK_FENCE, read->op->op, read->op->op->loc, NULL,
                 "%s: `%s` reads @%s, written by ordinary stores, through the bulk proxy with no generic_to_bulk wait before",
                 where(c, read), mok_check_op_text(c->arena, read->op->op), read->access->region->name);
  }
}

/* Two ranks: only a rank barrier between orders them. Barriers count on from launch to launch; a launch ends without one. */
static void check_ranks(mok_checker *c, const site *a, const site *b) {
  if (a->access->region != b->access->region || (!a->access->write && !b->access->write)) return;
  if ((!a->access->peers && !b->access->peers) || a->op == b->op || (a->access->routes && b->access->routes)) return;
  const int before_a = a->group->rank_barriers, before_b = b->group->rank_barriers, all = c->rank_barriers;
  const bool next = (before_a == all && before_b == 0) || (before_b == all && before_a == 0);
  if (before_a != before_b && !next) return;
  const site *at = a->access->write ? b : a, *other = at == a ? b : a;
  check_find(c, MOK_CHECK_RANKS, at->op->op, at->op->op->loc, NULL,
             "%s: `%s` %s @%s while another rank's %s `%s` %s it: no rank barrier between%s", where(c, at),
             mok_check_op_text(c->arena, at->op->op), at->access->write ? "writes" : "reads", at->access->region->name,
             where(c, other), mok_check_op_text(c->arena, other->op->op), other->access->write ? "writes" : "reads",
             before_a == before_b ? "" : ", when the next launch begins");
}

void check_barriers(mok_checker *c) {
  const site_list all = collect(c);
  for (size_t i = 0; i < all.count; ++i) {
    if (!all.items[i].access->write) {
      check_read(c, &all, &all.items[i]);
      check_fence(c, &all.items[i]);
    }
    for (size_t k = 0; c->plan->model->gpus > 1 && k < i; ++k) check_ranks(c, &all.items[i], &all.items[k]);
  }
}
