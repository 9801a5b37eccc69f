#include "launches.h"

#include <inttypes.h>
#include <string.h>

#include "../../tests/reference/random.h"

/* The list of one end of every item: 0 the least, 1 the most. */
static const char *ends_of(mok_arena *arena, const char *text, int which) {
  mok_buf out = mok_buf_make(arena);
  for (const char *at = text;;) {
    const size_t length = strcspn(at, ",");
    const char *item = mok_arena_strndup(arena, at, length), *dots = strstr(item, "..");
    if (!dots) mok_buf_puts(&out, item);
    else mok_buf_puts(&out, which ? dots + 2 : mok_arena_strndup(arena, item, (size_t)(dots - item)));
    if (at[length] == '\0') return out.data;
    mok_buf_puts(&out, ",");
    at += length + 1;
  }
}

mok_status mok_launches_parse(mok_arena *arena, const mok_model *model, const char *text, int64_t count, uint64_t seed,
                              mok_launches *out) {
  const size_t gpus = (size_t)model->gpus;
  *out = (mok_launches){.model = model, .seed = seed};
  out->least = MOK_NEW_ARRAY(arena, gpus, int64_t);
  out->most = MOK_NEW_ARRAY(arena, gpus, int64_t);
  out->kept = MOK_NEW_ARRAY(arena, gpus, int64_t);
  for (size_t r = 0; r < gpus; ++r) out->least[r] = out->most[r] = count;
  if (text) {
    MOK_TRY(mok_tokens_parse(arena, model, ends_of(arena, text, 0), out->least));
    MOK_TRY(mok_tokens_parse(arena, model, ends_of(arena, text, 1), out->most));
  }
  for (size_t r = 0; r < gpus; ++r) {
    if (out->least[r] > out->most[r])
      return MOK_ERROR(MOK_ERR_USAGE, "--tokens: %" PRId64 "..%" PRId64 " is empty; the smaller count comes first", out->least[r],
                       out->most[r]);
    out->vary = out->vary || out->least[r] < out->most[r];
  }
  return MOK_OK;
}

void mok_launches_set(const mok_launches *launches, int64_t n, mok_problem *problem) {
  for (int64_t r = 0; r < launches->model->gpus; ++r) {
    const uint64_t key = mok_random_key(launches->seed, (uint64_t)(MOK_STREAM_TOKENS + MOK_STREAMS_PER_RANK * r));
    const int64_t least = launches->least[r], most = launches->most[r];
    int64_t tokens = least + mok_random_below(key, (uint64_t)(2 * n), (uint32_t)(most - least + 1));
    const uint32_t end = mok_random_below(key, (uint64_t)(2 * n + 1), 8);
    if (end == 0) tokens = least;
    if (end == 1) tokens = most;
    problem->ranks[r].tokens = tokens;
  }
}

int64_t mok_launch_laps(mok_arena *arena, const mok_plan *plan, const mok_problem *problem) {
  const mok_model *m = problem->model;
  int64_t *rows = MOK_NEW_ARRAY(arena, (size_t)m->experts, int64_t), laps = 0;
  for (int64_t r = 0; r < m->gpus; ++r)
    for (int64_t i = 0; i < problem->ranks[r].tokens * m->top_k; ++i) {
      const int32_t id = problem->ranks[r].ids[i];
      if (id >= 0 && id < m->experts) rows[id] += 1;
    }
  for (int64_t r = 0; r < m->gpus; ++r) {
    int64_t blocks = 0;
    for (int64_t e = mok_first_expert(m, r); e < mok_first_expert(m, r) + mok_local_experts(m, r); ++e)
      blocks += (rows[e] + plan->row_padding - 1) / plan->row_padding;
    const int64_t of_rank = (blocks + plan->ring_slots - 1) / plan->ring_slots;
    if (of_rank > laps) laps = of_rank;
  }
  return laps;
}

static void make_rows(mok_arena *arena, mok_launches *launches) {
  const size_t gpus = (size_t)launches->model->gpus;
  launches->rows = MOK_NEW_ARRAY(arena, gpus, uint16_t *);
  for (size_t r = 0; r < gpus; ++r)
    launches->rows[r] = MOK_NEW_ARRAY(arena, (size_t)(launches->most[r] * launches->model->hidden), uint16_t);
}

const char *mok_launches_compare(mok_arena *arena, mok_launches *launches, const mok_problem *problem) {
  const int64_t H = launches->model->hidden;
  const size_t row = (size_t)H * sizeof(uint16_t);
  if (!launches->rows) make_rows(arena, launches);
  for (int64_t r = 0; r < launches->model->gpus; ++r) {
    const mok_rank_problem *rank = &problem->ranks[r];
    for (int64_t t = 0; t < rank->tokens; ++t) {
      const uint16_t *now = rank->out + t * H;
      uint16_t *first = launches->rows[r] + t * H;
      if (t >= launches->kept[r]) memcpy(first, now, row);
      int64_t c = 0;
      while (c < H && now[c] == first[c]) ++c;
      if (c < H)
        return mok_arena_printf(arena, "rank %" PRId64 " token %" PRId64 " column %" PRId64 ": 0x%04x, it was 0x%04x", r, t, c,
                                now[c], first[c]);
    }
    if (rank->tokens > launches->kept[r]) launches->kept[r] = rank->tokens;
  }
  return NULL;
}

void mok_launches_join(const mok_launches *launches, mok_problem *problem) {
  for (int64_t r = 0; r < launches->model->gpus; ++r) {
    problem->ranks[r].tokens = launches->kept[r];
    memcpy(problem->ranks[r].out, launches->rows[r], (size_t)(launches->kept[r] * launches->model->hidden) * sizeof(uint16_t));
  }
}
