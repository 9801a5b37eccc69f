/* One instruction per function, with the section of the PTX ISA (9.0) that defines it. wgmma.h beside it holds the one that has a
 * form for every width; no other file holds assembly. */
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

/* The same in shared memory, between threads of a CTA. */
MOK_FN unsigned mok_ptx_fetch_add_shared(unsigned word, unsigned value) {
  unsigned old;
  asm volatile("atom.acq_rel.cta.shared::cta.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(word), "r"(value) : "memory");
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
/* The same, likely not read soon. */
MOK_FN void mok_ptx_store_16_streaming(void *to, uint4 v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
MOK_FN uint4 mok_ptx_load_shared_16(unsigned from) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from) : "memory");
  return v;
}
MOK_FN void mok_ptx_store_4(void *to, unsigned v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory"); }

/* Data movement: cp.async.bulk. Addresses and size are multiples of 16 bytes; counts as that many transferred at `barrier`. */
MOK_FN void mok_ptx_bulk_load(unsigned to_shared, const void *from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to_shared),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
/* Data movement: cp.async. 16 bytes, the first `bytes` of them from `from` and zeros behind; ordinary accesses, done later. */
MOK_FN void mok_ptx_copy_16(unsigned to_shared, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_shared), "l"(from), "r"(bytes) : "memory");
}
/* Parallel synchronization: cp.async.mbarrier.arrive. One of the barrier's arrivals, when this thread's copies are done. */
MOK_FN void mok_ptx_copies_arrive(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/* Data movement: cp.async.bulk. Belongs to the executing thread's bulk group that the next commit closes. */
MOK_FN void mok_ptx_bulk_store(void *to, unsigned from_shared, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from_shared), "r"(bytes) : "memory");
}
/* Data movement: cp.async.bulk.commit_group. */
MOK_FN void mok_ptx_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Data movement: cp.async.bulk.wait_group. All but the last `pending` groups of this thread are complete: written and visible. */
template <int pending>
MOK_FN void mok_ptx_bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}
/* The same of the sources only: they may be overwritten. */
template <int pending>
MOK_FN void mok_ptx_bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
/* Data movement: cp.async.bulk.tensor. A box of a map of two (three) dimensions, zeros beyond its bounds; x is in a row. */
MOK_FN void mok_ptx_tensor_load_2d(unsigned to_shared, const void *map, int x, int y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to_shared),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
MOK_FN void mok_ptx_tensor_load_3d(unsigned to_shared, const void *map, int x, int y, int z, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to_shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

/* Data movement: cp.async.bulk.tensor. The same to that place in every CTA of the cluster that `ctas` has a bit for; each counts
 * it at its own barrier. */
MOK_FN void mok_ptx_tensor_load_3d_multicast(unsigned to_shared, const void *map, int x, int y, int z, unsigned barrier,
                                             unsigned short ctas) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to_shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(ctas)
      : "memory");
}

/* Data movement: mapa. The same place in the shared memory of CTA `cta` of the cluster. */
MOK_FN unsigned mok_ptx_map_shared(unsigned address, int cta) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(cta));
  return there;
}
/* Data movement: ld, st. */
MOK_FN unsigned mok_ptx_load_cluster(unsigned there) {
  unsigned value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
  return value;
}
MOK_FN void mok_ptx_store_cluster(unsigned there, unsigned value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(value) : "memory");
}
/* Special registers: cluster_ctarank. */
MOK_FN int mok_ptx_cluster_cta() {
  unsigned cta;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(cta));
  return (int)cta;
}
/* Parallel synchronization: barrier.cluster. All threads of the cluster. */
MOK_FN void mok_ptx_cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

/* Memory consistency model: membar/fence, fence.proxy. Between this thread's ordinary accesses and asynchronous ones. */
MOK_FN void mok_ptx_fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
MOK_FN void mok_ptx_fence_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
MOK_FN void mok_ptx_fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/* The same section: a map of 128 bytes that somebody wrote is used as written from here on. */
MOK_FN void mok_ptx_fence_map(const void *map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

/* Parallel synchronization: mbarrier. */
MOK_FN void mok_ptx_barrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
MOK_FN void mok_ptx_barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* At a barrier of another CTA of the cluster. */
MOK_FN void mok_ptx_barrier_arrive_cluster(unsigned there) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}
MOK_FN bool mok_ptx_barrier_try_wait_cluster(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 complete, [%1], %2;\n"
      "selp.u32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
MOK_FN bool mok_ptx_barrier_test(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
      "selp.u32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
/* The same, and may sleep for a while first. */
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

/* Parallel synchronization: mbarrier. Arrives, and adds `bytes` to what the phase waits for. */
MOK_FN void mok_ptx_barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* Membar/fence: fence.mbarrier_init. Makes this thread's mbarrier.init visible to asynchronous copies. */
MOK_FN void mok_ptx_fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Warp-level matrix: stmatrix. Four (two) 8 x 8 matrices; lane l gives the row address of matrix l / 8. */
MOK_FN void mok_ptx_store_matrix_x4(unsigned row, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
MOK_FN void mok_ptx_store_matrix_x2(unsigned row, unsigned a, unsigned b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(a), "r"(b) : "memory");
}

/* Asynchronous warpgroup: wgmma.fence, wgmma.commit_group, wgmma.wait_group. wgmma.mma_async itself: wgmma.h. */
MOK_FN void mok_ptx_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MOK_FN void mok_ptx_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
MOK_FN void mok_ptx_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
/* No instruction: what reads x from here on stays behind the wait before it. */
MOK_FN void mok_ptx_pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }

/* No instruction: from here on x is a value of its own, kept instead of computed where it is used. */
MOK_FN void mok_ptx_keep(unsigned &x) { asm volatile("" : "+r"(x)); }
template <class T>
MOK_FN void mok_ptx_keep(T *&x) {
  asm volatile("" : "+l"(x));
}

/* Miscellaneous: setmaxnreg. All four warps of a warpgroup. */
template <int registers>
MOK_FN void mok_ptx_more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
MOK_FN void mok_ptx_fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

#endif
