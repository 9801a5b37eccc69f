/* Packages: what is written is read back, the same bytes anywhere; whatever is changed afterwards is found and named. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../runtime/package/manifest.h"
#include "../../compiler/package/package.h"
#include "../../runtime/base/file.h"
#include "../../runtime/base/sha256.h"
#include "../support/support.h"

static mok_arena *arena;
static const char *folder;
static const mok_plan *plan;

static mok_blob blob(const char *name, const char *text) { return (mok_blob){.name = name, .data = text, .size = strlen(text)}; }

static mok_status write_to(const char *path) {
  const mok_sources sources = {.kernel = blob("kernel.cu", "kernel text\n"),
                               .plan_h = blob("mok_plan.h", "plan text\n"),
                               .layout_h = blob("mok_layout.h", "layout text\n"),
                               .maps = blob("maps", "map first recipe\nmap second recipe\n"),
                               .names = blob("names", "counter 0 COUNTER_A\nwait 7 compute_mma up\n")};
  const mok_image image = {.code = blob("forward.cubin", "\177ELF code"), .registers = 168, .log = "", .compiler = "NVRTC 13.0"};
  return mok_package_write(arena, path, plan, mok_target_find("sm_90a"), &sources, &image);
}

static void setup(void) {
  arena = mok_arena_create();
  mok_diag *diag = mok_diag_create(arena);
  mok_model *m = MOK_NEW(arena, mok_model);
  mok_model_defaults(m);
  m->name = "small";
  m->given[MOK_FIELD_name] = true;
  m->hidden = 512;
  m->intermediate = 256;
  m->experts = 8;
  m->top_k = 2;
  m->gpus = 2;
  m->tokens_per_gpu = 256;
  m->gpu = (mok_gpu_choice){"H200", MOK_AUTO};
  mok_model_finish(m, "small", diag);
  ck_assert_int_eq(mok_diag_errors(diag), 0);
  mok_assert_ok(mok_plan_make(arena, diag, m, mok_gpu_find("H200"), &plan));
  folder = mok_arena_strdup(arena, mok_test_path("small.mok"));
  mok_assert_ok(write_to(folder));
}

static void teardown(void) {
  mok_assert_ok(mok_folder_remove_all(folder));
  mok_arena_destroy(arena);
}

static const char *in(const char *name) { return mok_path_join(arena, folder, name); }

static mok_status read_back(mok_package *package) { return mok_package_read(arena, folder, package); }

/* Writes a manifest of `lines`, with the checksum that makes it pass. */
static void set_manifest(const char *lines) {
  char hex[65];
  mok_sha256_of(lines, strlen(lines), hex);
  mok_test_write(in(MOK_MANIFEST_NAME), mok_arena_printf(arena, "%send %s\n", lines, hex));
}

/* The present manifest without its last line. */
static char *manifest_lines(void) {
  char *text = mok_test_read(in(MOK_MANIFEST_NAME));
  char *copy = mok_arena_strdup(arena, text);
  free(text);
  strstr(copy, "\nend ")[1] = '\0';
  return copy;
}

/* The text with the first `from` replaced. */
static const char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  ck_assert_msg(at != NULL, "'%s' is not in the manifest", from);
  return mok_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

START_TEST(round_trip) {
  mok_package package;
  mok_assert_ok(read_back(&package));
  ck_assert_str_eq(package.target, "sm_90a");
  static const char *const names[] = {"manifest.txt", "forward.cubin", "plan.json",   "plan.txt",
                                      "kernel.cu",    "mok_plan.h",    "mok_layout.h"};
  ck_assert_uint_eq(package.file_count, sizeof names / sizeof names[0]);
  for (size_t i = 0; i < package.file_count; i++) ck_assert_str_eq(package.files[i].name, names[i]);
  ck_assert_uint_eq(mok_package_file(&package, "kernel.cu")->size, strlen("kernel text\n"));
  ck_assert_int_eq(memcmp(mok_package_file(&package, "kernel.cu")->data, "kernel text\n", strlen("kernel text\n")), 0);
  ck_assert_ptr_null(mok_package_file(&package, "backward.cubin"));

  ck_assert_str_eq(package.lookup(&package, "name"), "small");
  ck_assert_str_eq(package.lookup(&package, "gpu"), "H200");
  ck_assert_str_eq(package.lookup(&package, "compiler"), "NVRTC 13.0");
  ck_assert_str_eq(package.lookup(&package, "ranks"), "2");
  ck_assert_str_eq(package.lookup(&package, "kernel"), "forward registers 168 spill_bytes 0 stack_bytes 0 shared_bytes 0");
  ck_assert_int_eq(atoll(package.lookup(&package, "local_bytes")), plan->local_bytes);
  char hex[65];
  const mok_blob *json = mok_package_file(&package, "plan.json");
  mok_sha256_of(json->data, json->size, hex);
  ck_assert_str_eq(package.lookup(&package, "plan_sha256"), hex);
  ck_assert_ptr_null(package.lookup(&package, "nothing"));
  ck_assert_int_eq(strncmp(package.files[0].data, "mok-package 1\nmokgen ", strlen("mok-package 1\nmokgen ")), 0);
  ck_assert_ptr_nonnull(strstr(package.files[0].data, "\nregion heap flags 0 "));
  ck_assert_ptr_nonnull(strstr(package.files[0].data, "\nmap first recipe\nmap second recipe\ncounter 0 COUNTER_A\nwait 7 "));
}
END_TEST

START_TEST(same_bytes_in_another_folder) {
  const char *other = mok_arena_strdup(arena, mok_test_path("other name.mok"));
  mok_assert_ok(write_to(other));
  mok_package one, two;
  mok_assert_ok(read_back(&one));
  mok_assert_ok(mok_package_read(arena, other, &two));
  ck_assert_uint_eq(one.file_count, two.file_count);
  for (size_t i = 0; i < one.file_count; i++) {
    ck_assert_str_eq(one.files[i].name, two.files[i].name);
    ck_assert_uint_eq(one.files[i].size, two.files[i].size);
    ck_assert_int_eq(memcmp(one.files[i].data, two.files[i].data, one.files[i].size), 0);
  }
  ck_assert_int_eq(mok_test_entries(other), (int)two.file_count);
  mok_assert_ok(mok_folder_remove_all(other));
}
END_TEST

START_TEST(rewrite_and_foreign_folder) {
  mok_assert_ok(write_to(folder)); /* over itself */
  const char *foreign = mok_arena_strdup(arena, mok_test_path("foreign"));
  ck_assert_int_eq(mkdir(foreign, 0700), 0);
  mok_test_write(mok_path_join(arena, foreign, "thesis.txt"), "mine");
  mok_assert_error(write_to(foreign), MOK_ERR_IO, "left untouched");
  ck_assert_int_eq(mok_test_entries(foreign), 1);
  mok_assert_ok(mok_folder_remove_all(foreign));
}
END_TEST

/* One bit anywhere in any file, and each file cut short, lengthened or absent: an error that names the file. */
START_TEST(every_file_is_protected) {
  mok_package good;
  mok_assert_ok(read_back(&good));
  for (size_t i = 0; i < good.file_count; i++) {
    const mok_blob *file = &good.files[i];
    const size_t stride = file->size / 61 + 1;
    char *bytes = mok_arena_alloc(arena, file->size + 1);
    mok_package package;
    for (size_t at = 0; at < file->size; at += stride) {
      memcpy(bytes, file->data, file->size);
      bytes[at] ^= 1;
      mok_assert_ok(mok_file_write(in(file->name), bytes, file->size));
      mok_assert_error(read_back(&package), MOK_ERR_IO, file->name);
      mok_assert_ok(mok_file_write(in(file->name), file->data, at));
      mok_assert_error(read_back(&package), MOK_ERR_IO, file->name);
    }
    memcpy(bytes, file->data, file->size);
    bytes[file->size] = '\n';
    mok_assert_ok(mok_file_write(in(file->name), bytes, file->size + 1));
    mok_assert_error(read_back(&package), MOK_ERR_IO, file->name);
    ck_assert_int_eq(unlink(in(file->name)), 0);
    mok_assert_error(read_back(&package), MOK_ERR_IO, file->name);
    mok_assert_ok(mok_file_write(in(file->name), file->data, file->size));
  }
  mok_assert_ok(read_back(&good));
}
END_TEST

START_TEST(links_and_folders_are_not_followed) {
  mok_package package;
  ck_assert_int_eq(rename(in("kernel.cu"), mok_test_path("elsewhere")), 0);
  ck_assert_int_eq(symlink(mok_test_path("elsewhere"), in("kernel.cu")), 0);
  mok_assert_error(read_back(&package), MOK_ERR_IO, "kernel.cu is a link");
  ck_assert_int_eq(unlink(in("kernel.cu")), 0);
  ck_assert_int_eq(mkdir(in("kernel.cu"), 0700), 0);
  mok_assert_error(read_back(&package), MOK_ERR_IO, "kernel.cu is no regular file");
  ck_assert_int_eq(rmdir(in("kernel.cu")), 0);
  ck_assert_int_eq(mkfifo(in("kernel.cu"), 0600), 0); /* would block a plain open */
  mok_assert_error(read_back(&package), MOK_ERR_IO, "kernel.cu is no regular file");
  ck_assert_int_eq(unlink(in("kernel.cu")), 0);
  ck_assert_int_eq(unlink(in(MOK_MANIFEST_NAME)), 0);
  ck_assert_int_eq(symlink("/dev/zero", in(MOK_MANIFEST_NAME)), 0);
  mok_assert_error(read_back(&package), MOK_ERR_IO, "manifest.txt is a link");
  mok_assert_error(mok_package_read(arena, "/nowhere/x.mok", &package), MOK_ERR_IO, "/nowhere/x.mok");
  mok_assert_error(mok_package_read(arena, mok_test_path("elsewhere"), &package), MOK_ERR_IO, "elsewhere");
}
END_TEST

/* Manifests that somebody wrote with the right checksum. */
static const struct {
  const char *from, *to, *says;
} forged[] = {
    {"mok-package 1\n", "mok-package 2\n", "reads format 1: rebuild with mokgen"},
    {"mok-package 1\n", "mok-package 11\n", "rebuild with mokgen"},
    {"mok-package 1\n", "mok-package \n", "rebuild with mokgen"},
    {"mok-package 1\n", "tarball 1\n", "not the manifest of a package"},
    {"file kernel.cu ", "file /etc/passwd ", "'/etc/passwd' is no file name"},
    {"file kernel.cu ", "file ../kernel.cu ", "'../kernel.cu' is no file name"},
    {"file kernel.cu ", "file sub/kernel.cu ", "is no file name"},
    {"file kernel.cu ", "file .kernel.cu ", "is no file name"},
    {"file kernel.cu ", "file manifest.txt ", "is no file name"},
    {"file kernel.cu ", "file a\\b ", "is no file name"},
    {"file kernel.cu ", "file plan.txt ", "second line for file plan.txt"},
    {"file kernel.cu 12 ", "file kernel.cu 13 ", "truncated or changed"},
    {"file kernel.cu 12 ", "file kernel.cu 11 ", "kernel.cu"},
    {"file kernel.cu 12 ", "file kernel.cu 012 ", "size '012'"},
    {"file kernel.cu 12 ", "file kernel.cu -1 ", "size '-1'"},
    {"file kernel.cu 12 ", "file kernel.cu 99999999999999999999 ", "size '99999999999999999999'"},
    {"file kernel.cu 12 ", "file kernel.cu 2000000000 ", "size '2000000000'"},
    {"file kernel.cu 12 ", "file kernel.cu ", "is not 'file NAME BYTES SHA256'"},
    {"file kernel.cu 12 ", "file kernel.cu 12 0", "no SHA-256"},
    {"name small\n", "name\n", "is not 'key value'"},
    {"name small\n", "name \n", "is not 'key value'"},
    {"name small\n", " small\n", "is not 'key value'"},
    {"name small\n", "\n", "is not 'key value'"},
    {"name small\n", "name small\nname large\n", "second line for 'name'"},
    {"name small\n", "name sm\tall\n", "byte 0x09"},
    {"name small\n", "name sm\177all\n", "byte 0x7f"},
    {"name small\n", "", "has no line 'name'"},
    {"local_bytes ", "remote_bytes ", "has no line 'local_bytes'"},
    {"name small\n", "name small\nend here\n", "'end' before the end"},
    {"target sm_90a\n", "target host\n", "has no kernel.host.so"},
};

START_TEST(forged_manifest) {
  const char *lines = manifest_lines();
  set_manifest(replaced(lines, forged[_i].from, forged[_i].to));
  mok_package package;
  mok_assert_error(read_back(&package), MOK_ERR_IO, forged[_i].says);
  ck_assert_ptr_null(package.files);
  set_manifest(replaced(lines, "name small\n", "name small\nlater_key 7\n")); /* what this version does not know is no error */
  mok_assert_ok(read_back(&package));
}
END_TEST

START_TEST(bounded_sizes) {
  mok_package package;
  mok_buf text = mok_buf_make(arena);
  mok_buf_puts(&text, manifest_lines());
  for (int i = 0; i < MOK_MAX_PACKAGE_FILES; i++)
    mok_buf_printf(&text, "file f%d 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n", i);
  set_manifest(text.data);
  mok_assert_error(read_back(&package), MOK_ERR_IO, "more than 32 files");
  ck_assert_int_eq(truncate(in(MOK_MANIFEST_NAME), (off_t)1 << 40), 0); /* a hole: no disk space, no memory */
  mok_assert_error(read_back(&package), MOK_ERR_IO, "may have at most");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("package");
  TCase *test = tcase_create("package");
  tcase_add_checked_fixture(test, setup, teardown);
  tcase_set_timeout(test, 60);
  tcase_add_test(test, round_trip);
  tcase_add_test(test, same_bytes_in_another_folder);
  tcase_add_test(test, rewrite_and_foreign_folder);
  tcase_add_test(test, every_file_is_protected);
  tcase_add_test(test, links_and_folders_are_not_followed);
  tcase_add_loop_test(test, forged_manifest, 0, (int)(sizeof forged / sizeof forged[0]));
  tcase_add_test(test, bounded_sizes);
  suite_add_tcase(suite, test);
  return mok_suite_main(suite);
}
