/* SPDX-License-Identifier: MIT */
#ifndef SCAN_BLOCKS_H
#define SCAN_BLOCKS_H

/* The live objects of a process when it was stopped, read from its stream up to the cut. */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "scan/graph.h"
#include "terms.h"

struct live_mapping {
	uint64_t from, to;
	uint64_t caller; /* return address of the call that mapped it; 0: unknown */
};

/* A live object that is known by a handle: a stream, a directory, a joinable thread. */
struct live_handle {
	enum resource class;
	uint64_t object;
	bool is_lost; /* unreachable: set by handles_judge() */
};

/* One bit for each granule of a region: it was part of a block at some time. Sizes in bytes. */
#define LIVE_REGION  65536u
#define LIVE_GRANULE 16u
struct live_region {
	uint64_t bits[LIVE_REGION / LIVE_GRANULE / 64];
};

struct live {
	ARRAY_OF(struct graph_block) blocks; /* of memory; moved to the graph later */
	ARRAY_OF(struct live_mapping) mappings;
	ARRAY_OF(struct live_handle) handles;
	struct map region_of; /* by address / LIVE_REGION: index + 1 */
	ARRAY_OF(struct live_region) regions;
	const char *doubt; /* why there may be live blocks that the stream does not show; NULL: it
			    * shows all */
};

/*
 * Reads the stream at path up to the cut with this number; calls beat(user) regularly. Returns 0,
 * -EAGAIN (the stream does not have the cut yet), or another negative errno.
 */
struct live_reading {
	const char *path;
	unsigned cut;
	void (*beat)(void *user);
	void *user;
};
int live_read(struct live *live, const struct live_reading *reading, struct error *err);
void live_free(struct live *live);

/* Whether any block, live or freed, ever contained this address. */
bool live_was_block(const struct live *live, uint64_t address);

#endif
