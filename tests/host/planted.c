/* planted CXX TEMPLATES SAMPLE [NAME]: plants each mistake of PLANTED_ROWS (or one) into the kernel of SAMPLE, compiles and runs
 * it under some schedules, and demands that the right kind is found under each; the kernel without a mistake must be clean and
 * right. Two at a time. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample_case.h"

enum { SEEDS = 4, LAUNCHES = 3, AT_ONCE = 2 };
enum { FEW = 3 * PLAN_CLUSTER, MANY = 64 }; /* CTAs of role compute */

enum {
  DEADLOCK = 1 << MOK_FINDING_DEADLOCK,
  RACE = 1 << MOK_FINDING_RACE,
  PROXY = 1 << MOK_FINDING_PROXY,
  SCOPE = 1 << MOK_FINDING_SCOPE,
  UNWRITTEN = 1 << MOK_FINDING_UNWRITTEN,
  COUNT = 1 << MOK_FINDING_COUNT,
  RESET = 1 << MOK_FINDING_RESET,
  MBARRIER = 1 << MOK_FINDING_MBARRIER,
  OUTSIDE = 1 << MOK_FINDING_OUTSIDE,
  ALIGNMENT = 1 << MOK_FINDING_ALIGNMENT,
  JOIN = 1 << MOK_FINDING_JOIN,
  WRONG = 1 << 30 /* no finding, but another result than that of plain loops */
};
static const char *const kinds[] = {"nothing", "deadlock", "race",     "proxy",   "scope",     "unwritten",
                                    "count",   "reset",    "mbarrier", "outside", "alignment", "join"};
enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };
_Static_assert(NUM_KINDS == MOK_FINDING_JOIN + 1, "a word for every kind");

static const struct row {
  const char *name; /* NULL: one more edit of the row before */
  const char *file, *from, *to;
  int findings;
  int compute_ctas;
} rows[] = {
    {"no mistake", "kernel.cu", "", NULL, 0, FEW},
    {"no mistake, wide", "kernel.cu", "", NULL, 0, MANY},
#define PLANTED(name, file, from, to, findings) {#name, file, from, to, findings, FEW},
#define PLANTED_WIDE(name, file, from, to, findings) {#name, file, from, to, findings, MANY},
#define AND(file, from, to) {NULL, file, from, to, 0, 0},
#include PLANTED_ROWS
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

static const char *compiler, *templates, *sample;
static char work[512];

static void die(const char *what, const char *name) {
  fprintf(stderr, "%s %s: %s\n", what, name, strerror(errno));
  exit(1);
}

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) die("open", path);
  char *text = calloc(1, 1 << 20);
  if (text == NULL || fread(text, 1, (1 << 20) - 1, f) == 0) die("read", path);
  fclose(f);
  return text;
}

/* Copies `from` to `to` with the row's edits; complains if there is nothing to edit. */
static void copy_file(const char *from, const char *to, const char *name, const struct row *row) {
  char *text = read_file(from);
  for (const struct row *edit = row; edit < rows + NUM_ROWS && (edit == row || edit->name == NULL); ++edit) {
    if (strcmp(edit->file, name) != 0 || edit->to == NULL) continue;
    if (strstr(text, edit->from) == NULL) {
      fprintf(stderr, "%s: no '%s' in %s\n", row->name, edit->from, name);
      exit(1);
    }
    char *made = calloc(1, 1 << 20), *end = made;
    if (made == NULL) die("allocate", name);
    const char *rest = text;
    for (const char *at; (at = strstr(rest, edit->from)) != NULL; rest = at + strlen(edit->from))
      end += sprintf(end, "%.*s%s", (int)(at - rest), rest, edit->to);
    strcpy(end, rest);
    free(text);
    text = made;
  }
  FILE *f = fopen(to, "wb");
  if (f == NULL || fwrite(text, 1, strlen(text), f) != strlen(text) || fclose(f) != 0) die("write", to);
  free(text);
}

/* Files of one folder of templates/; `prefix` is how a row names them. */
static void copy_folder(const char *from, const char *to, const char *prefix, const struct row *row) {
  DIR *folder = opendir(from);
  if (folder == NULL) die("open", from);
  for (const struct dirent *d; (d = readdir(folder)) != NULL;) {
    if (!strstr(d->d_name, ".h") && !strstr(d->d_name, ".cu") && !strstr(d->d_name, ".cpp")) continue;
    char source[1024], made[1024], name[600];
    snprintf(source, sizeof source, "%s/%s", from, d->d_name);
    snprintf(made, sizeof made, "%s/%s", to, d->d_name);
    snprintf(name, sizeof name, "%s%s", prefix, d->d_name);
    copy_file(source, made, name, row);
  }
  closedir(folder);
}

/* Rank 0 has all rows, in an odd number of blocks that takes three laps; some slots have no route, one has an id of no expert. */
static void make_routes(layer_case *c) {
  static const int ends[] = {300, 500, 700, 912};
  enum { ALL = 912, STEP = 389 /* prime: visits all */ };
  int n = 0;
  for (int r = 0; r < PLAN_GPUS; ++r)
    for (int i = 0; i < c->tokens[r] * PLAN_TOP_K; ++i, ++n) {
      int expert = 0;
      while (n * STEP % ALL >= ends[expert]) ++expert;
      c->ids[r][i] = n % 37 == 36 ? -1 : n == 100 ? PLAN_EXPERTS + 5 : expert;
    }
}

/* What three launches under one seed come to: bit of a finding, WRONG, 0: nothing; -1: a launch that did not even start. */
static int launch_row(layer_case *c, int seed) {
  layer_case_reset(c);
  for (int launch = 0; launch < LAUNCHES; ++launch) {
    const int result = layer_case_run(c, (uint64_t)seed, MOK_HOST_POISON | MOK_HOST_RACES, MOK_PHASE_ALL);
    if (result != MOK_HOST_OK) return c->report.finding == MOK_FINDING_NONE ? -1 : 1 << c->report.finding;
  }
  return seed == 0 && !(layer_case_error(c) < 5e-3) ? WRONG : 0;
}

/* In a process of its own: a mistake may crash it. */
static int try_row(const struct row *row, int number) {
  char folder[600], host[640], from[600], library[640], command[4096];
  snprintf(folder, sizeof folder, "%s/%d", work, number);
  snprintf(host, sizeof host, "%s/host", folder);
  if (mkdir(folder, 0700) != 0 || mkdir(host, 0700) != 0) die("mkdir", folder);
  copy_folder(templates, folder, "", row);
  copy_folder(sample, folder, "", row);
  snprintf(from, sizeof from, "%s/host", templates);
  copy_folder(from, host, "host/", row);
  snprintf(library, sizeof library, "%s/kernel.so", folder);
  snprintf(command, sizeof command,
           "%s -std=c++17 -Og -w -ffp-contract=off -fno-exceptions -fno-rtti -fvisibility=hidden -fPIC -shared -I%s -I%s "
           "%s/mok_host.cpp"
           " -o %s",
           compiler, folder, host, host, library);
  if (system(command) != 0) {
    fprintf(stderr, "%s: does not compile\n", row->name);
    return 1;
  }
  static const int tokens[] = {PLAN_TOKENS_PER_GPU, 200};
  layer_case *c = layer_case_create(library, &sample_shape, tokens, 11);
  make_routes(c);
  c->args.comm_ctas = PLAN_SMS_COMM > 0 ? 2 : 0;
  c->args.compute_ctas = row->compute_ctas;
  int failures = 0;
  const int seeds = row->findings & WRONG ? 1 : SEEDS;
  for (int seed = 0; seed < seeds; ++seed) {
    const int found = launch_row(c, seed);
    const char *word = found == WRONG ? "wrong" : found < 0 ? "a launch that was refused" : kinds[c->report.finding];
    if (row->findings == 0 ? found != 0 : found < 0 || !(row->findings & found)) {
      fprintf(stderr, "%s, seed %d: found %s\n%.1500s\n", row->name, seed, word, c->text);
      ++failures;
    } else if (seed == seeds - 1) printf("%-40s %s\n", row->name, word);
    if (seed == seeds - 1 && getenv("MOK_PLANTED_TEXT")) printf("%.600s\n", c->text);
  }
  layer_case_destroy(c);
  return failures != 0;
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) return 2;
  compiler = argv[1];
  templates = argv[2];
  sample = argv[3];
  snprintf(work, sizeof work, "%s/mok-planted-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  if (mkdtemp(work) == NULL) die("mkdtemp", work);
  int running = 0, failures = 0, tried = 0;
  for (int i = 0; i < NUM_ROWS || running > 0;) {
    if (i < NUM_ROWS && running < AT_ONCE) {
      const struct row *row = &rows[i];
      if (row->name && (argc == 4 || strcmp(argv[4], row->name) == 0)) {
        ++tried;
        fflush(NULL);
        const pid_t child = fork();
        if (child < 0) die("fork", row->name);
        if (child == 0) {
          const int result = try_row(row, i);
          fflush(NULL);
          _exit(result);
        }
        ++running;
      }
      ++i;
      continue;
    }
    int status = 0;
    if (wait(&status) < 0) die("wait", "");
    --running;
    if (WIFSIGNALED(status)) fprintf(stderr, "a kernel died by signal %d\n", WTERMSIG(status));
    failures += status != 0;
  }
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", work);
  if (system(command) != 0) return 1;
  printf("%d kernels, %d not as they should be\n", tried, failures);
  return failures != 0 || tried == 0;
}
