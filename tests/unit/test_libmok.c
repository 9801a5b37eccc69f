/* libmok on the emulated driver: misuse of every function, devices that do not fit, every CUDA call failing in turn, and that
 * nothing is left behind in any of these cases. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../compiler/package/package.h"
#include "../../runtime/base/file.h"
#include "../../runtime/runtime.h"
#include "../support/support.h"

enum { RANKS = 2, TOKENS = 256, HIDDEN = 512, INTERMEDIATE = 256, EXPERTS = 8, TOP_K = 2 };

static mok_arena *arena;
static const mok_plan *plan;
static const char *folder;
static mok_blob packed;
static int64_t cluster = 2; /* of the next package's plan */
static const char *names =
    "barrier 0 BARRIER_ROUTED\nbarrier 1 BARRIER_COMBINED\ncounter 0 COUNTER_X_READY\n"
    "counter 11 COUNTER_Y_DONE\nwait 23 compute_load down\nwait 234 compute_mma down\n";
static long (*emulated_live)(void);
static int *emulated_launches, *emulated_current;
static uint64_t memory[64]; /* what device pointers point to; launches do nothing here */

/* ------------------------------------------------------------------------------------------------ fixture */

static mok_blob blob(const char *name, const char *text) { return (mok_blob){.name = name, .data = text, .size = strlen(text)}; }

static void make_package(const char *name, int tokens) {
  mok_diag *diag = mok_diag_create(arena);
  mok_model *m = MOK_NEW(arena, mok_model);
  mok_model_defaults(m);
  m->name = name;
  m->given[MOK_FIELD_name] = true;
  m->hidden = HIDDEN;
  m->intermediate = INTERMEDIATE;
  m->experts = EXPERTS;
  m->top_k = TOP_K;
  m->shared_experts = 1;
  m->gpus = RANKS;
  m->tokens_per_gpu = tokens;
  m->gpu = (mok_gpu_choice){"H200", MOK_AUTO};
  m->cluster = cluster;
  mok_model_finish(m, name, diag);
  ck_assert_int_eq(mok_diag_errors(diag), 0);
  mok_assert_ok(mok_plan_make(arena, diag, m, mok_gpu_find("H200"), &plan));
  const mok_sources sources = {.kernel = blob("kernel.cu", "kernel\n"),
                               .plan_h = blob("mok_plan.h", "plan\n"),
                               .layout_h = blob("mok_layout.h", "layout\n"),
                               .maps = blob("maps", "map up.x bf16 tokens x 512 box 128 64 swizzle 128 promotion 256\n"),
                               .names = blob("names", names)};
  const mok_image image = {.code = blob("forward.cubin", "\177ELF code"), .registers = 168, .log = "", .compiler = "NVRTC 13.0"};
  const mok_target *target = mok_target_find("sm_90a");
  folder = mok_arena_printf(arena, "%s.mok", mok_test_path(name));
  mok_assert_ok(mok_package_write(arena, folder, plan, target, &sources, &image));
  mok_assert_ok(mok_package_pack(arena, plan, target, &sources, &image, &packed));
}

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  ck_assert_msg(address != NULL, "the emulated driver has no %s", name);
  return address;
}

static void setup_package(void) {
  arena = mok_arena_create();
  make_package("layer", TOKENS);
}

static void setup(void) {
  setup_package();
  /* Stays loaded, so that dlopen("libcuda.so.1") finds it. */
  void *library = dlopen(EMULATED_CUDA, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  void *live = symbol(library, "emulated_live");
  memcpy(&emulated_live, &live, sizeof live);
  emulated_launches = symbol(library, "emulated_launches");
  emulated_current = symbol(library, "emulated_current");
  ck_assert_int_eq(emulated_live(), 0);
}

static void teardown(void) {
  if (emulated_live) {
    ck_assert_msg(emulated_live() == 0, "%ld objects of the driver are left", emulated_live());
    ck_assert_int_eq(*emulated_current, 0);
  }
  mok_arena_destroy(arena);
}

static mok_load_args from_folder(int device) {
  return (mok_load_args){.struct_size = sizeof(mok_load_args), .path = folder, .device = device};
}

static mok_kernel *load(int device) {
  const mok_load_args args = from_folder(device);
  mok_kernel *kernel = NULL;
  mok_assert_ok(mok_kernel_load(&args, &kernel));
  return kernel;
}

/* All ranks on one device. */
static mok_workspace *create(mok_kernel *kernel) {
  const mok_group group = {.struct_size = sizeof group, .kernels = &kernel, .kernel_count = 1};
  mok_workspace *workspace = NULL;
  mok_assert_ok(mok_workspace_create(&group, &workspace));
  return workspace;
}

static void fill_args(mok_forward_args args[RANKS]) {
  const mok_weights weights = {.base = memory};
  for (int r = 0; r < RANKS; r++)
    args[r] = (mok_forward_args){.struct_size = sizeof args[r],
                                 .x = memory,
                                 .topk_ids = (const int32_t *)memory,
                                 .topk_weights = (const float *)memory,
                                 .out = memory,
                                 .gate = weights,
                                 .up = weights,
                                 .down = weights,
                                 .shared_gate = weights,
                                 .shared_up = weights,
                                 .shared_down = weights,
                                 .tokens = TOKENS};
}

/* ------------------------------------------------------------------------------------------------ loading */

START_TEST(status_of_success) {
  ck_assert_int_eq(mok_status_exit_code(NULL), MOK_STATUS_OK);
  ck_assert_str_eq(mok_status_text(NULL), "");
  mok_status_free(NULL);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.", MOK_VERSION_MAJOR, MOK_VERSION_MINOR);
  ck_assert_int_eq(strncmp(mok_version(), version, strlen(version)), 0);
}
END_TEST

START_TEST(load_arguments) {
  mok_load_args args = from_folder(0);
  mok_kernel *kernel = (mok_kernel *)memory;
  mok_assert_error(mok_kernel_load(&args, NULL), MOK_ERR_USAGE, "out is NULL");
  mok_assert_error(mok_kernel_load(NULL, &kernel), MOK_ERR_USAGE, "mok_load_args is NULL");
  ck_assert_ptr_null(kernel);
  args.struct_size = 0;
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_USAGE, "struct_size is 0");
  args.struct_size = sizeof args - 1;
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_USAGE, "sizeof(mok_load_args)");
  args = from_folder(0);
  args.memory = packed.data;
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_USAGE, "exactly one of path and memory");
  args.memory = args.path = NULL;
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_USAGE, "exactly one of path and memory");
  args = from_folder(-1);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "there is no device -1: the driver sees 1");
  args = from_folder(1);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "there is no device 1: the driver sees 1");
  args.path = "/nowhere/x.mok";
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, "/nowhere/x.mok");
  ck_assert_ptr_null(kernel);
  mok_kernel_unload(NULL);
}
END_TEST

/* A caller built with a newer header: what this library does not know must be zero. */
START_TEST(longer_structs) {
  struct {
    mok_load_args args;
    uint64_t more;
  } newer = {.args = from_folder(0), .more = 0};
  newer.args.struct_size = sizeof newer;
  mok_kernel *kernel = NULL;
  mok_assert_ok(mok_kernel_load(&newer.args, &kernel));
  mok_kernel_unload(kernel);
  newer.more = 1;
  mok_assert_error(mok_kernel_load(&newer.args, &kernel), MOK_ERR_USAGE, "is not 0");
  ck_assert_ptr_null(kernel);
}
END_TEST

START_TEST(package_in_memory) {
  mok_load_args args = {.struct_size = sizeof args, .memory = packed.data, .memory_size = packed.size};
  mok_kernel *kernel = NULL;
  mok_assert_ok(mok_kernel_load(&args, &kernel));
  mok_kernel *other = load(0);
  ck_assert_str_eq(kernel->digest, other->digest);
  mok_kernel_unload(other);
  mok_kernel_unload(kernel);
  /* Cut anywhere, and with anything changed. */
  for (size_t size = 0; size < packed.size; size += 61) {
    args.memory_size = size;
    mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, "");
    ck_assert_ptr_null(kernel);
  }
  char *copy = malloc(packed.size);
  args.memory = copy;
  args.memory_size = packed.size;
  for (size_t at = 0; at < packed.size; at += 61) {
    memcpy(copy, packed.data, packed.size);
    copy[at] ^= 1;
    mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, "");
    ck_assert_ptr_null(kernel);
  }
  free(copy);
}
END_TEST

START_TEST(damaged_folder) {
  const char *code = mok_path_join(arena, folder, "forward.cubin");
  const mok_load_args args = from_folder(0);
  mok_kernel *kernel = NULL;
  mok_test_write(code, "\177ELF cude");
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, "forward.cubin does not match its checksum");
  mok_test_write(code, "\177ELF");
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, "has 4 bytes, but the manifest says 9");
  ck_assert_int_eq(unlink(code), 0);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, "forward.cubin");
  ck_assert_int_eq(unlink(mok_path_join(arena, folder, MOK_MANIFEST_NAME)), 0);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO, MOK_MANIFEST_NAME);
  ck_assert_ptr_null(kernel);
}
END_TEST

START_TEST(devices_that_do_not_fit) {
  static const struct {
    const char *name, *value, *part;
  } cases[] = {
      {"EMULATED_CAPABILITY", "100", "was built for sm_90a (compute capability 9.0)"},
      {"EMULATED_SMS", "131", "has 131 SMs; plan for it"},
      {"EMULATED_SHARED", "1000", "bytes of shared memory in a CTA, device 0 (NVIDIA H200) has 1000"},
      {"EMULATED_COOPERATIVE", "0", "no cooperative launches"},
      {"EMULATED_OCCUPANCY", "0", "does not hold a CTA"},
      {"EMULATED_COUNT", "0", "the driver sees 0"},
  };
  const mok_load_args args = from_folder(0);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mok_kernel *kernel = NULL;
    setenv(cases[i].name, cases[i].value, 1);
    mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, cases[i].part);
    unsetenv(cases[i].name);
    ck_assert_ptr_null(kernel);
    ck_assert_int_eq(emulated_live(), 0);
  }
}
END_TEST

START_TEST(drivers_that_do_not_do) {
  const mok_load_args args = from_folder(0);
  mok_kernel *kernel = NULL;
  setenv("EMULATED_INIT", "34", 1);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "the CUDA toolkit's stub");
  setenv("EMULATED_INIT", "100", 1);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "it sees no GPU");
  setenv("EMULATED_INIT", "999", 1);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "cuInit failed: unknown error (999)");
  unsetenv("EMULATED_INIT");
  setenv("EMULATED_MISSING", "cuLaunchKernelEx", 1);
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "no cuLaunchKernelEx of CUDA 12.0");
  unsetenv("EMULATED_MISSING");
  ck_assert_ptr_null(kernel);
}
END_TEST

/* Without the emulated driver. */
START_TEST(no_driver) {
  void *real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (real) return; /* a machine with a GPU shows this otherwise */
  const mok_load_args args = from_folder(0);
  mok_kernel *kernel = NULL;
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_GPU, "no NVIDIA driver: tried dlopen(\"libcuda.so.1\")");
  ck_assert_ptr_null(kernel);
}
END_TEST

static char logged[1024];
static void keep_line(void *user, const char *text) {
  ck_assert_ptr_eq(user, memory);
  ck_assert_ptr_null(strchr(text, '\n'));
  snprintf(logged, sizeof logged, "%s", text);
}

START_TEST(query_and_log) {
  mok_load_args args = from_folder(0);
  args.log = keep_line;
  args.log_user = memory;
  mok_kernel *kernel = NULL;
  mok_assert_ok(mok_kernel_load(&args, &kernel));
  ck_assert_ptr_nonnull(strstr(logged, "layer: loaded on device 0 (NVIDIA H200, 132 SMs)"));

  mok_kernel_info info = {.struct_size = sizeof info};
  mok_assert_ok(mok_kernel_query(kernel, &info));
  ck_assert_uint_eq(info.struct_size, sizeof info);
  ck_assert_int_eq(info.ranks, RANKS);
  ck_assert_int_eq(info.tokens_per_rank, TOKENS);
  ck_assert_int_eq(info.hidden, HIDDEN);
  ck_assert_int_eq(info.intermediate, INTERMEDIATE);
  ck_assert_int_eq(info.shared_intermediate, INTERMEDIATE);
  ck_assert_int_eq(info.experts, EXPERTS);
  ck_assert_int_eq(info.top_k, TOP_K);
  ck_assert_int_eq(info.gated, 1);
  ck_assert_int_eq(info.comm_ctas, plan->sms_comm);
  ck_assert_int_eq(info.compute_ctas, plan->sms_compute);
  ck_assert_int_eq(info.cluster, 2);
  ck_assert_int_eq(info.symmetric_bytes, plan->symmetric_bytes);
  ck_assert_int_eq(info.local_bytes, plan->local_bytes);

  mok_kernel_info before = {.struct_size = offsetof(mok_kernel_info, cluster), .cluster = -1}; /* as it was before clusters */
  mok_assert_ok(mok_kernel_query(kernel, &before));
  ck_assert_int_eq(before.local_bytes, plan->local_bytes);
  ck_assert_int_eq(before.cluster, -1);
  mok_kernel_info older = {.struct_size = offsetof(mok_kernel_info, hidden), .hidden = -1};
  mok_assert_ok(mok_kernel_query(kernel, &older));
  ck_assert_int_eq(older.tokens_per_rank, TOKENS);
  ck_assert_int_eq(older.hidden, -1);
  mok_assert_error(mok_kernel_query(NULL, &info), MOK_ERR_USAGE, "kernel is NULL");
  mok_assert_error(mok_kernel_query(kernel, NULL), MOK_ERR_USAGE, "info is NULL");
  info.struct_size = sizeof info + 1;
  mok_assert_error(mok_kernel_query(kernel, &info), MOK_ERR_USAGE, "struct_size");
  info.struct_size = 0;
  mok_assert_error(mok_kernel_query(kernel, &info), MOK_ERR_USAGE, "struct_size");

  int64_t symmetric = 0, local = 0;
  mok_assert_ok(mok_workspace_size(kernel, &symmetric, &local));
  ck_assert_int_eq(symmetric % (2 << 20), 0);
  ck_assert_int_ge(symmetric, plan->symmetric_bytes);
  ck_assert_int_lt(symmetric, plan->symmetric_bytes + (2 << 20));
  ck_assert_int_ge(local, plan->local_bytes);
  ck_assert_int_lt(local, plan->local_bytes + 512);
  mok_assert_error(mok_workspace_size(NULL, &symmetric, &local), MOK_ERR_USAGE, "NULL");
  mok_assert_error(mok_workspace_size(kernel, NULL, &local), MOK_ERR_USAGE, "NULL");
  mok_assert_error(mok_workspace_size(kernel, &symmetric, NULL), MOK_ERR_USAGE, "NULL");
  mok_kernel_unload(kernel);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ workspaces */

START_TEST(group_arguments) {
  setenv("EMULATED_COUNT", "2", 1);
  mok_kernel *kernels[3] = {load(0), load(1), load(0)};
  mok_workspace *out[3] = {NULL, NULL, NULL};
  mok_group group = {.struct_size = sizeof group, .kernels = kernels, .kernel_count = 2};
  mok_assert_error(mok_workspace_create(&group, NULL), MOK_ERR_USAGE, "out is NULL");
  mok_assert_error(mok_workspace_create(NULL, out), MOK_ERR_USAGE, "mok_group is NULL");
  group.struct_size = 8;
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_USAGE, "struct_size is 8");
  group.struct_size = sizeof group;
  group.kernels = NULL;
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_USAGE, "kernels is NULL");
  group.kernels = kernels;
  static const int wrong_counts[] = {0, -1, 3};
  for (size_t i = 0; i < sizeof wrong_counts / sizeof wrong_counts[0]; i++) {
    group.kernel_count = wrong_counts[i];
    mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_USAGE, "mok_group");
  }
  group.kernel_count = 2;
  mok_kernel *const holes[] = {kernels[0], NULL}, *const same[] = {kernels[0], kernels[2]};
  group.kernels = holes;
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_USAGE, "kernels[1] is NULL");
  group.kernels = same;
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_USAGE, "kernels 0 and 1 are on the same device 0");
  group.kernels = kernels;
  setenv("EMULATED_PEERS", "0", 1);
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_GPU, "device 0 cannot reach the memory of device 1");
  unsetenv("EMULATED_PEERS");
  setenv("EMULATED_NO_PATH", "16", 1); /* 16 * from + to: one way of one pair */
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_GPU, "device 1 cannot reach the memory of device 0");
  unsetenv("EMULATED_NO_PATH");

  make_package("other", TOKENS / 2);
  mok_kernel *const mixed[] = {kernels[0], load(1)};
  group.kernels = mixed;
  mok_assert_error(mok_workspace_create(&group, out), MOK_ERR_USAGE, "kernels 0 (layer) and 1 (other) are of different packages");
  mok_kernel_unload(mixed[1]);
  for (int i = 0; i < 3; i++) {
    ck_assert_ptr_null(out[i]);
    mok_kernel_unload(kernels[i]);
  }
  mok_workspace_destroy(NULL);
}
END_TEST

START_TEST(a_device_for_each_rank) {
  setenv("EMULATED_COUNT", "2", 1);
  mok_kernel *kernels[RANKS] = {load(0), load(1)};
  mok_workspace *first[RANKS], *second[RANKS];
  const mok_group group = {.struct_size = sizeof group, .kernels = kernels, .kernel_count = RANKS};
  mok_assert_ok(mok_workspace_create(&group, first));
  mok_assert_ok(mok_workspace_create(&group, second));
  mok_forward_args args[RANKS];
  fill_args(args);
  for (int r = 0; r < RANKS; r++) {
    mok_assert_ok(mok_forward(first[r], &args[r], NULL, NULL));
    mok_assert_ok(mok_check(first[r], NULL));
  }
  ck_assert_int_eq(*emulated_launches, RANKS);
  /* The heaps of a group live as long as one of its workspaces. */
  mok_workspace_destroy(first[1]);
  mok_workspace_destroy(second[0]);
  mok_assert_ok(mok_check(first[0], NULL));
  mok_workspace_destroy(first[0]);
  mok_kernel_unload(kernels[0]); /* has no workspace any more, its heap has a user */
  mok_assert_ok(mok_check(second[1], NULL));
  mok_workspace_destroy(second[1]);
  mok_kernel_unload(kernels[1]);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ steps */

START_TEST(forward_arguments) {
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  mok_assert_error(mok_forward(NULL, args, NULL, NULL), MOK_ERR_USAGE, "workspace is NULL");
  mok_assert_error(mok_forward(ws, NULL, NULL, NULL), MOK_ERR_USAGE, "args is NULL");
  args[0].struct_size = 8;
  mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_USAGE, "mok_forward_args: struct_size is 8");
  static const int counts[] = {-1, TOKENS + 1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    fill_args(args);
    args[1].tokens = counts[i];
    mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_USAGE, "rank 1: ");
  }
  static const struct {
    size_t offset;
    const char *name;
  } pointers[] = {
#define POINTER(member, name) {offsetof(mok_forward_args, member), name}
      POINTER(x, "x"),
      POINTER(topk_ids, "topk_ids"),
      POINTER(topk_weights, "topk_weights"),
      POINTER(out, "out"),
      POINTER(gate.base, "gate"),
      POINTER(up.base, "up"),
      POINTER(down.base, "down"),
      POINTER(shared_gate.base, "shared_gate"),
      POINTER(shared_up.base, "shared_up"),
      POINTER(shared_down.base, "shared_down"),
      POINTER(tokens_dev, "tokens_dev"),
  };
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
    const char *null = NULL, *odd = (const char *)memory + 2;
    void *const slot = (char *)&args[1] + pointers[i].offset;
    fill_args(args);
    memcpy(slot, &odd, sizeof odd);
    mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_USAGE,
                     mok_arena_printf(arena, "rank 1: %s is not aligned", pointers[i].name));
    if (strcmp(pointers[i].name, "tokens_dev") == 0) continue;
    memcpy(slot, &null, sizeof null);
    mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_USAGE,
                     mok_arena_printf(arena, "rank 1: %s is NULL, but needed", pointers[i].name));
  }
  static const int64_t strides[][2] = {{-8, 0}, {12, 0}, {0, HIDDEN - 8}, {0, HIDDEN + 4}, {0, -HIDDEN}};
  for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
    fill_args(args);
    args[0].gate.expert_stride = strides[i][0];
    args[0].gate.row_stride = strides[i][1];
    mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_USAGE, "rank 0: gate has strides of");
  }
  ck_assert_int_eq(*emulated_launches, 0);

  /* A rank without tokens needs no arrays of tokens. */
  fill_args(args);
  args[0].tokens = 0;
  args[0].x = args[0].out = NULL;
  args[0].topk_ids = NULL;
  args[0].topk_weights = NULL;
  mok_assert_ok(mok_forward(ws, args, NULL, NULL));
  ck_assert_int_eq(*emulated_launches, 1);
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}
END_TEST

/* Counts of CTAs in clusters of `cluster`. */
static void check_launch_options(void) {
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  /* As it was before it had timeouts. */
  mok_launch_options options = {.struct_size = offsetof(mok_launch_options, local_timeout_ms)};
  mok_assert_ok(mok_forward(ws, args, &options, NULL));
  options.struct_size = 4;
  mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_USAGE, "mok_launch_options: struct_size is 4");
  options.struct_size = sizeof options;
  options.compute_ctas = kernel->info.compute_ctas + (int)cluster;
  mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_USAGE,
                   mok_arena_printf(arena, "%d compute CTAs; the plan allows %d to %d", options.compute_ctas, (int)cluster,
                                    kernel->info.compute_ctas));
  options.compute_ctas = -1;
  mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_USAGE, "-1 compute CTAs");
  options.compute_ctas = 0;
  options.comm_ctas = kernel->info.comm_ctas + (int)cluster;
  mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_USAGE, "communication CTAs; the plan allows");
  /* Together the ranks must be co-resident. */
  options = (mok_launch_options){.struct_size = sizeof options, .compute_ctas = kernel->info.compute_ctas};
  mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_GPU, "that device 0 runs at once");
  ck_assert_int_eq(*emulated_launches, 1);
  options.compute_ctas = (int)cluster;
  mok_assert_ok(mok_forward(ws, args, &options, NULL));
  ck_assert_int_eq(*emulated_launches, 2);
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}

START_TEST(launch_options) { check_launch_options(); }
END_TEST

/* The same without clusters, where any count does. */
START_TEST(launch_options_of_single_ctas) {
  cluster = 1;
  make_package("single", TOKENS);
  check_launch_options();
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  ck_assert_int_eq(kernel->info.cluster, 1);
  const mok_launch_options options = {.struct_size = sizeof options, .comm_ctas = 1, .compute_ctas = 3};
  mok_assert_ok(mok_forward(ws, args, &options, NULL));
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}
END_TEST

/* CTAs of a cluster start together or not at all. */
START_TEST(launch_options_of_clusters) {
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  static const struct {
    int comm, compute;
    const char *part;
  } cases[] = {{2, 3, "mok_launch_options: 3 compute CTAs; they start in clusters of 2"},
               {3, 2, "mok_launch_options: 3 communication CTAs; they start in clusters of 2"},
               {2, 1, "mok_launch_options: 1 compute CTAs; the plan allows 2 to "},
               {1, 2, "mok_launch_options: 1 communication CTAs; the plan allows 2 to "}};
  ck_assert_int_ge(kernel->info.comm_ctas, 4);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const mok_launch_options options = {
        .struct_size = sizeof options, .comm_ctas = cases[i].comm, .compute_ctas = cases[i].compute};
    mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_USAGE, cases[i].part);
  }
  ck_assert_int_eq(*emulated_launches, 0);
  const mok_launch_options even = {.struct_size = sizeof even, .comm_ctas = 4, .compute_ctas = 2};
  mok_assert_ok(mok_forward(ws, args, &even, NULL));
  ck_assert_int_eq(*emulated_launches, 1);
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}
END_TEST

/* A device may have room for fewer clusters than its SMs would make: some SMs have no partner. */
START_TEST(devices_with_few_clusters) {
  setenv("EMULATED_CLUSTERS", "3", 1);
  mok_kernel *kernel = load(0);
  unsetenv("EMULATED_CLUSTERS");
  ck_assert_int_eq(kernel->resident_ctas, 6);
  mok_workspace *ws = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_GPU, "that device 0 runs at once");
  const mok_launch_options options = {.struct_size = sizeof options, .comm_ctas = 2, .compute_ctas = 2};
  mok_assert_error(mok_forward(ws, args, &options, NULL), MOK_ERR_GPU, "that device 0 runs at once");
  ck_assert_int_eq(*emulated_launches, 0);
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
  setenv("EMULATED_FAIL", "cuOccupancyMaxActiveClusters:1", 1);
  const mok_load_args load_args = from_folder(0);
  mok_assert_error(mok_kernel_load(&load_args, &kernel), MOK_ERR_GPU, "cuOccupancyMaxActiveClusters failed");
  unsetenv("EMULATED_FAIL");
  ck_assert_ptr_null(kernel);
}
END_TEST

/* Arguments of ranks lie struct_size apart, whatever this library's own size is. */
START_TEST(newer_forward_args) {
  struct {
    mok_forward_args args;
    uint64_t more[2];
  } newer[RANKS];
  mok_forward_args args[RANKS];
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  fill_args(args);
  memset(newer, 0, sizeof newer);
  for (int r = 0; r < RANKS; r++) {
    newer[r].args = args[r];
    newer[r].args.struct_size = sizeof newer[r];
  }
  mok_assert_ok(mok_forward(ws, &newer[0].args, NULL, NULL));
  newer[1].more[1] = 7;
  mok_assert_error(mok_forward(ws, &newer[0].args, NULL, NULL), MOK_ERR_USAGE, "mok_forward_args: struct_size is");
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}
END_TEST

/* A captured launch keeps its arguments until the workspace goes; a plain one keeps nothing. */
START_TEST(captured_launches) {
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  mok_assert_ok(mok_forward(ws, args, NULL, NULL));
  ck_assert_ptr_null(ws->captured);
  setenv("EMULATED_CAPTURING", "1", 1);
  mok_assert_ok(mok_forward(ws, args, NULL, NULL));
  mok_assert_ok(mok_forward(ws, args, NULL, NULL));
  ck_assert_ptr_nonnull(ws->captured);
  ck_assert_ptr_nonnull(ws->captured->next);
  ck_assert_ptr_null(ws->captured->next->next);
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ what the device recorded */

static uint32_t *control_line(const mok_workspace *ws, int rank, int line) {
  const mok_cu_pointer at = ws->local + (mok_cu_pointer)rank * ws->local_size + (mok_cu_pointer)ws->kernel->control_offset;
  return (uint32_t *)(uintptr_t)at + line * MOK_LINE_WORDS;
}

START_TEST(input_errors) {
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel);
  mok_input_errors errors = {.struct_size = sizeof errors};
  mok_assert_error(mok_check(NULL, &errors), MOK_ERR_USAGE, "workspace is NULL");
  errors.struct_size = 3;
  mok_assert_error(mok_check(ws, &errors), MOK_ERR_USAGE, "struct_size is 3");
  errors.struct_size = sizeof errors;
  mok_assert_ok(mok_check(ws, &errors));
  ck_assert_int_eq(errors.bad_ids, 0);
  ck_assert_int_eq(errors.bad_counts, 0);

  uint32_t *line = control_line(ws, 1, MOK_LINE_INPUT_ERROR);
  line[MOK_INPUT_BAD_IDS] = 3;
  line[MOK_INPUT_ROUTE] = 7 * TOP_K + 1;
  line[MOK_INPUT_ID] = EXPERTS;
  mok_assert_ok(mok_check(ws, &errors));
  ck_assert_int_eq(errors.bad_ids, 3);
  ck_assert_int_eq(errors.rank, 1);
  ck_assert_int_eq(errors.token, 7);
  ck_assert_int_eq(errors.slot, 1);
  ck_assert_int_eq(errors.id, EXPERTS);
  mok_assert_ok(mok_check(ws, &errors)); /* told once */
  ck_assert_int_eq(errors.bad_ids, 0);

  line[MOK_INPUT_BAD_IDS] = 1;
  line[MOK_INPUT_ID] = (uint32_t)-5;
  mok_assert_error(mok_check(ws, NULL), MOK_ERR_USAGE, "expert ids are outside 0 to 7; the first: rank 1 token 0 slot 0: -5");
  line[MOK_INPUT_BAD_TOKENS] = 2;
  line[MOK_INPUT_TOKENS] = TOKENS + 9;
  mok_assert_error(mok_check(ws, NULL), MOK_ERR_USAGE, "token count outside 0 to 256 and computed nothing; the first was 265");
  mok_assert_ok(mok_check(ws, NULL));
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
}
END_TEST

START_TEST(aborted_workspace) {
  mok_kernel *kernel = load(0);
  mok_workspace *ws = create(kernel), *other = create(kernel);
  mok_forward_args args[RANKS];
  fill_args(args);
  static const uint32_t kinds[] = {MOK_WAIT_IS_RANK_BARRIER, MOK_WAIT_IS_GRID_BARRIER, MOK_WAIT_IS_COUNTER};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    uint32_t *record = control_line(ws, 1, MOK_LINE_WAIT_ERROR);
    control_line(ws, 1, MOK_LINE_ABORT)[0] = 1;
    record[MOK_WAIT_KIND] = kinds[i];
    record[MOK_WAIT_RANK] = 1;
    record[MOK_WAIT_EXPECTED] = 4711;
    record[MOK_WAIT_SEEN] = 4242;
    mok_status status = mok_check(ws, NULL);
    ck_assert_int_eq(mok_status_exit_code(status), MOK_STATUS_ABORTED);
    ck_assert_ptr_nonnull(strstr(mok_status_text(status), "rank 1"));
    ck_assert_ptr_nonnull(strstr(mok_status_text(status), "4711"));
    ck_assert_ptr_nonnull(strstr(mok_status_text(status), "4242"));
    mok_status_free(status);
  }
  /* A rank that was told by a peer's flag says less than the one that waited, wherever it stands. */
  control_line(ws, 0, MOK_LINE_ABORT)[0] = MOK_WAIT_IS_POISONED;
  control_line(ws, 0, MOK_LINE_WAIT_ERROR)[MOK_WAIT_KIND] = MOK_WAIT_IS_POISONED;
  mok_assert_error(mok_check(ws, NULL), MOK_ERR_PROTOCOL, "4711");
  mok_assert_error(mok_forward(ws, args, NULL, NULL), MOK_ERR_PROTOCOL, "create a new one");
  ck_assert_int_eq(*emulated_launches, 0);
  mok_assert_ok(mok_forward(other, args, NULL, NULL)); /* only that workspace is lost */
  mok_workspace_destroy(ws);
  mok_assert_ok(mok_check(other, NULL));
  mok_workspace_destroy(other);
  mok_kernel_unload(kernel);
}
END_TEST

/* The text of a record of rank 0. */
static const char *told(mok_kernel *kernel, const uint32_t *record) {
  mok_workspace *ws = create(kernel);
  control_line(ws, 0, MOK_LINE_ABORT)[0] = record[MOK_WAIT_KIND];
  memcpy(control_line(ws, 0, MOK_LINE_WAIT_ERROR), record, MOK_LINE_WORDS * sizeof *record);
  mok_status status = mok_check(ws, NULL);
  const char *text = mok_arena_strdup(arena, mok_status_text(status));
  mok_status_free(status);
  mok_workspace_destroy(ws);
  return text;
}

START_TEST(records_have_names) {
  mok_kernel *kernel = load(0);
  uint32_t record[MOK_LINE_WORDS] = {[MOK_WAIT_KIND] = MOK_WAIT_IS_COUNTER,
                                     [MOK_WAIT_COUNTER] = 11,
                                     [MOK_WAIT_INDEX] = 3,
                                     [MOK_WAIT_INSTANCE] = 1,
                                     [MOK_WAIT_LINE] = 234};
  ck_assert_ptr_nonnull(strstr(told(kernel, record), "compute_mma[1] in task down at kernel.cu:234: COUNTER_Y_DONE[3] expected"));
  record[MOK_WAIT_LINE] = 23; /* and not what begins like it */
  record[MOK_WAIT_COUNTER] = 0;
  ck_assert_ptr_nonnull(
      strstr(told(kernel, record), "compute_load[1] in task down at kernel.cu:23: COUNTER_X_READY[3] expected"));
  record[MOK_WAIT_LINE] = 2;
  record[MOK_WAIT_COUNTER] = 1;
  ck_assert_ptr_nonnull(strstr(told(kernel, record), "role 0, worker at warp 0[1] at kernel.cu:2: counter word 4 expected"));
  record[MOK_WAIT_KIND] = MOK_WAIT_IS_RANK_BARRIER;
  record[MOK_WAIT_LINE] = 0;
  ck_assert_ptr_nonnull(strstr(told(kernel, record), "rank barrier BARRIER_COMBINED expected launch 0 of rank 3"));
  record[MOK_WAIT_KIND] = MOK_WAIT_IS_POISONED;
  record[MOK_WAIT_COUNTER] = 0;
  ck_assert_ptr_nonnull(strstr(told(kernel, record), "rank barrier BARRIER_ROUTED: rank 3 gave up"));
  record[MOK_WAIT_KIND] = MOK_WAIT_IS_GRID_BARRIER;
  ck_assert_ptr_nonnull(strstr(told(kernel, record), "grid barrier 0 expected"));
  mok_kernel_unload(kernel);

  names = "";
  make_package("nameless", TOKENS);
  kernel = load(0);
  record[MOK_WAIT_KIND] = MOK_WAIT_IS_POISONED;
  ck_assert_ptr_nonnull(strstr(told(kernel, record), "rank barrier 0: rank 3 gave up"));
  mok_kernel_unload(kernel);
}
END_TEST

static const char *const wrong_names[] = {"counter X_READY 0", "counter 0", "counter 0 X 1", "counter 0  X",       "counter -1 X",
                                          "barrier 0 x-y",     "wait 5 a",  "wait 5 a b c",  "wait 1234567890 a b"};

START_TEST(names_of_another_form) {
  names = mok_arena_printf(arena, "%s\n", wrong_names[_i]);
  make_package("misnamed", TOKENS);
  const mok_load_args args = from_folder(0);
  mok_kernel *kernel = NULL;
  mok_assert_error(mok_kernel_load(&args, &kernel), MOK_ERR_IO,
                   mok_arena_printf(arena, "says '%s', which names nothing", wrong_names[_i]));
}
END_TEST

/* ------------------------------------------------------------------------------------------------ failing calls */

/* All that a program does, until something fails; then it cleans up. */
static mok_status whole_life(void) {
  const mok_load_args load_args = from_folder(0);
  mok_kernel *kernel = NULL;
  mok_workspace *ws = NULL;
  mok_forward_args args[RANKS];
  int64_t symmetric = 0, local = 0;
  fill_args(args);
  mok_status status = mok_kernel_load(&load_args, &kernel);
  ck_assert_int_eq(!status, kernel != NULL);
  if (!status) status = mok_workspace_size(kernel, &symmetric, &local);
  const mok_group group = {.struct_size = sizeof group, .kernels = &kernel, .kernel_count = 1};
  if (!status) {
    status = mok_workspace_create(&group, &ws);
    ck_assert_int_eq(!status, ws != NULL);
  }
  if (!status) status = mok_forward(ws, args, NULL, NULL);
  if (!status) {
    control_line(ws, 0, MOK_LINE_INPUT_ERROR)[MOK_INPUT_BAD_IDS] = 1;
    mok_input_errors errors = {.struct_size = sizeof errors};
    status = mok_check(ws, &errors);
  }
  unsetenv("EMULATED_FAIL"); /* destructors cannot tell, and without their context cannot free */
  mok_workspace_destroy(ws);
  mok_kernel_unload(kernel);
  return status;
}

/* What a refusal of the driver says beside its code. */
START_TEST(refusals_say_what_they_met) {
  mok_kernel *kernel = NULL;
  const mok_load_args load_args = from_folder(0);
  setenv("EMULATED_FAIL", "cuModuleLoadData:1", 1);
  mok_status status = mok_kernel_load(&load_args, &kernel);
  ck_assert_ptr_nonnull(strstr(mok_status_text(status), "loading compiled code with a driver for CUDA 12.0"));
  mok_assert_error(status, MOK_ERR_GPU, "loading forward.cubin, made by ");
  unsetenv("EMULATED_FAIL");

  kernel = load(0);
  const mok_group group = {.struct_size = sizeof group, .kernels = &kernel, .kernel_count = 1};
  mok_workspace *ws = NULL;
  for (int i = 0; i < 2; i++) {
    setenv("EMULATED_FAIL", i ? "cuMemAlloc:1" : "cuMemCreate:1", 1);
    mok_assert_error(mok_workspace_create(&group, &ws), MOK_ERR_GPU,
                     "device 0 had 151397597184 of 151397597184 bytes free"); /* 141 GiB */
    ck_assert_ptr_null(ws);
  }
  unsetenv("EMULATED_FAIL");
  setenv("EMULATED_GRANULARITY", "0", 1);
  mok_assert_error(mok_workspace_create(&group, &ws), MOK_ERR_GPU, "cuMemGetAllocationGranularity says 0 bytes for device 0");
  int64_t symmetric = 0, local = 0;
  mok_assert_error(mok_workspace_size(kernel, &symmetric, &local), MOK_ERR_GPU, "says 0 bytes");
  unsetenv("EMULATED_GRANULARITY");
  ck_assert_ptr_null(ws);
  mok_kernel_unload(kernel);
}
END_TEST

START_TEST(every_call_fails_in_turn) {
  static const char *const functions[] = {
#define MOK_CUDA_FUNCTION(name, parameters) #name,
#include "../../runtime/cuda/driver_syms.def"
#undef MOK_CUDA_FUNCTION
  };
  int failures = 0, functions_failed = 0;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    for (int call = 1;; call++) {
      const long before = emulated_live();
      setenv("EMULATED_FAIL", mok_arena_printf(arena, "%s:%d", functions[i], call), 1);
      mok_status status = whole_life();
      ck_assert_int_eq(*emulated_current, 0);
      if (!status) {
        functions_failed += call > 1;
        break;
      }
      ck_assert_msg(emulated_live() == before, "call %d of %s failed: %ld objects of the driver are left", call, functions[i],
                    emulated_live() - before);
      ck_assert_int_eq(mok_status_exit_code(status), MOK_STATUS_DEVICE);
      ck_assert_msg(strstr(mok_status_text(status), functions[i]) != NULL, "call %d of %s failed, but the text is: %s", call,
                    functions[i], mok_status_text(status));
      ck_assert_ptr_nonnull(strstr(mok_status_text(status), "CUDA_ERROR_OUT_OF_MEMORY"));
      mok_status_free(status);
      failures++;
    }
  }
  /* The functions that the life of a program goes through; some several times. */
  ck_assert_int_ge(functions_failed, 26);
  ck_assert_int_ge(failures, 40);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("libmok");
  TCase *bare = tcase_create("without a driver");
  tcase_add_checked_fixture(bare, setup_package, teardown);
  tcase_add_test(bare, status_of_success);
  tcase_add_test(bare, no_driver);
  suite_add_tcase(suite, bare);
  TCase *emulated = tcase_create("emulated driver");
  tcase_add_checked_fixture(emulated, setup, teardown);
  tcase_set_timeout(emulated, 30);
  tcase_add_test(emulated, load_arguments);
  tcase_add_test(emulated, longer_structs);
  tcase_add_test(emulated, package_in_memory);
  tcase_add_test(emulated, damaged_folder);
  tcase_add_test(emulated, devices_that_do_not_fit);
  tcase_add_test(emulated, drivers_that_do_not_do);
  tcase_add_test(emulated, query_and_log);
  tcase_add_test(emulated, group_arguments);
  tcase_add_test(emulated, a_device_for_each_rank);
  tcase_add_test(emulated, forward_arguments);
  tcase_add_test(emulated, launch_options);
  tcase_add_test(emulated, launch_options_of_single_ctas);
  tcase_add_test(emulated, launch_options_of_clusters);
  tcase_add_test(emulated, devices_with_few_clusters);
  tcase_add_test(emulated, newer_forward_args);
  tcase_add_test(emulated, captured_launches);
  tcase_add_test(emulated, input_errors);
  tcase_add_test(emulated, aborted_workspace);
  tcase_add_test(emulated, records_have_names);
  tcase_add_loop_test(emulated, names_of_another_form, 0, (int)(sizeof wrong_names / sizeof wrong_names[0]));
  tcase_add_test(emulated, refusals_say_what_they_met);
  tcase_add_test(emulated, every_call_fails_in_turn);
  suite_add_tcase(suite, emulated);
  return mok_suite_main(suite);
}
