/* SPDX-License-Identifier: MIT */
#include "base/checksum.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320u /* the polynomial of CRC-32, bit-reversed */
#define STEP	   16	       /* bytes per round of the main loop */

/* tables[n][b]: the checksum of byte b followed by n zero bytes */
static uint32_t tables[STEP][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t sum = i;

		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
		tables[0][i] = sum;
	}
	for (int n = 1; n < STEP; n++)
		for (uint32_t i = 0; i < 256; i++)
			tables[n][i] = tables[n - 1][i] >> 8 ^ tables[0][tables[n - 1][i] & 255];
}

/* The contribution of `word` to the checksum if `behind` more bytes of the round follow. */
static inline uint32_t sum_word(uint32_t word, int behind)
{
	return tables[behind + 3][word & 255] ^ tables[behind + 2][word >> 8 & 255] ^
	       tables[behind + 1][word >> 16 & 255] ^ tables[behind][word >> 24];
}

uint32_t checksum(uint32_t before, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint32_t sum = ~before, words[STEP / 4];

	pthread_once(&once, make_tables);
	for (; size >= STEP; size -= STEP, at += STEP) {
		memcpy(words, at, STEP);
		sum = sum_word(sum ^ le32toh(words[0]), 12) ^ sum_word(le32toh(words[1]), 8) ^
		      sum_word(le32toh(words[2]), 4) ^ sum_word(le32toh(words[3]), 0);
	}
	for (; size; size--)
		sum = sum >> 8 ^ tables[0][(sum ^ *at++) & 255];
	return ~sum;
}
