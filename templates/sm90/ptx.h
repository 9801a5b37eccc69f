/* One instruction per function, with the section of the PTX ISA (9.0) that defines it. No other file holds assembly. */
#ifndef MOK_PTX_H
#define MOK_PTX_H

/* Data movement: cvta. Address of a shared object in the shared window. */
MOK_FN unsigned mok_ptx_shared_address(const void *object) { return (unsigned)__cvta_generic_to_shared(object); }

/* Data movement: cvt. Nearest even. */
MOK_FN unsigned short mok_ptx_bf16(float x) {
  unsigned short y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
/* Data movement: cvt. `low` in the lower half. */
MOK_FN unsigned mok_ptx_bf16x2(float low, float high) {
  unsigned y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}

/* Memory consistency model: ld.acquire, st.release, red.release, fence; data movement: ld, st, red, membar/fence. */
MOK_FN unsigned mok_ptx_load_acquire_gpu(const unsigned *word) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
MOK_FN unsigned mok_ptx_load_acquire_sys(const unsigned *word) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
MOK_FN unsigned mok_ptx_load_relaxed_sys(const unsigned *word) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
MOK_FN void mok_ptx_store_release_sys(unsigned *word, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
MOK_FN void mok_ptx_store_relaxed_sys(unsigned *word, unsigned value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
MOK_FN void mok_ptx_add_release_gpu(unsigned *word, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
MOK_FN void mok_ptx_fence_sys() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/* Parallel synchronization: atom. */
MOK_FN unsigned mok_ptx_fetch_add(unsigned *word, unsigned value) {
  unsigned old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(word), "r"(value) : "memory");
  return old;
}
MOK_FN unsigned mok_ptx_compare_swap(unsigned *word, unsigned expected, unsigned value) {
  unsigned old;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(word), "r"(expected), "r"(value) : "memory");
  return old;
}

/* Parallel synchronization: barrier.red. `threads` threads meet at barrier `id`; true if one of them brings true. */
MOK_FN bool mok_ptx_barrier_or(int id, int threads, bool any) {
  unsigned result;
  asm volatile(
      "{\n"
      ".reg .pred mine, all;\n"
      "setp.ne.u32 mine, %3, 0;\n"
      "barrier.cta.red.or.pred all, %1, %2, mine;\n"
      "selp.u32 %0, 1, 0, all;\n"
      "}"
      : "=r"(result)
      : "r"(id), "r"(threads), "r"((unsigned)any)
      : "memory");
  return result != 0;
}

/* Special registers: globaltimer, in ns. */
MOK_FN unsigned long long mok_ptx_time() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
/* Special registers: laneid. Volatile: what follows from it is computed where it is used, not kept across a product. */
MOK_FN int mok_ptx_lane() {
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return (int)lane;
}
/* Miscellaneous: nanosleep. */
MOK_FN void mok_ptx_sleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }

/* Data movement: ld, st of 16 bytes. Coherent: never the read-only path, which would not see what peers and other CTAs write. */
MOK_FN uint4 mok_ptx_load_16(const void *from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
  return v;
}
MOK_FN void mok_ptx_store_16(void *to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
MOK_FN void mok_ptx_store_4(void *to, unsigned v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory"); }

/* Data movement: cp.async. Copies `bytes` (0 or 16) of 16 and fills up with zeros; through L2 only. */
MOK_FN void mok_ptx_copy_async_16(unsigned to_shared, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_shared), "l"(from), "r"(bytes) : "memory");
}
/* Parallel synchronization: mbarrier. cp.async.mbarrier.arrive: arrives when this thread's copies so far are complete. */
MOK_FN void mok_ptx_copy_async_arrive(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
MOK_FN void mok_ptx_barrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
MOK_FN void mok_ptx_barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
MOK_FN bool mok_ptx_barrier_try_wait(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
      "selp.u32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/* Warp-level matrix: ldmatrix. Four (two) 8 x 8 matrices; lane l gives the row address of matrix l / 8. */
MOK_FN void mok_ptx_load_matrix_x4(unsigned (&r)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
MOK_FN void mok_ptx_load_matrix_x2(unsigned (&r)[2], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(row) : "memory");
}
/* Warp-level matrix: mma. d += a b, a 16 x 16 by rows, b 16 x 8 by columns. */
MOK_FN void mok_ptx_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
