/* SPDX-License-Identifier: MIT */
#ifndef SCAN_BLOCKS_H
#define SCAN_BLOCKS_H

/* What a process held when it was stopped, as its stream says it up to the cut. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "scan/graph.h"
#include "terms.h"

struct live_mapping {
	uint64_t from, to;
	uint64_t caller; /* return address of the call that made it; 0: not known */
};

/* What is given back by its handle: a stream, a directory, a thread that can be joined. */
struct live_handle {
	enum resource class;
	uint64_t object;
	bool is_lost; /* nobody has it: handles_judge() */
};

/* Which granules of so many bytes of it were of a block at any time, a bit each. */
#define LIVE_REGION  65536u
#define LIVE_GRANULE 16u
struct live_region {
	uint64_t bits[LIVE_REGION / LIVE_GRANULE / 64];
};

struct live {
	ARRAY_OF(struct graph_block) blocks; /* of memory; the graph takes them */
	ARRAY_OF(struct live_mapping) mappings;
	ARRAY_OF(struct live_handle) handles;
	struct map region_of; /* by address / LIVE_REGION: index + 1 */
	ARRAY_OF(struct live_region) regions;
	const char
		*doubt; /* why blocks may be held of which nothing is known; NULL: there are none */
};

/*
 * Reads path up to the cut with this number; calls beat(user) now and then. Returns 0, -EAGAIN (it
 * is not there yet), or another negative errno.
 */
struct live_reading {
	const char *path;
	unsigned cut;
	void (*beat)(void *user);
	void *user;
};
int live_read(struct live *live, const struct live_reading *reading, struct error *err);
void live_free(struct live *live);

/* Whether a block of any time had this address. */
bool live_was_block(const struct live *live, uint64_t address);

#endif
