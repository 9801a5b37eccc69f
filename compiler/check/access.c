/* Reads and writes of blocks: is what is read this lap's, and does a chain of signals and waits order it? */
#include <string.h>

#include "engine.h"

static size_t first_of(const check_track *track, const check_stream *stream, int64_t block) {
  return (size_t)(block % track->slots) * (size_t)stream->elements;
}

/* Last tile of a stream that an agent made, as text. */
static const char *other_text(const check_run *run, const check_stream *stream, int32_t element, uint16_t instance) {
  const check_agent *other = &run->agents[instance];
  mok_buf out = mok_buf_make(run->c->arena);
  mok_buf_printf(&out, "%s.%s CTA %d", stream->worker->role->name, stream->worker->worker->name, (int)other->cta);
  if (stream->worker->instances > 1) mok_buf_printf(&out, " instance %d", (int)other->instance);
  mok_buf_printf(&out, ", task %s, tile %d, `%s`", stream->task->task->name, (int)(element / stream->worker->share),
                 mok_check_op_text(run->c->arena, stream->op->op));
  return out.data;
}

/* "row_block 12 in ring slot 4" */
static const char *block_text(const check_run *run, const check_track *track, int64_t block) {
  const char *base = mok_ir_base_name(track->base);
  if (!track->region->ring) return mok_arena_printf(run->c->arena, "%s %lld", base, (long long)block);
  return mok_arena_printf(run->c->arena, "%s %lld in ring slot %lld", base, (long long)block, (long long)(block % track->slots));
}

static const char *verb(const check_stream *stream) { return stream->write ? "written" : "read"; }

/* All tiles of `stream` in the slot of `at` belong to block `want` and are known to be over. What an instance did itself is. */
static bool all_over(const check_run *run, const check_agent *agent, const check_stream *stream, size_t first, int64_t want,
                     int32_t late) {
  const check_clock *known = check_clock_of(run, agent->number);
  const int32_t *block = stream->block + first;
  const check_clock *stamp = stream->stamp + first;
  const uint16_t *instance = stream->instance + first;
  bool over = true;
  for (int32_t e = 0; e < stream->elements; ++e) {
    const check_clock needed = stamp[e] > CHECK_NEVER - late ? CHECK_NEVER : stamp[e] + late;
    over = over && block[e] == want && (known[instance[e]] >= needed || instance[e] == agent->number);
  }
  return over;
}

/* Extra publications until readers of `proxy` may have what `stream` wrote. */
static int32_t late_for(const check_stream *stream, mok_proxy proxy) {
  if (!stream->write || proxy != MOK_PROXY_BULK) return 0;
  if (stream->released_bulk == CHECK_NEVER || stream->released == CHECK_NEVER) return CHECK_NEVER;
  return stream->released_bulk - stream->released;
}

static void check_read(check_run *run, const check_agent *agent, const check_op *op, const check_access *access) {
  const check_track *track = access->track;
  const check_clock *known = check_clock_of(run, agent->number);
  for (int w = 0; w < track->write_count; ++w) {
    const check_stream *stream = &track->writes[w];
    const size_t first = first_of(track, stream, agent->block);
    const int32_t late = late_for(stream, access->proxy);
    if (all_over(run, agent, stream, first, agent->block, late)) continue;
    for (int32_t e = 0; e < stream->elements; ++e) {
      const int64_t holds = stream->block[first + (size_t)e];
      const char *what = block_text(run, track, agent->block), *name = track->region->name;
      const char *writer = check_where(run->c, stream->worker, stream->task);
      if (holds < 0) {
        check_report(run, agent, op, MOK_CHECK_UNWRITTEN, "reads @%s of %s, of which %s has not written tile %d: it holds poison",
                     name, what, writer, (int)(e / stream->worker->share));
      } else if (holds < agent->block) {
        check_report(run, agent, op, MOK_CHECK_UNWRITTEN,
                     "reads @%s of %s, of which %s has not written tile %d: it still holds that of %s %lld", name, what, writer,
                     (int)(e / stream->worker->share), mok_ir_base_name(track->base), (long long)holds);
      } else if (holds > agent->block) {
        check_report(run, agent, op, MOK_CHECK_OVERWRITTEN, "reads @%s of %s after %s has written %s %lld over it", name, what,
                     writer, mok_ir_base_name(track->base), (long long)holds);
      } else if (known[stream->instance[first + (size_t)e]] < stream->stamp[first + (size_t)e] || late > 0) {
        if (stream->instance[first + (size_t)e] == agent->number) continue;
        check_report(run, agent, op, MOK_CHECK_UNORDERED, "reads @%s of %s, but no wait makes sure that %s has written it", name,
                     what, other_text(run, stream, e, stream->instance[first + (size_t)e]));
      } else {
        continue;
      }
      break;
    }
  }
}

/* A ring slot is written again: the block before must have been written and read, and known to be. */
static void check_reuse(check_run *run, const check_agent *agent, const check_op *op, const check_track *track,
                        const check_stream *stream) {
  const int64_t before = agent->block - track->slots;
  const check_clock *known = check_clock_of(run, agent->number);
  const size_t first = first_of(track, stream, agent->block);
  if (all_over(run, agent, stream, first, before, 0)) return;
  for (int32_t e = 0; e < stream->elements; ++e) {
    const size_t i = first + (size_t)e;
    const char *what = block_text(run, track, agent->block);
    if (stream->block[i] < before) {
      check_report(run, agent, op, MOK_CHECK_OVERWRITTEN, "writes @%s of %s before %s has %s tile %d of %s %lld, which is there",
                   track->region->name, what, check_where(run->c, stream->worker, stream->task), verb(stream),
                   (int)(e / stream->worker->share), mok_ir_base_name(track->base), (long long)before);
      return;
    }
    if (stream->block[i] == before && known[stream->instance[i]] < stream->stamp[i] && stream->instance[i] != agent->number) {
      check_report(run, agent, op, MOK_CHECK_UNORDERED,
                   "writes @%s of %s, but no wait makes sure that %s of %s %lld has %s what was there", track->region->name, what,
                   other_text(run, stream, e, stream->instance[i]), mok_ir_base_name(track->base), (long long)before,
                   verb(stream));
      return;
    }
  }
}

static void check_write(check_run *run, const check_agent *agent, const check_op *op, const check_access *access,
                        int32_t element) {
  const check_track *track = access->track;
  const size_t mine = first_of(track, access->stream, agent->block) + (size_t)element;
  const int64_t holds = access->stream->block[mine];
  if (holds == agent->block)
    check_report(run, agent, op, MOK_CHECK_TWICE, "writes @%s of %s, which has been written already", track->region->name,
                 block_text(run, track, agent->block));
  if (holds > agent->block)
    check_report(run, agent, op, MOK_CHECK_OVERWRITTEN, "writes @%s of %s over %s %lld of a later lap", track->region->name,
                 block_text(run, track, agent->block), mok_ir_base_name(track->base), (long long)holds);
  for (int w = 0; w < track->write_count; ++w) {
    const check_stream *other = &track->writes[w];
    const size_t first = first_of(track, other, agent->block);
    const bool apart = other == access->stream || (other->routes && access->routes);
    for (int32_t e = 0; !apart && e < other->elements; ++e)
      if (other->block[first + (size_t)e] == agent->block) {
        check_report(run, agent, op, MOK_CHECK_TWICE, "writes @%s of %s, which %s has written", track->region->name,
                     block_text(run, track, agent->block), other_text(run, other, e, other->instance[first + (size_t)e]));
        break;
      }
  }
  if (!track->region->ring || agent->block < track->slots) return;
  for (int r = 0; r < track->read_count; ++r) check_reuse(run, agent, op, track, &track->reads[r]);
  const check_stream *own = access->stream;
  if (own->block[mine] >= 0 && own->instance[mine] != agent->number &&
      check_clock_of(run, agent->number)[own->instance[mine]] < own->stamp[mine])
    check_report(run, agent, op, MOK_CHECK_UNORDERED, "writes @%s of %s, but no wait makes sure that %s of %s %lld is over",
                 track->region->name, block_text(run, track, agent->block), other_text(run, own, element, own->instance[mine]),
                 mok_ir_base_name(track->base), (long long)own->block[mine]);
  for (int w = 0; w < track->write_count; ++w)
    if (&track->writes[w] != own) check_reuse(run, agent, op, track, &track->writes[w]);
}

void check_accesses(check_run *run, check_agent *agent, const check_op *op) {
  for (int a = 0; a < op->access_count; ++a) {
    const check_access *access = &op->accesses[a];
    check_stream *stream = access->stream;
    if (!stream) continue;
    const int32_t element = agent->second * agent->worker->share + (agent->worker->share > 1 ? agent->instance : 0);
    if (access->write) check_write(run, agent, op, access, element);
    else check_read(run, agent, op, access);
    const size_t at = first_of(access->track, stream, agent->block) + (size_t)element;
    stream->block[at] = (int32_t)agent->block;
    stream->instance[at] = (uint16_t)agent->number;
    stream->stamp[at] = stream->released == CHECK_NEVER ? CHECK_NEVER : agent->clock + stream->released;
  }
}
