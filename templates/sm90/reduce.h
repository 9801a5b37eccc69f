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
  /* Slots in one go: as many loads are under way. Lane l holds id and weight of slots l, l + 32, ... */
  enum : int { together = PLAN_TOP_K < 8 ? PLAN_TOP_K : 8, lane_slots = (PLAN_TOP_K + 31) / 32 };
  const mok_index first_slot = (mok_index)token * PLAN_TOP_K;
  unsigned valid[lane_slots];
  float weights[lane_slots];
#pragma unroll
  for (int i = 0; i < lane_slots; ++i) {
    const int slot = i * 32 + mok_lane();
    const int id = slot < PLAN_TOP_K ? c->args->topk_ids[first_slot + slot] : -1;
    valid[i] = __ballot_sync(0xffffffffu, id >= 0 && id < PLAN_EXPERTS);
    weights[i] = slot < PLAN_TOP_K ? c->args->topk_weights[first_slot + slot] : 0.0f;
  }
  const char *combine = mok_heap(c, c->args->rank, LAYOUT_COMBINE_OFFSET) + first_slot * MOK_ROW_BYTES;
  char *out = (char *)c->args->out + (mok_index)token * MOK_ROW_BYTES;
#if PLAN_SHARED_INTERMEDIATE > 0
  const char *shared_y = mok_local(c, LAYOUT_SHARED_Y_OFFSET) + (mok_index)token * MOK_ROW_BYTES;
#endif
  for (int start = 0; start < MOK_ROW_BYTES; start += 32 * 16) { /* all lanes: they hand each other weights */
    const int at = start + mok_lane() * 16;
    const bool inside = at < MOK_ROW_BYTES;
    float sum[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = 0.0f;
#if PLAN_SHARED_INTERMEDIATE > 0
    if (inside) mok_unpack_8(sum, mok_ptx_load_16(shared_y + at));
#endif
#pragma unroll
    for (int first = 0; first < PLAN_TOP_K; first += together) {
      uint4 y[together];
#pragma unroll
      for (int i = 0; i < together; ++i)
        if (first + i < PLAN_TOP_K && inside && (valid[(first + i) / 32] >> (first + i) % 32 & 1))
          y[i] = mok_ptx_load_16(combine + (first + i) * MOK_ROW_BYTES + at);
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (first + i >= PLAN_TOP_K) continue;
        const float weight = __shfl_sync(0xffffffffu, weights[(first + i) / 32], (first + i) % 32);
        if (!inside || !(valid[(first + i) / 32] >> (first + i) % 32 & 1)) continue;
        float term[8];
        mok_unpack_8(term, y[i]);
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[j] = fmaf(weight, term[j], sum[j]);
      }
    }
    if (!inside) continue;
    uint4 packed;
    packed.x = mok_ptx_bf16x2(sum[0], sum[1]);
    packed.y = mok_ptx_bf16x2(sum[2], sum[3]);
    packed.z = mok_ptx_bf16x2(sum[4], sum[5]);
    packed.w = mok_ptx_bf16x2(sum[6], sum[7]);
    mok_ptx_store_16(out + at, packed);
  }
}

#endif
