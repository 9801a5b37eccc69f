/* kernel.host.so: kernel.cu and templates/host by the system's C++ compiler. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../runtime/base/file.h"
#include "child.h"
#include "compile.h"

static const char library_name[] = "kernel.host.so";
static const char entry_name[] = "host/mok_host.cpp"; /* includes kernel.cu */

enum { LIBRARY_LIMIT = 256 << 20 };

/* ------------------------------------------------------------------------------------------------ which compiler */

static bool is_program(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* The first file `name` in the folders of PATH; a name with a '/' is a path. NULL: none. */
static const char *find_program(mok_arena *arena, const char *name, const char *folders) {
  if (strchr(name, '/')) return is_program(name) ? mok_arena_strdup(arena, name) : NULL;
  while (*folders) {
    const size_t size = strcspn(folders, ":");
    if (size > 0 && folders[0] == '/') { /* a relative entry would mean another program in another folder */
      const char *path = mok_path_join(arena, mok_arena_strndup(arena, folders, size), name);
      if (is_program(path)) return path;
    }
    folders += size + (folders[size] == ':');
  }
  return NULL;
}

/* "g++ 12.2.0" from "g++ (Debian 12.2.0-14) 12.2.0" or "Debian clang version 14.0.6". */
static const char *short_version(mok_arena *arena, const char *path, const char *line) {
  const char *name = strstr(line, "clang") ? "clang++" : mok_path_base(path);
  const char *version = "";
  size_t size = 0;
  for (const char *word = line; *word;) {
    word += strspn(word, " ()");
    const size_t word_size = strcspn(word, " ()");
    if (isdigit((unsigned char)word[0]) && memchr(word, '.', word_size)) {
      size_t digits = 0;
      while (digits < word_size && (isdigit((unsigned char)word[digits]) || word[digits] == '.')) digits++;
      version = word;
      size = digits;
    }
    word += word_size;
  }
  return size > 0 ? mok_arena_printf(arena, "%s %.*s", name, (int)size, version) : mok_arena_strdup(arena, name);
}

mok_status mok_hostcc_prepare(mok_arena *arena, mok_compilation *c, const char *sanitizer) {
  static const char *const usual[] = {"c++", "g++", "clang++"};
  const char *named = getenv("MOKGEN_CXX");
  const char *folders = getenv("PATH");
  if (!folders) folders = "";
  if (named && named[0]) {
    c->path = find_program(arena, named, folders);
    if (!c->path)
      return MOK_ERROR(MOK_ERR_IO, "C++ compiler not found: MOKGEN_CXX is '%s', which is no program%s%s", named,
                       strchr(named, '/') ? "" : " in PATH: ", strchr(named, '/') ? "" : folders);
  }
  for (size_t i = 0; i < sizeof usual / sizeof usual[0] && !c->path; i++) c->path = find_program(arena, usual[i], folders);
  if (!c->path)
    return MOK_ERROR(MOK_ERR_IO,
                     "C++ compiler, needed for target %s, was not found; tried c++, g++, clang++ in PATH: %s\n"
                     "  MOKGEN_CXX names the compiler (then nothing else is searched)",
                     c->target->name, folders[0] ? folders : "(empty)");

  const char *const argv[] = {c->path, "--version", NULL};
  mok_buf text = mok_buf_make(arena);
  mok_child_end end = {0};
  MOK_TRY(mok_child_exec(argv, NULL, &text, &end));
  if (!end.exited || end.number != 0)
    return MOK_ERROR(MOK_ERR_IO, "%s --version failed: this is no C++ compiler that can be used", c->path);
  const char *line = mok_arena_strndup(arena, text.data, strcspn(text.data, "\n"));
  c->compiler = short_version(arena, c->path, line);
  c->identity = line;

  static const char *const flags[] = {"-std=c++17",          "-O2",   "-ffp-contract=off", "-fno-exceptions",    "-fno-rtti",
                                      "-fvisibility=hidden", "-fPIC", "-shared",           "-Wl,--build-id=none"};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) mok_compilation_argument(c, flags[i]);
  if (sanitizer[0]) {
    mok_compilation_argument(c, mok_arena_printf(arena, "-fsanitize=%s", sanitizer));
    mok_compilation_argument(c, "-fno-omit-frame-pointer");
    mok_compilation_argument(c, "-g");
  }
  return MOK_OK;
}

/* ------------------------------------------------------------------------------------------------ compile */

static const char *reproducing_command(mok_arena *arena, const mok_compilation *c) {
  mok_buf text = mok_buf_make(arena);
  mok_buf_puts(&text, c->path);
  for (size_t i = 0; i < c->argument_count; i++) mok_buf_printf(&text, " %s", c->arguments[i]);
  mok_buf_printf(&text, " -I. -Ihost %s -o %s", entry_name, library_name);
  return text.data;
}

/* Compiles a file with nothing but standard headers: a compiler that cannot is no fault of the kernel's. */
static mok_status try_compiler_in(mok_arena *arena, const mok_compilation *c, const char *folder) {
  static const char name[] = "works.cpp", text[] = "#include <math.h>\n#include <stdint.h>\nint works;\n";
  MOK_TRY(mok_file_write(mok_path_join(arena, folder, name), text, sizeof text - 1));
  const char *argv[MOK_MAX_ARGUMENTS + 8];
  size_t count = 0;
  argv[count++] = c->path;
  for (size_t i = 0; i < c->argument_count; i++) argv[count++] = c->arguments[i];
  argv[count++] = name;
  argv[count++] = "-o";
  argv[count++] = library_name;
  argv[count] = NULL;
  mok_buf log = mok_buf_make(arena);
  mok_child_end end = {0};
  MOK_TRY(mok_child_exec(argv, folder, &log, &end));
  if (end.exited && end.number == 0 && mok_file_exists(mok_path_join(arena, folder, library_name))) return MOK_OK;
  return MOK_ERROR(MOK_ERR_IO,
                   "the C++ compiler %s does not work: it does not even compile a file with one variable%s\n"
                   "  MOKGEN_CXX names another one",
                   c->path, mok_log_excerpt(arena, log.data));
}

static mok_status try_compiler(mok_arena *arena, const mok_compilation *c) {
  const char *folder = NULL;
  MOK_TRY(mok_temp_folder_create(arena, NULL, &folder));
  mok_status status = try_compiler_in(arena, c, folder);
  mok_temp_folder_remove(folder);
  return status;
}

/* What compilers and their parts say when the machine has no room for them, in the language of LC_ALL=C. */
static bool is_shortage(const char *log) {
  static const char *const said[] = {"No space left on device", "Disk quota exceeded",      "File size limit exceeded",
                                     "File too large",          "memory exhausted",         "out of memory",
                                     "Cannot allocate memory",  "Killed signal terminated", "unable to execute command: Killed"};
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
    if (strstr(log, said[i])) return true;
  return false;
}

static mok_status compile_in(mok_arena *arena, const mok_compilation *c, const char *folder, const char *subfolder,
                             mok_image *out) {
  MOK_TRY(mok_compilation_write(arena, c, folder, subfolder));
  const char *sub = mok_path_base(subfolder);
  const char *argv[MOK_MAX_ARGUMENTS + 12];
  size_t count = 0;
  argv[count++] = c->path;
  for (size_t i = 0; i < c->argument_count; i++) argv[count++] = c->arguments[i];
  /* The compiler works in a folder of a random name, with relative names: none of it reaches the library. */
  argv[count++] = mok_arena_printf(arena, "-ffile-prefix-map=%s=host", sub);
  argv[count++] = mok_arena_printf(arena, "-ffile-prefix-map=%s=.", folder);
  argv[count++] = "-I.";
  argv[count++] = mok_arena_printf(arena, "-I%s", sub);
  argv[count++] = mok_path_join(arena, sub, mok_path_base(entry_name));
  argv[count++] = "-o";
  argv[count++] = library_name;
  argv[count] = NULL;

  mok_buf log = mok_buf_make(arena);
  mok_child_end end = {0};
  MOK_TRY(mok_child_exec(argv, folder, &log, &end));
  if (!end.exited || end.number != 0) {
    if (is_shortage(log.data))
      return MOK_ERROR(MOK_ERR_IO, "%s ran out of memory or disk space (TMPDIR says where it works)%s", c->compiler,
                       mok_log_excerpt(arena, log.data));
    MOK_TRY(try_compiler(arena, c));
    const char *what = end.exited ? mok_arena_printf(arena, "%s failed with status %d", c->compiler, end.number)
                                  : mok_arena_printf(arena, "%s was ended: %s", c->compiler, strsignal(end.number));
    return mok_keep_failed(arena, c, reproducing_command(arena, c), log.data, what);
  }
  const char *library = mok_path_join(arena, folder, library_name);
  if (!mok_file_exists(library))
    return MOK_ERROR(MOK_ERR_IO,
                     "%s ended without an error but wrote nothing: this is no C++ compiler%s\n  MOKGEN_CXX names another one",
                     c->path, mok_log_excerpt(arena, log.data));
  MOK_TRY(mok_file_read(arena, library, LIBRARY_LIMIT, &out->code));
  out->code.name = library_name;
  out->log = log.data;
  return MOK_OK;
}

mok_status mok_hostcc_compile(mok_arena *arena, const mok_compilation *c, mok_image *out) {
  const char *folder = NULL, *subfolder = NULL;
  MOK_TRY(mok_temp_folder_create(arena, NULL, &folder));
  mok_status status = mok_temp_folder_create(arena, folder, &subfolder);
  if (!status) status = compile_in(arena, c, folder, subfolder, out);
  mok_temp_folder_remove(subfolder);
  mok_temp_folder_remove(folder);
  return status;
}
