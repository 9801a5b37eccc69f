/* The sum over a token's slots, one warp per token. */
#ifndef MOK_REDUCE_H
#define MOK_REDUCE_H

MOK_FN void mok_unpack_8(float (&to)[8], uint4 from) {
  const unsigned words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

MOK_FN void mok_reduce_token(mok_cta *c, int token) {
  const int *ids = c->args->topk_ids + (mok_index)token * PLAN_TOP_K;
  const float *weights = c->args->topk_weights + (mok_index)token * PLAN_TOP_K;
  const char *combine = mok_heap(c, c->args->rank, LAYOUT_COMBINE_OFFSET) + (mok_index)token * PLAN_TOP_K * MOK_ROW_BYTES;
  for (int at = mok_lane() * 16; at < MOK_ROW_BYTES; at += 32 * 16) {
    float sum[8], y[8];
#if PLAN_SHARED_INTERMEDIATE > 0
    mok_unpack_8(sum, mok_ptx_load_16(mok_local(c, LAYOUT_SHARED_Y_OFFSET) + (mok_index)token * MOK_ROW_BYTES + at));
#else
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = 0.0f;
#endif
    for (int slot = 0; slot < PLAN_TOP_K; ++slot) {
      if (ids[slot] < 0 || ids[slot] >= PLAN_EXPERTS) continue;
      mok_unpack_8(y, mok_ptx_load_16(combine + (mok_index)slot * MOK_ROW_BYTES + at));
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] = fmaf(weights[slot], y[i], sum[i]);
    }
    uint4 packed;
    packed.x = mok_ptx_bf16x2(sum[0], sum[1]);
    packed.y = mok_ptx_bf16x2(sum[2], sum[3]);
    packed.z = mok_ptx_bf16x2(sum[4], sum[5]);
    packed.w = mok_ptx_bf16x2(sum[6], sum[7]);
    mok_ptx_store_16((char *)c->args->out + (mok_index)token * MOK_ROW_BYTES + at, packed);
  }
}

#endif
