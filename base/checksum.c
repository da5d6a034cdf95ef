/* SPDX-License-Identifier: MIT */
#include "base/checksum.h"

#include <pthread.h>

#define POLYNOMIAL 0xedb88320u /* with its bits turned round */

/* [n][b]: the checksum of byte b with n NULs behind it: eight bytes are taken in one step. */
static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t sum = i;

		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
		tables[0][i] = sum;
	}
	for (int n = 1; n < 8; n++)
		for (uint32_t i = 0; i < 256; i++)
			tables[n][i] = tables[n - 1][i] >> 8 ^ tables[0][tables[n - 1][i] & 255];
}

uint32_t checksum(uint32_t before, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint32_t sum = ~before;

	pthread_once(&once, make_tables);
	for (; size >= 8; size -= 8, at += 8)
		sum = tables[7][(sum ^ at[0]) & 255] ^ tables[6][(sum >> 8 ^ at[1]) & 255] ^
		      tables[5][(sum >> 16 ^ at[2]) & 255] ^ tables[4][sum >> 24 ^ at[3]] ^
		      tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^ tables[0][at[7]];
	for (; size; size--)
		sum = sum >> 8 ^ tables[0][(sum ^ *at++) & 255];
	return ~sum;
}
