/* Rows pulled and pushed: blocks of few and of many rows, pieces without a row among them, and nothing beside them touched. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "harness.h"

enum { FILL = 0xa5, MOST_COUNTS = 8 };

typedef struct setting {
  size_t row_bytes, tokens, top_k, padding, piece_rows, slots;
  int counts[MOST_COUNTS], count; /* rows of the blocks */
  unsigned char *x[MOK_MAX_RANKS], *y[MOK_MAX_RANKS], *combine[MOK_MAX_RANKS], *ring_x;
  int *source[MOK_MAX_RANKS];
} setting;

static void random_bytes(unsigned char *to, size_t bytes, uint64_t *seed) {
  for (size_t i = 0; i < bytes; i++) to[i] = (unsigned char)prim_random(seed, 256);
}

static size_t region_bytes(const prim *p, const char *name) { return (size_t)prim_fact(p, name); }

/* Block b has counts[b] rows and lies in slot slots - 1 - b. Every row has a route of its own among all ranks'. */
static void make_inputs(prim *p, setting *s) {
  uint64_t seed = 7;
  const size_t routes = s->tokens * s->top_k, all = routes * (size_t)p->rank_count;
  size_t *order = prim_host_memory(all * sizeof *order, 0), used = 0;
  for (size_t i = 0; i < all; i++) order[i] = i;
  for (size_t i = all - 1; i > 0; i--) {
    const size_t j = prim_random(&seed, (unsigned)(i + 1)), other = order[j];
    order[j] = order[i];
    order[i] = other;
  }
  for (int r = 0; r < p->rank_count; r++) {
    s->x[r] = prim_host_memory(s->tokens * s->row_bytes, 0);
    random_bytes(s->x[r], s->tokens * s->row_bytes, &seed);
    s->y[r] = prim_host_memory(region_bytes(p, "LAYOUT_RING_Y_BYTES"), 0);
    random_bytes(s->y[r], region_bytes(p, "LAYOUT_RING_Y_BYTES"), &seed);
    s->source[r] = prim_host_memory(region_bytes(p, "LAYOUT_ROW_SOURCE_BYTES"), 0xff);
    for (int b = 0; b < s->count; b++)
      for (int i = 0; i < s->counts[b]; i++, used++) {
        int *source = s->source[r] + 2 * ((size_t)b * s->padding + (size_t)i);
        source[0] = (int)(order[used] / routes);
        source[1] = (int)(order[used] % routes);
      }
    s->combine[r] = prim_host_memory(routes * s->row_bytes, FILL);
  }
  free(order);
  s->ring_x = prim_host_memory(region_bytes(p, "LAYOUT_RING_X_BYTES"), 0);
}

static void make_memory(prim *p, const setting *s) {
  prim_reset(p, FILL);
  for (int r = 0; r < p->rank_count; r++) {
    mok_rank_args *args = &p->ranks[r];
    args->x = prim_upload(p, s->x[r], s->tokens * s->row_bytes);
    if (p->rank_count > 1) prim_write(p, prim_heap(p, r, "X"), s->x[r], s->tokens * s->row_bytes);
    args->out = prim_memory(p, s->tokens * s->row_bytes, FILL); /* these are not used, but have to be there */
    args->topk_ids = prim_memory(p, s->tokens * s->top_k * sizeof(int), 0);
    args->topk_weights = prim_memory(p, s->tokens * s->top_k * sizeof(float), 0);
    args->tokens = (int)s->tokens;
    prim_write(p, prim_local(p, r, "RING_Y"), s->y[r], region_bytes(p, "LAYOUT_RING_Y_BYTES"));
    prim_write(p, prim_local(p, r, "ROW_SOURCE"), s->source[r], region_bytes(p, "LAYOUT_ROW_SOURCE_BYTES"));
  }
}

/* All pieces of all blocks in some order. */
static void set_tasks(prim *p, const setting *s, bool any) {
  const size_t pieces = s->padding / s->piece_rows, tasks = any ? pieces * (size_t)s->count : 0;
  int *words = prim_host_memory((WORD_FIRST_TASK + tasks * MOVE_TASK_WORDS) * sizeof *words, 0);
  words[WORD_TASKS] = (int)tasks;
  for (size_t i = 0; i < tasks; i++) {
    const size_t j = tasks - 1 - i, block = j % (size_t)s->count;
    int *task = words + WORD_FIRST_TASK + i * MOVE_TASK_WORDS;
    task[MOVE_ROW_BLOCK] = (int)block;
    task[MOVE_SLOT] = (int)(s->slots - 1 - block);
    task[MOVE_ROWS] = s->counts[block];
    task[MOVE_PIECE] = (int)(j / (size_t)s->count);
  }
  void *there = prim_upload(p, words, (WORD_FIRST_TASK + tasks * MOVE_TASK_WORDS) * sizeof *words);
  for (int r = 0; r < p->rank_count; r++) p->ranks[r].shared_down.base = there;
  free(words);
}

static void expect_memory(prim *p, const setting *s, const char *when) {
  const size_t ring_bytes = region_bytes(p, "LAYOUT_RING_X_BYTES");
  for (int r = 0; r < p->rank_count; r++) {
    memset(s->ring_x, FILL, ring_bytes);
    for (int b = 0; b < s->count; b++)
      for (int i = 0; i < s->counts[b]; i++) {
        const int *source = s->source[r] + 2 * ((size_t)b * s->padding + (size_t)i);
        const size_t row = (s->slots - 1 - (size_t)b) * s->padding + (size_t)i;
        memcpy(s->ring_x + row * s->row_bytes, s->x[source[0]] + (size_t)source[1] / s->top_k * s->row_bytes, s->row_bytes);
        memcpy(s->combine[source[0]] + (size_t)source[1] * s->row_bytes, s->y[r] + row * s->row_bytes, s->row_bytes);
      }
    prim_expect_bytes(p, prim_local(p, r, "RING_X"), s->ring_x, ring_bytes, s->row_bytes, "%s, rank %d, ring_x", when, r);
  }
  for (int r = 0; r < p->rank_count; r++)
    prim_expect_bytes(p, prim_heap(p, r, "COMBINE"), s->combine[r], s->tokens * s->top_k * s->row_bytes, s->row_bytes,
                      "%s, rank %d, combine", when, r);
}

void check_move(prim *p) {
  setting s = {.row_bytes = (size_t)prim_fact(p, "PLAN_HIDDEN") * 2,
               .tokens = (size_t)prim_fact(p, "PLAN_TOKENS_PER_GPU"),
               .top_k = (size_t)prim_fact(p, "PLAN_TOP_K"),
               .padding = (size_t)prim_fact(p, "PLAN_ROW_PADDING"),
               .piece_rows = (size_t)prim_fact(p, "PLAN_DISPATCH_ROWS"),
               .slots = (size_t)prim_fact(p, "PLAN_RING_SLOTS")};
  const int m = (int)s.padding, d = (int)s.piece_rows, counts[] = {1, 2, d - 1, d, d + 1, m / 2 + 1, m - 1, m};
  s.count = MOST_COUNTS < (int)s.slots ? MOST_COUNTS : (int)s.slots;
  memcpy(s.counts, counts, sizeof counts);
  make_inputs(p, &s);
  p->races = true;
  for (p->seed = 0; p->seed < (uint64_t)p->machine->schedules; p->seed++) {
    make_memory(p, &s);
    set_tasks(p, &s, false);
    prim_launch(p, 2, 2);
    const int rows = s.count;
    s.count = 0;
    expect_memory(p, &s, "without tasks");
    s.count = rows;
    set_tasks(p, &s, true);
    prim_launch(p, 2, 2);
    expect_memory(p, &s, "on two and two CTAs");
    prim_launch(p, 2, 6); /* once more, into what is there */
    expect_memory(p, &s, "on two and six CTAs");
    for (int r = 0; r < p->rank_count; r++) memset(s.combine[r], FILL, s.tokens * s.top_k * s.row_bytes);
  }
  for (int r = 0; r < p->rank_count; r++) {
    free(s.x[r]);
    free(s.y[r]);
    free(s.source[r]);
    free(s.combine[r]);
  }
  free(s.ring_x);
}
