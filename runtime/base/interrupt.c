#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "temp.h"

static volatile sig_atomic_t pending, victim;

static void on_signal(int number) {
  (void)number;
  if (pending) {
    if (victim) { /* it would go on writing into what is removed */
      kill((pid_t)victim, SIGKILL);
      while (waitpid((pid_t)victim, NULL, 0) > 0) continue;
    }
    mok_temp_remove_all();
    _exit(MOK_ERR_INTERRUPTED);
  }
  pending = 1;
}

void mok_interrupt_install(void) {
  /* No SA_RESTART: a blocked read of stdin returns and sees the flag. */
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaddset(&action.sa_mask, numbers[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    /* What the parent chose to ignore (nohup, a background job) stays ignored. */
    if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    sigaction(numbers[i], &action, NULL);
  }
}

void mok_interrupt_ends(int child) { victim = child; }

bool mok_interrupt_pending(void) { return pending != 0; }

mok_status mok_interrupt_check(void) { return pending ? MOK_ERROR(MOK_ERR_INTERRUPTED, "interrupted") : MOK_OK; }
