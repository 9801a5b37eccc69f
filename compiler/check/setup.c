/* The state of a group at its beginning. */
#include <string.h>

#include "engine.h"

enum { MAX_BYTES = 1 << 30, MAX_AGENTS = UINT16_MAX };

void *check_grow(check_run *run, check_buffer *buffer, size_t count, size_t size) {
  if (count * size > buffer->bytes || !buffer->data) { /* memory even for nothing: memset takes no null */
    const size_t twice = 2 * buffer->bytes;
    buffer->bytes = count * size > twice ? count * size : twice;
    buffer->data = mok_arena_alloc(run->c->arena, buffer->bytes);
  }
  return buffer->data;
}

static mok_status count_agents(check_run *run, int64_t *pipes) {
  check_group *g = run->group;
  int64_t agents = 0;
  *pipes = 0;
  run->slots = 0;
  int role = -1;
  int32_t slots = 0;
  for (int i = 0; i < g->worker_count; ++i) {
    check_worker *w = &g->workers[i];
    w->ctas = run->which->cta_limit > 0 && run->which->cta_limit < w->plan_ctas ? run->which->cta_limit : w->plan_ctas;
    const int64_t cluster = w->role->cluster;
    w->ctas = w->ctas < cluster ? cluster : w->ctas / cluster * cluster;
    agents += w->ctas * w->instances;
    if (w->pipe_role != role) {
      role = w->pipe_role;
      *pipes += w->ctas;
      slots = 0;
    }
    if (w->multiplies) slots += w->instances;
    if (slots > run->slots) run->slots = slots;
  }
  if (agents > MAX_AGENTS)
    return MOK_ERROR(MOK_ERR_USAGE, "%lld worker instances run at once, the engine can follow %d", (long long)agents,
                     (int)MAX_AGENTS);
  run->agent_count = (int32_t)agents;
  return MOK_OK;
}

static void make_agents(check_run *run) {
  check_group *g = run->group;
  int32_t n = 0, pipe_first = 0, pipe_slot = 0;
  for (int i = 0; i < g->worker_count; ++i) {
    const check_worker *w = &g->workers[i];
    if (i > 0 && w->pipe_role != g->workers[i - 1].pipe_role) {
      pipe_first += (int32_t)g->workers[i - 1].ctas;
      pipe_slot = 0;
    }
    for (int32_t cta = 0; cta < w->ctas; ++cta)
      for (int32_t instance = 0; instance < w->instances; ++instance, ++n)
        run->agents[n] = (check_agent){.worker = w,
                                       .number = n,
                                       .cta = cta,
                                       .instance = instance,
                                       .clock = 1,
                                       .pipe = pipe_first + cta,
                                       .pipe_slot = w->multiplies ? pipe_slot + instance : 0,
                                       .next_waiter = -1};
    if (w->multiplies) pipe_slot += w->instances;
  }
  run->ready_first = run->ready_end = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (check_first_tile(run, &run->agents[i])) check_make_ready(run, &run->agents[i]);
    else run->agents[i].state = CHECK_DONE;
  }
}

/* Roles with fewer multiplying instances than another: the places that nobody takes never hold a loader back. */
static void make_pipes(check_run *run, int64_t pipes) {
  for (int64_t p = 0; p < pipes; ++p) run->pipes[p] = (check_pipe){0, -1};
  for (int64_t s = 0; s < pipes * run->slots; ++s) run->started[s] = INT64_MAX / 2;
  for (int32_t i = 0; i < run->agent_count; ++i)
    if (run->agents[i].worker->multiplies)
      run->started[(size_t)run->agents[i].pipe * (size_t)run->slots + (size_t)run->agents[i].pipe_slot] = 0;
}

static size_t stream_cells(const check_track *track, const check_stream *stream) {
  return (size_t)track->slots * (size_t)stream->elements;
}

/* For every stream of the group, in a fixed order. */
static void place_stream(const check_track *track, check_stream *stream, char **at) {
  const size_t cells = stream_cells(track, stream);
  stream->block = (int32_t *)*at;
  stream->stamp = (check_clock *)(*at + cells * sizeof(int32_t));
  stream->instance = (uint16_t *)(*at + cells * (sizeof(int32_t) + sizeof(check_clock)));
  memset(stream->block, 0xff, cells * sizeof(int32_t));
  memset(stream->stamp, 0, cells * (sizeof(check_clock) + sizeof(uint16_t)));
  *at += (cells * (sizeof(int32_t) + sizeof(check_clock) + sizeof(uint16_t)) + 15) & ~(size_t)15;
}

static void make_streams(check_run *run) {
  check_group *g = run->group;
  size_t bytes = 0;
  for (int t = 0; t < g->track_count; ++t) {
    check_track *track = &g->tracks[t];
    track->slots = track->region->ring ? run->ring_slots : check_blocks(run, track->base);
    for (int s = 0; s < track->write_count + track->read_count; ++s) {
      const check_stream *stream = s < track->write_count ? &track->writes[s] : &track->reads[s - track->write_count];
      bytes += stream_cells(track, stream) * (sizeof(int32_t) + sizeof(check_clock) + sizeof(uint16_t)) + 16;
    }
  }
  char *at = check_grow(run, &run->streams_buffer, bytes + 16, 1);
  for (int t = 0; t < g->track_count; ++t) {
    check_track *track = &g->tracks[t];
    for (int s = 0; s < track->write_count; ++s) place_stream(track, &track->writes[s], &at);
    for (int s = 0; s < track->read_count; ++s) place_stream(track, &track->reads[s], &at);
  }
}

mok_status check_make_group(check_run *run) {
  check_group *g = run->group;
  int64_t pipes = 0;
  MOK_TRY(count_agents(run, &pipes));
  const size_t n = (size_t)run->agent_count;
  size_t gate_clocks = 0;
  for (int i = 0; i < g->gate_count; ++i) {
    g->gates[i].offset = gate_clocks;
    gate_clocks += (size_t)check_blocks(run, g->gates[i].counter->per) * n;
  }
  run->depth = g->least_k_tiles > 0 ? (int32_t)(g->stages / g->least_k_tiles) + 2 : 1;
  const size_t handed = g->least_k_tiles > 0 ? (size_t)pipes * (size_t)run->depth * n : 0;
  if ((gate_clocks + handed + n * n) * sizeof(check_clock) > MAX_BYTES)
    return MOK_ERROR(MOK_ERR_USAGE,
                     "%lld row blocks on rank %lld with %zu worker instances need more than %d MiB; give fewer tokens (--tokens)",
                     (long long)run->row_blocks, (long long)run->rank, n, MAX_BYTES >> 20);
  run->agents = check_grow(run, &run->agents_buffer, n, sizeof *run->agents);
  run->clocks = check_grow(run, &run->clocks_buffer, n * n, sizeof *run->clocks);
  run->gates = check_grow(run, &run->gates_buffer, gate_clocks, sizeof *run->gates);
  run->handed = check_grow(run, &run->handed_buffer, handed, sizeof *run->handed);
  run->tiles = check_grow(run, &run->tiles_buffer, (size_t)pipes * (size_t)run->depth, sizeof *run->tiles);
  run->pipes = check_grow(run, &run->pipes_buffer, (size_t)pipes, sizeof *run->pipes);
  run->started = check_grow(run, &run->started_buffer, (size_t)pipes * (size_t)run->slots, sizeof *run->started);
  run->ready_capacity = 2 * n + 1;
  run->ready = check_grow(run, &run->ready_buffer, run->ready_capacity, sizeof *run->ready);
  memset(run->clocks, 0, n * n * sizeof *run->clocks);
  memset(run->gates, 0, gate_clocks * sizeof *run->gates);
  for (int64_t i = 0; i < run->words; ++i) run->waiters[i] = -1;
  for (int w = 0; w < g->worker_count; ++w)
    for (int t = 0; t < g->workers[w].task_count; ++t)
      for (int o = 0; o < g->workers[w].tasks[t].op_count; ++o) {
        check_op *op = &g->workers[w].tasks[t].ops[o];
        if (!op->lag_field) continue;
        op->lag = op->lag_field == &run->c->plan->ring_slots ? run->ring_slots : *op->lag_field;
      }
  make_streams(run);
  make_agents(run);
  make_pipes(run, pipes);
  return MOK_OK;
}
