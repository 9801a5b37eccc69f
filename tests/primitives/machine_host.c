/* Kernels of the host target, in this process. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../templates/host/mok_host.h"
#include "harness.h"

enum { ALIGNMENT = 128 };

typedef struct host_kernel {
  void *library;
  mok_host_run_fn run;
} host_kernel;

static void load(prim *p) {
  char path[4096];
  snprintf(path, sizeof path, "%s/kernel.host.so", p->folder);
  host_kernel *kernel = prim_host_memory(sizeof *kernel, 0);
  kernel->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!kernel->library) prim_die("%s", dlerror());
  const mok_host_about_t *about = dlsym(kernel->library, MOK_HOST_ABOUT_SYMBOL);
  void *run = dlsym(kernel->library, MOK_HOST_RUN_SYMBOL);
  if (!about || !run || about->abi != MOK_HOST_ABI || about->args_abi != MOK_ARGS_ABI)
    prim_die("%s: not a kernel of this version", path);
  memcpy(&kernel->run, &run, sizeof run);
  p->kernel = kernel;
}

static void unload(prim *p) {
  host_kernel *kernel = p->kernel;
  dlclose(kernel->library);
  free(kernel);
}

static void *allocate(prim *p, size_t bytes) {
  (void)p;
  void *memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!memory) prim_die("out of memory: %zu bytes", bytes);
  return memory;
}

static void release(prim *p, void *memory) {
  (void)p;
  free(memory);
}

static void copy(prim *p, void *to, const void *from, size_t bytes) {
  (void)p;
  memcpy(to, from, bytes);
}

static void launch(prim *p) {
  const host_kernel *kernel = p->kernel;
  p->args.ranks = p->ranks;
  char text[2048] = "";
  const mok_host_launch_t what = {
      .struct_size = sizeof what, .flags = p->races ? MOK_HOST_RACES : 0, .args = &p->args, .seed = p->seed};
  mok_host_report_t report = {.struct_size = sizeof report, .text = text, .text_size = sizeof text};
  const int result = kernel->run(&what, &report);
  const bool gave_up = result == MOK_HOST_DEADLOCK || result == MOK_HOST_ABORTED;
  prim_expect(p, result == MOK_HOST_OK || (p->may_deadlock && gave_up && report.stuck == 0), "launch ended with %d: %s", result,
              text);
}

const prim_machine prim_host = {
    .load = load,
    .unload = unload,
    .allocate = allocate,
    .release = release,
    .copy_in = copy,
    .copy_out = copy,
    .launch = launch,
    .schedules = 3,
};
