/* Fibers: stacks, switching, and what the sanitizers must be told about it. Knows nothing of kernels. */
#ifndef MOK_FIBER_H
#define MOK_FIBER_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#if defined(__x86_64__) && !defined(MOK_HOST_UCONTEXT)
#define MOK_HOST_ASM_SWITCH 1 /* ucontext costs two system calls a switch */
#else
#include <ucontext.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOK_HOST_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define MOK_HOST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MOK_HOST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define MOK_HOST_TSAN 1
#endif

#if defined(MOK_HOST_ASAN)
extern "C" void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void *fake_stack, const void **old_bottom, size_t *old_size);
extern "C" void __asan_unpoison_memory_region(const volatile void *address, size_t size);
#endif
#if defined(MOK_HOST_TSAN)
extern "C" void *__tsan_get_current_fiber(void);
extern "C" void *__tsan_create_fiber(unsigned flags);
extern "C" void __tsan_destroy_fiber(void *fiber);
extern "C" void __tsan_switch_to_fiber(void *fiber, unsigned flags);
/* gcc has a built-in declaration of another type under the real name. */
extern "C" void mok_tsan_read_range(const void *address, unsigned long size) __asm__("__tsan_read_range");
extern "C" void AnnotateIgnoreReadsBegin(const char *file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char *file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char *file, int line);
/* The engine's own records and the inner loops are not the protocol under test; the loops announce their ranges instead. */
#define MOK_HOST_UNCHECKED __attribute__((no_sanitize("thread")))
/* Around library calls, which are checked by themselves. */
#define MOK_HOST_UNSEEN_BEGIN() (AnnotateIgnoreReadsBegin(__FILE__, __LINE__), AnnotateIgnoreWritesBegin(__FILE__, __LINE__))
#define MOK_HOST_UNSEEN_END() (AnnotateIgnoreWritesEnd(__FILE__, __LINE__), AnnotateIgnoreReadsEnd(__FILE__, __LINE__))
#else
#define MOK_HOST_UNCHECKED
#define MOK_HOST_UNSEEN_BEGIN() ((void)0)
#define MOK_HOST_UNSEEN_END() ((void)0)
#endif

enum {
#if defined(MOK_HOST_ASAN) || defined(MOK_HOST_TSAN)
  MOK_STACK_BYTES = 256 * 1024,
#else
  MOK_STACK_BYTES = 64 * 1024,
#endif
  MOK_GUARD_BYTES = 4096,
  MOK_STACKS_PER_BLOCK = 32,
  MOK_GUARDED_BLOCKS = 256 /* a guard page splits a mapping, and their number is limited: beyond this only the canary */
};
#define MOK_STACK_CANARY 0x5AFEC0DE5AFEC0DEull

/* A saved flow of control: a fiber, or the thread that runs the scheduler. */
struct mok_context {
#if defined(MOK_HOST_ASM_SWITCH)
  void *sp;
#else
  ucontext_t uc;
#endif
  char *stack; /* lowest usable address; of the thread: as ASan reports it */
  size_t stack_bytes;
  void *asan_fake_stack;
  void *tsan_fiber;
};

#if defined(MOK_HOST_ASM_SWITCH)
/* Saves what a call must preserve, and continues where `to` was saved. */
extern "C" __attribute__((visibility("hidden"))) void mok_switch_stacks(void **from_sp, void *to_sp);
__asm__(
    ".text\n"
    ".type mok_switch_stacks, @function\n"
    "mok_switch_stacks:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size mok_switch_stacks, .-mok_switch_stacks\n");
#endif

/* Stacks of one launch; freed ones are used again. */
struct mok_stacks {
  char *blocks[4096];
  int block_count;
  char **free;
  int free_count;
};

MOK_HOST_UNCHECKED static inline char *mok_stack_take(mok_stacks *pool) {
  const size_t step = MOK_STACK_BYTES + MOK_GUARD_BYTES;
  if (pool->free_count == 0) {
    if (pool->block_count == (int)(sizeof pool->blocks / sizeof pool->blocks[0])) return NULL;
    const size_t capacity = (size_t)(pool->block_count + 1) * MOK_STACKS_PER_BLOCK;
    char **list = (char **)realloc(pool->free, capacity * sizeof *list);
    if (list == NULL) return NULL;
    pool->free = list;
    void *block =
        mmap(NULL, step * MOK_STACKS_PER_BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return NULL;
    const bool guarded = pool->block_count < MOK_GUARDED_BLOCKS;
    pool->blocks[pool->block_count++] = (char *)block;
    for (int i = MOK_STACKS_PER_BLOCK - 1; i >= 0; --i) {
      char *base = (char *)block + step * i;
      if (guarded) (void)mprotect(base, MOK_GUARD_BYTES, PROT_NONE);
      pool->free[pool->free_count++] = base + MOK_GUARD_BYTES;
    }
  }
  char *stack = pool->free[--pool->free_count];
#if defined(MOK_HOST_ASAN)
  __asan_unpoison_memory_region(stack, MOK_STACK_BYTES); /* marks of frames that never returned */
#endif
  *(unsigned long long *)stack = MOK_STACK_CANARY;
  return stack;
}

MOK_HOST_UNCHECKED static inline void mok_stack_give(mok_stacks *pool, char *stack) {
#if defined(MOK_HOST_TSAN)
  (void)pool; /* a stack used twice would look like a race between its two fibers, or hide one */
  (void)stack;
#else
  pool->free[pool->free_count++] = stack;
#endif
}

static inline void mok_stacks_free(mok_stacks *pool) {
  for (int i = 0; i < pool->block_count; ++i)
    (void)munmap(pool->blocks[i], (size_t)(MOK_STACK_BYTES + MOK_GUARD_BYTES) * MOK_STACKS_PER_BLOCK);
  free(pool->free);
}

MOK_HOST_UNCHECKED static inline bool mok_stack_intact(const mok_context *context) {
  return *(const unsigned long long *)context->stack == MOK_STACK_CANARY;
}

/* Makes `context` start `entry` on `stack` when first switched to. entry never returns: its last act is mok_context_switch. */
MOK_HOST_UNCHECKED static inline void mok_context_make(mok_context *context, char *stack, void (*entry)(void)) {
  context->stack = stack;
  context->stack_bytes = MOK_STACK_BYTES;
  context->asan_fake_stack = NULL;
  context->tsan_fiber = NULL;
#if defined(MOK_HOST_ASM_SWITCH)
  void **top = (void **)(stack + MOK_STACK_BYTES);
  *--top = NULL; /* entry sees the alignment that a call would have left, and a return address of nobody */
  *--top = (void *)entry;
  for (int i = 0; i < 6; ++i) *--top = NULL;
  context->sp = top;
#else
  (void)getcontext(&context->uc);
  context->uc.uc_stack.ss_sp = stack + sizeof(unsigned long long);
  context->uc.uc_stack.ss_size = MOK_STACK_BYTES - sizeof(unsigned long long);
  context->uc.uc_link = NULL;
  makecontext(&context->uc, entry, 0);
#endif
#if defined(MOK_HOST_TSAN)
  context->tsan_fiber = __tsan_create_fiber(0);
#endif
}

/* After the switch into a context, as its first act: `from` is whom it came from. */
MOK_HOST_UNCHECKED static inline void mok_context_arrived(mok_context *self, mok_context *from) {
#if defined(MOK_HOST_ASAN)
  const void *bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(self->asan_fake_stack, &bottom, &size);
  from->stack = (char *)bottom;
  from->stack_bytes = size;
#else
  (void)self;
  (void)from;
#endif
}

/* `ends`: `from` will never be continued. */
MOK_HOST_UNCHECKED static inline void mok_context_switch(mok_context *from, mok_context *to, bool ends) {
#if defined(MOK_HOST_ASAN)
  __sanitizer_start_switch_fiber(ends ? NULL : &from->asan_fake_stack, to->stack, to->stack_bytes);
#endif
#if defined(MOK_HOST_TSAN)
  __tsan_switch_to_fiber(to->tsan_fiber, 1); /* 1: the switch itself orders nothing */
#endif
  (void)ends;
#if defined(MOK_HOST_ASM_SWITCH)
  mok_switch_stacks(&from->sp, to->sp);
#else
  (void)swapcontext(&from->uc, &to->uc);
#endif
  mok_context_arrived(from, to);
}

#endif
