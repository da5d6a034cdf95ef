/* SPDX-License-Identifier: MIT */
/*
 * htr-size FILE...: prints "EVENTS BYTES STORED" of .htr containers: their events, the bytes of all
 * blocks before zstd, headers with them, and the bytes of the files.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "htr_table.h"

struct sizes {
	uint64_t events, bytes, stored;
};

/* One block's header, and over what stands behind it; false where the last block ended. */
static bool add_block(FILE *file, struct sizes *sizes)
{
	uint8_t bytes[HTR_SIZE_block];
	struct htr_block block;

	if (fread(bytes, 1, sizeof(bytes), file) != sizeof(bytes))
		return false;
	htr_get_block(bytes, &block);
	if (block.magic != HTR_MAGIC_BLOCK)
		return false;
	sizes->events += block.events;
	sizes->bytes += sizeof(bytes) + block.definitions_size + block.events_size;
	return fseeko(file, (off_t)block.definitions_packed + block.events_packed, SEEK_CUR) == 0;
}

static int add_file(const char *path, struct sizes *sizes)
{
	FILE *file = fopen(path, "re");

	if (file == NULL || fseeko(file, HTR_SIZE_file, SEEK_SET) != 0) {
		perror(path);
		if (file != NULL)
			fclose(file);
		return -1;
	}
	while (add_block(file, sizes))
		;
	fseeko(file, 0, SEEK_END);
	sizes->stored += (uint64_t)ftello(file);
	return fclose(file);
}

int main(int argc, char **argv)
{
	struct sizes sizes = { 0 };

	for (int i = 1; i < argc; i++)
		if (add_file(argv[i], &sizes) != 0)
			return 1;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sizes.events, sizes.bytes, sizes.stored);
	return 0;
}
