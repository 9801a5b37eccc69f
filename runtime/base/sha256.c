#include "sha256.h"

#include <string.h>

static const uint32_t k[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
                               0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
                               0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
                               0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
                               0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
                               0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
                               0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
                               0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t load_be(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

static void compress(uint32_t state[8], const uint8_t block[64]) {
  uint32_t w[64];
  for (int t = 0; t < 16; t++) w[t] = load_be(block + 4 * t);
  for (int t = 16; t < 64; t++) {
    uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  uint32_t v[8]; /* a..h */
  memcpy(v, state, sizeof v);
  for (int t = 0; t < 64; t++) {
    uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t t1 = v[7] + (rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25)) + choose + k[t] + w[t];
    uint32_t t2 = (rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22)) + majority;
    memmove(v + 1, v, 7 * sizeof v[0]);
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

void mok_sha256_init(mok_sha256 *sha) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memset(sha, 0, sizeof *sha);
  memcpy(sha->state, start, sizeof start);
}

void mok_sha256_update(mok_sha256 *sha, const void *data, size_t size) {
  const uint8_t *bytes = data;
  while (size) {
    size_t used = sha->bytes % 64, take = 64 - used < size ? 64 - used : size;
    memcpy(sha->block + used, bytes, take);
    sha->bytes += take;
    bytes += take;
    size -= take;
    if (sha->bytes % 64 == 0) compress(sha->state, sha->block);
  }
}

static void store_be64(uint8_t out[8], uint64_t value) {
  for (int i = 0; i < 8; i++) out[i] = (uint8_t)(value >> (56 - 8 * i));
}

void mok_sha256_field(mok_sha256 *sha, const void *data, size_t size) {
  uint8_t length[8];
  store_be64(length, size);
  mok_sha256_update(sha, length, sizeof length);
  mok_sha256_update(sha, data, size);
}

void mok_sha256_final(mok_sha256 *sha, uint8_t digest[32]) {
  uint8_t bits[8], padding[64] = {0x80};
  store_be64(bits, sha->bytes * 8);
  size_t used = sha->bytes % 64;
  mok_sha256_update(sha, padding, used < 56 ? 56 - used : 120 - used);
  mok_sha256_update(sha, bits, sizeof bits);
  for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void mok_sha256_hex(const uint8_t digest[32], char hex[65]) {
  for (int i = 0; i < 32; i++) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  hex[64] = 0;
}

void mok_sha256_of(const void *data, size_t size, char hex[65]) {
  mok_sha256 sha;
  uint8_t digest[32];
  mok_sha256_init(&sha);
  mok_sha256_update(&sha, data, size);
  mok_sha256_final(&sha, digest);
  mok_sha256_hex(digest, hex);
}
