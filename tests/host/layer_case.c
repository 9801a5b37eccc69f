#include "layer_case.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* Sum of four uniform numbers: variance 1, no tails that would decide a comparison. */
static double next_normal(uint64_t *state) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += (double)(next_random(state) >> 11) * 0x1p-53 - 0.5;
  return sum * 1.7320508075688772;
}

static uint16_t to_bf16(double value) {
  const float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

static double from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static void *must_alloc(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (p == NULL) abort();
  return p;
}

static uint16_t *random_matrix(uint64_t *state, size_t count, double scale) {
  uint16_t *m = must_alloc(count * sizeof *m);
  for (size_t i = 0; i < count; ++i) m[i] = to_bf16(next_normal(state) * scale);
  return m;
}

static int first_expert(const layer_shape *s, int rank) { return rank * s->experts / s->gpus; }

static void load_library(layer_case *c, const char *path) {
  c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (c->library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  c->about = dlsym(c->library, MOK_HOST_ABOUT_SYMBOL);
  void *run = dlsym(c->library, MOK_HOST_RUN_SYMBOL);
  if (c->about == NULL || run == NULL || c->about->abi != MOK_HOST_ABI || c->about->args_abi != MOK_ARGS_ABI) {
    fprintf(stderr, "%s: not a kernel of this version\n", path);
    exit(1);
  }
  memcpy(&c->run, &run, sizeof run);
}

layer_case *layer_case_create(const char *library, const layer_shape *shape, const int *tokens, uint64_t seed) {
  layer_case *c = must_alloc(sizeof *c);
  const layer_shape *s = &c->shape;
  c->shape = *shape;
  load_library(c, library);
  const size_t h = (size_t)s->hidden, i = (size_t)s->intermediate, is = (size_t)s->shared_intermediate, e = (size_t)s->experts;
  c->gate = random_matrix(&seed, e * i * h, 1 / sqrt(s->hidden));
  c->up = random_matrix(&seed, e * i * h, 1 / sqrt(s->hidden));
  c->down = random_matrix(&seed, e * h * i, 1 / sqrt(s->intermediate));
  c->shared_gate = random_matrix(&seed, is * h, 1 / sqrt(s->hidden));
  c->shared_up = random_matrix(&seed, is * h, 1 / sqrt(s->hidden));
  c->shared_down = random_matrix(&seed, is * h, 1 / sqrt(is ? (double)is : 1));
  for (int r = 0; r < s->gpus; ++r) {
    const size_t t = (size_t)tokens[r], routes = t * (size_t)s->top_k;
    c->tokens[r] = tokens[r];
    c->x[r] = random_matrix(&seed, t * h, 1);
    c->out[r] = must_alloc(t * h * sizeof *c->out[r]);
    c->ids[r] = must_alloc(routes * sizeof *c->ids[r]);
    c->weights[r] = must_alloc(routes * sizeof *c->weights[r]);
    for (size_t j = 0; j < routes; ++j) {
      c->ids[r][j] = (int)(next_random(&seed) % e);
      c->weights[r][j] = (float)((double)(next_random(&seed) >> 11) * 0x1p-53 - 0.25); /* some negative */
    }
    mok_rank_args *a = &c->ranks[r];
    const size_t first = (size_t)first_expert(s, r);
    a->x = c->x[r];
    a->topk_ids = c->ids[r];
    a->topk_weights = c->weights[r];
    a->out = c->out[r];
    a->gate = (mok_weight){c->gate + first * i * h, (long long)(i * h), (long long)h};
    a->up = (mok_weight){c->up + first * i * h, (long long)(i * h), (long long)h};
    a->down = (mok_weight){c->down + first * i * h, (long long)(i * h), (long long)i};
    a->shared_gate = (mok_weight){c->shared_gate, 0, (long long)h};
    a->shared_up = (mok_weight){c->shared_up, 0, (long long)h};
    a->shared_down = (mok_weight){c->shared_down, 0, (long long)is};
    a->local = must_alloc((size_t)c->about->local_bytes);
    a->tokens = tokens[r];
    a->rank = r;
  }
  for (int r = 0; r < s->gpus; ++r) {
    void *heap = must_alloc((size_t)c->about->heap_bytes);
    for (int q = 0; q < s->gpus; ++q) c->ranks[q].heap[r] = heap;
  }
  c->args = (mok_args){.ranks = c->ranks,
                       .num_ranks_here = s->gpus,
                       .phases = MOK_PHASE_ALL,
                       .comm_ctas = c->about->sms_comm,
                       .compute_ctas = c->about->sms_compute};
  return c;
}

void layer_case_destroy(layer_case *c) {
  for (int r = 0; r < c->shape.gpus; ++r) {
    free(c->x[r]);
    free(c->out[r]);
    free(c->ids[r]);
    free(c->weights[r]);
    free(c->ranks[r].local);
    free(c->ranks[0].heap[r]);
  }
  free(c->gate);
  free(c->up);
  free(c->down);
  free(c->shared_gate);
  free(c->shared_up);
  free(c->shared_down);
  dlclose(c->library);
  free(c);
}

void layer_case_reset(layer_case *c) {
  for (int r = 0; r < c->shape.gpus; ++r) {
    memset(c->ranks[r].local, 0, (size_t)c->about->local_bytes);
    memset(c->ranks[0].heap[r], 0, (size_t)c->about->heap_bytes);
  }
}

int layer_case_run(layer_case *c, uint64_t seed, unsigned flags, unsigned phases) {
  c->args.phases = phases;
  const mok_host_launch_t launch = {.struct_size = sizeof launch, .flags = flags, .args = &c->args, .seed = seed};
  c->report = (mok_host_report_t){.struct_size = sizeof c->report, .text = c->text, .text_size = sizeof c->text};
  return c->run(&launch, &c->report);
}

static double activate(const layer_shape *s, double gate, double up) {
  if (s->clamp > 0) {
    gate = fmin(gate, s->clamp);
    up = fmax(-s->clamp, fmin(up, s->clamp));
  }
  return mok_reference_activate(s->activation, gate, up);
}

/* sum += factor * bf16(down h), h = bf16(act(gate x, up x)), for one token and one expert. */
static void add_expert(const layer_shape *s, const uint16_t *x, const uint16_t *gate, const uint16_t *up, const uint16_t *down,
                       int width, double factor, double *sum) {
  double *h = must_alloc((size_t)width * sizeof *h);
  for (int j = 0; j < width; ++j) {
    double g = 0, u = 0;
    for (int i = 0; i < s->hidden; ++i) {
      g += from_bf16(x[i]) * from_bf16(gate[(size_t)j * (size_t)s->hidden + (size_t)i]);
      u += from_bf16(x[i]) * from_bf16(up[(size_t)j * (size_t)s->hidden + (size_t)i]);
    }
    h[j] = from_bf16(to_bf16(activate(s, g, u)));
  }
  for (int i = 0; i < s->hidden; ++i) {
    double y = 0;
    for (int j = 0; j < width; ++j) y += h[j] * from_bf16(down[(size_t)i * (size_t)width + (size_t)j]);
    sum[i] += factor * from_bf16(to_bf16(y));
  }
  free(h);
}

double layer_case_error(const layer_case *c) {
  const layer_shape *s = &c->shape;
  const size_t weight = (size_t)s->intermediate * (size_t)s->hidden;
  double error = 0, norm = 0;
  double *sum = must_alloc((size_t)s->hidden * sizeof *sum);
  for (int r = 0; r < s->gpus; ++r)
    for (int t = 0; t < c->tokens[r]; ++t) {
      const uint16_t *x = c->x[r] + (size_t)t * (size_t)s->hidden;
      memset(sum, 0, (size_t)s->hidden * sizeof *sum);
      if (s->shared_intermediate) add_expert(s, x, c->shared_gate, c->shared_up, c->shared_down, s->shared_intermediate, 1, sum);
      for (int j = 0; j < s->top_k; ++j) {
        const int route = t * s->top_k + j, id = c->ids[r][route];
        if (id < 0 || id >= s->experts) continue;
        const size_t at = (size_t)id * weight;
        add_expert(s, x, c->gate + at, c->up + at, c->down + at, s->intermediate, c->weights[r][route], sum);
      }
      for (int i = 0; i < s->hidden; ++i) {
        const double d = from_bf16(c->out[r][(size_t)t * (size_t)s->hidden + (size_t)i]) - sum[i];
        error += d * d;
        norm += sum[i] * sum[i];
      }
    }
  free(sum);
  if (norm == 0) return error == 0 ? 0 : error != error ? error : INFINITY;
  return sqrt(error / norm);
}

uint64_t layer_case_digest(const layer_case *c) {
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (int r = 0; r < c->shape.gpus; ++r)
    for (size_t i = 0; i < (size_t)c->tokens[r] * (size_t)c->shape.hidden; ++i)
      digest = (digest ^ c->out[r][i]) * UINT64_C(0x100000001b3);
  return digest;
}

const unsigned *layer_case_input_error(const layer_case *c, int rank) {
  /* control is the first region of the local workspace in every layout the tests use; checked by the library's static_assert */
  return (const unsigned *)c->ranks[rank].local + MOK_LINE_INPUT_ERROR * MOK_LINE_WORDS;
}
