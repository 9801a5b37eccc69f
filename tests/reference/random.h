/* Inputs of test runs: element `counter` of a stream is a pure function of (seed, stream, counter), so that any element is made
 * where it is used, on the host or on a device, with the same bits. Integer arithmetic, then one exact conversion and one
 * correctly rounded product: no libm, nothing a compiler may contract.
 *
 * Plain C that C++ and NVRTC accept too; MOK_RANDOM_FN may be defined first, e.g. as __device__ inline.
 */
#ifndef MOK_REFERENCE_RANDOM_H
#define MOK_REFERENCE_RANDOM_H

#ifndef MOK_RANDOM_FN
#define MOK_RANDOM_FN static inline
#endif

typedef unsigned long long mok_random_u64;

/* Streams; x, ids, weights of routes and token counts have one stream for each rank: + 16 * rank. */
enum {
  MOK_STREAM_X,
  MOK_STREAM_IDS,
  MOK_STREAM_ROUTE_WEIGHTS,
  MOK_STREAM_MASK,
  MOK_STREAM_SAMPLE,
  MOK_STREAM_GATE,
  MOK_STREAM_UP,
  MOK_STREAM_DOWN,
  MOK_STREAM_SHARED_GATE,
  MOK_STREAM_SHARED_UP,
  MOK_STREAM_SHARED_DOWN,
  MOK_STREAM_TOKENS,
  MOK_STREAMS_PER_RANK = 16
};

/* Bijection of 64 bits in which every input bit reaches every output bit (Stafford's variant 13 of the MurmurHash3 finaliser). */
MOK_RANDOM_FN mok_random_u64 mok_random_mix(mok_random_u64 z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

MOK_RANDOM_FN mok_random_u64 mok_random_key(mok_random_u64 seed, mok_random_u64 stream) {
  return mok_random_mix(mok_random_mix(seed + 1) + stream);
}

MOK_RANDOM_FN mok_random_u64 mok_random_bits(mok_random_u64 key, mok_random_u64 counter) {
  return mok_random_mix(key + (counter + 1) * 0x9e3779b97f4a7c15ull);
}

/* 0 .. bound-1, bound < 2^32. The bias, below bound / 2^32, does not matter to a test. */
MOK_RANDOM_FN unsigned mok_random_below(mok_random_u64 key, mok_random_u64 counter, unsigned bound) {
  return (unsigned)(((mok_random_bits(key, counter) >> 32) * bound) >> 32);
}

/* Near N(0, 1): the sum of four uniform 16-bit numbers, centred; mean 0, variance 1, |value| < 3.47. `scale` multiplies the
 * standard deviation: the unit of the sum, about sqrt(3) / 65536, is folded into it by mok_random_scale(). */
MOK_RANDOM_FN float mok_random_normal(mok_random_u64 bits, float scale) {
  const int sum = (int)(bits & 0xffff) + (int)(bits >> 16 & 0xffff) + (int)(bits >> 32 & 0xffff) + (int)(bits >> 48);
  return (float)(sum - 131070) * scale;
}
MOK_RANDOM_FN float mok_random_scale(double standard_deviation) { return (float)(standard_deviation * 2.6428997921303018e-5); }

/* bf16 bits of a finite float, rounded to nearest even. */
MOK_RANDOM_FN unsigned short mok_random_bf16(float value) {
  union {
    float f;
    unsigned u;
  } bits;
  bits.f = value;
  return (unsigned short)((bits.u + 0x7fff + (bits.u >> 16 & 1)) >> 16);
}

#endif
