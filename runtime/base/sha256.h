/* SHA-256 (FIPS 180-4), for content addresses and package checksums. */
#ifndef MOK_BASE_SHA256_H
#define MOK_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct mok_sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
} mok_sha256;

void mok_sha256_init(mok_sha256 *sha);
void mok_sha256_update(mok_sha256 *sha, const void *data, size_t size);
/* Length-prefixed update: a sequence of fields cannot be confused with another split of the same bytes. */
void mok_sha256_field(mok_sha256 *sha, const void *data, size_t size);
void mok_sha256_final(mok_sha256 *sha, uint8_t digest[32]);
void mok_sha256_hex(const uint8_t digest[32], char hex[65]);
void mok_sha256_of(const void *data, size_t size, char hex[65]);

#endif
