#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../templates/mok_fault.h"

enum { MOST_SHOWN = 4, MOST_TEXT = 1 << 20 };

void prim_die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("primitives: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

static void show(prim *p, const char *format, va_list args) {
  if (++p->failures > MOST_SHOWN) return;
  printf("  %s: ", p->name);
  vprintf(format, args);
  printf("\n");
}

bool prim_expect(prim *p, bool holds, const char *format, ...) {
  p->checks++;
  if (holds) return true;
  va_list args;
  va_start(args, format);
  show(p, format, args);
  va_end(args);
  return false;
}

bool prim_expect_bytes(prim *p, const void *at, const void *expected, size_t bytes, size_t unit, const char *format, ...) {
  p->checks++;
  unsigned char *found = prim_host_memory(bytes, 0);
  prim_read(p, found, at, bytes);
  const unsigned char *right = expected;
  size_t i = 0;
  while (i < bytes && found[i] == right[i]) i++;
  if (i < bytes) {
    char what[200], place[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    i = i / unit * unit;
    size_t used = (size_t)snprintf(place, sizeof place, "element %zu has bytes", i / unit);
    for (size_t j = 0; j < unit && j < 16; j++)
      used += (size_t)snprintf(place + used, sizeof place - used, " %02x", found[i + j]);
    used += (size_t)snprintf(place + used, sizeof place - used, ", right is");
    for (size_t j = 0; j < unit && j < 16; j++)
      used += (size_t)snprintf(place + used, sizeof place - used, " %02x", right[i + j]);
    prim_expect(p, false, "%s: %s", what, place);
  }
  free(found);
  return i >= bytes;
}

/* ------------------------------------------------------------------------------------------------ numbers */

unsigned prim_random(uint64_t *state, unsigned bound) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  z ^= z >> 31;
  return (unsigned)(((z >> 32) * bound) >> 32);
}

uint16_t prim_bf16(double value) {
  const float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return f != f ? 0x7fff : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

double prim_from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Behind "#define NAME "; NULL if there is none. */
static const char *find_fact(const prim *p, const char *name) {
  const size_t size = strlen(name);
  for (const char *at = p->facts; (at = strstr(at, "#define ")) != NULL;) {
    at += strlen("#define ");
    if (strncmp(at, name, size) == 0 && at[size] == ' ') return at + size;
  }
  return NULL;
}

long long prim_fact(const prim *p, const char *name) {
  const char *text = find_fact(p, name);
  char *end = NULL;
  const long long value = text ? strtoll(text, &end, 10) : 0;
  if (!text || end == text) prim_die("%s: no number %s", p->folder, name);
  return value;
}

double prim_real(const prim *p, const char *name) {
  const char *text = find_fact(p, name);
  return text ? strtod(text, NULL) : 0;
}

/* ------------------------------------------------------------------------------------------------ memory */

void *prim_host_memory(size_t bytes, int fill) {
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) prim_die("out of memory: %zu bytes", bytes);
  return memset(memory, fill, bytes);
}

void prim_write(prim *p, void *to, const void *from, size_t bytes) { p->machine->copy_in(p, to, from, bytes); }
void prim_read(prim *p, void *to, const void *from, size_t bytes) { p->machine->copy_out(p, to, from, bytes); }

void prim_fill(prim *p, void *to, int fill, size_t bytes) {
  void *filled = prim_host_memory(bytes, fill);
  prim_write(p, to, filled, bytes);
  free(filled);
}

void *prim_memory(prim *p, size_t bytes, int fill) {
  if (p->block_count == PRIM_MOST_BLOCKS) prim_die("%s: more than %d blocks of memory", p->name, PRIM_MOST_BLOCKS);
  void *memory = p->machine->allocate(p, bytes > 0 ? bytes : 1);
  p->blocks[p->block_count++] = memory;
  prim_fill(p, memory, fill, bytes);
  return memory;
}

void *prim_upload(prim *p, const void *from, size_t bytes) {
  void *memory = prim_memory(p, bytes, 0);
  prim_write(p, memory, from, bytes);
  return memory;
}

static long long region_fact(const prim *p, const char *region, const char *what) {
  char name[80];
  snprintf(name, sizeof name, "LAYOUT_%s_%s", region, what);
  return prim_fact(p, name);
}

void *prim_local(const prim *p, int rank, const char *region) {
  return (char *)p->ranks[rank].local + region_fact(p, region, "OFFSET");
}
void *prim_heap(const prim *p, int rank, const char *region) { return (char *)p->heaps[rank] + region_fact(p, region, "OFFSET"); }

static void zero_region(prim *p, void *base, const char *region) {
  prim_fill(p, (char *)base + region_fact(p, region, "OFFSET"), 0, (size_t)region_fact(p, region, "BYTES"));
}

void prim_reset(prim *p, int fill) {
  for (int r = 0; r < p->rank_count; r++) {
    prim_fill(p, p->ranks[r].local, fill, (size_t)prim_fact(p, "LAYOUT_LOCAL_BYTES"));
    prim_fill(p, p->heaps[r], fill, (size_t)prim_fact(p, "LAYOUT_HEAP_BYTES"));
    zero_region(p, p->ranks[r].local, "CONTROL");
    zero_region(p, p->ranks[r].local, "COUNTERS");
    if (p->rank_count > 1) zero_region(p, p->heaps[r], "FLAGS");
  }
}

static void create_ranks(prim *p) {
  p->rank_count = (int)prim_fact(p, "PLAN_GPUS");
  for (int r = 0; r < p->rank_count; r++) {
    p->ranks[r].rank = r;
    p->ranks[r].local = prim_memory(p, (size_t)prim_fact(p, "LAYOUT_LOCAL_BYTES"), 0);
    p->heaps[r] = prim_memory(p, (size_t)prim_fact(p, "LAYOUT_HEAP_BYTES"), 0);
  }
  for (int r = 0; r < p->rank_count; r++)
    for (int peer = 0; peer < p->rank_count; peer++) p->ranks[r].heap[peer] = p->heaps[peer];
  p->args = (mok_args){.num_ranks_here = p->rank_count, .phases = MOK_PHASE_ALL};
}

/* ------------------------------------------------------------------------------------------------ launches */

void prim_launch(prim *p, int comm_ctas, int compute_ctas) {
  const bool comm = prim_fact(p, "PLAN_SMS_COMM") > 0;
  p->args.comm_ctas = comm ? comm_ctas : 0;
  p->args.compute_ctas = comm ? compute_ctas : comm_ctas + compute_ctas;
  p->machine->launch(p);
}

void prim_control(prim *p, int rank, int line, unsigned *words) {
  const char *control = prim_local(p, rank, "CONTROL");
  prim_read(p, words, control + (size_t)line * MOK_LINE_WORDS * 4, (size_t)MOK_LINE_WORDS * 4);
}

static char *read_text(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  if (!file) prim_die("cannot read %s", path);
  char *text = prim_host_memory(MOST_TEXT, 0);
  text[fread(text, 1, MOST_TEXT - 1, file)] = '\0';
  fclose(file);
  return text;
}

static const struct {
  const char *family;
  void (*check)(prim *p);
} families[] = {{"sync", check_sync},      {"route", check_route},      {"move", check_move},    {"product", check_product},
                {"gather", check_product}, {"epilogue", check_product}, {"reduce", check_reduce}};

int prim_run(const char *folder) {
  prim *p = prim_host_memory(sizeof *p, 0);
  char path[4096];
  snprintf(path, sizeof path, "%s/kernel.host.so", folder);
  p->folder = folder;
  const char *slash = strrchr(folder, '/');
  p->name = slash ? slash + 1 : folder;
  p->machine = access(path, R_OK) == 0 ? &prim_host : &prim_gpu;
  char *family = read_text(folder, "family"), *plan = read_text(folder, "mok_plan.h"),
       *layout = read_text(folder, "mok_layout.h");
  snprintf(p->family, sizeof p->family, "%.*s", (int)strcspn(family, "\n"), family);
  p->facts = prim_host_memory(2 * MOST_TEXT, 0);
  strcat(strcat(p->facts, plan), layout);
  free(family);
  free(plan);
  free(layout);

  size_t i = 0;
  while (i < sizeof families / sizeof families[0] && strcmp(families[i].family, p->family) != 0) i++;
  if (i == sizeof families / sizeof families[0]) prim_die("%s: no family %s", folder, p->family);
  p->machine->load(p);
  create_ranks(p);
  families[i].check(p);
  prim_expect(p, p->checks > 0, "nothing was checked");
  for (int b = 0; b < p->block_count; b++) p->machine->release(p, p->blocks[b]);
  p->machine->unload(p);
  if (p->failures == 0) printf("PASS %s: %lld checks\n", p->name, p->checks);
  else printf("FAIL %s: %d of %lld checks failed\n", p->name, p->failures, p->checks);
  fflush(stdout);
  const int failed = p->failures > 0;
  free(p->facts);
  free(p);
  return failed;
}
