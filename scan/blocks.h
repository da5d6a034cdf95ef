/* SPDX-License-Identifier: MIT */
#ifndef SCAN_BLOCKS_H
#define SCAN_BLOCKS_H

/* Reads the live objects of a process from its stream, up to the cut (the moment of the stop). */

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

/* A live object that the program accesses through a handle: a FILE, a DIR, a joinable thread. */
struct live_handle {
	enum resource class;
	uint64_t object;
	bool is_lost; /* unreachable (set by handles_judge()) */
};

/*
 * One bit for each granule of a region: whether the granule was part of a block at any time. Sizes
 * in bytes.
 */
#define LIVE_REGION  65536u
#define LIVE_GRANULE 16u
struct live_region {
	uint64_t bits[LIVE_REGION / LIVE_GRANULE / 64];
};

struct live_handles {
	struct live_handle *items;
	size_t count, capacity;
};

struct live {
	ARRAY_OF(struct graph_block) blocks; /* blocks of memory; later moved to the graph */
	ARRAY_OF(struct live_mapping) mappings;
	struct live_handles handles;
	struct map region_of; /* key: address / LIVE_REGION; value: index in `regions` + 1 */
	ARRAY_OF(struct live_region) regions;
	const char *doubt;   /* why the stream may not show all live blocks; NULL: it shows all */
	uint64_t next_index; /* index of the first event after live_reading.until_ns */
};

/*
 * Reads the stream at `path` up to the cut with the number `cut`, and calls beat(user) regularly.
 * Returns 0, -EAGAIN if the stream does not contain the cut yet, or another negative errno.
 */
struct live_reading {
	const char *path;
	unsigned cut;
	/* for a core file, which has no cut: read up to this time, in ns; 0: read up to the cut */
	uint64_t until_ns;
	void (*beat)(void *user);
	void *user;
};
int live_read(struct live *live, const struct live_reading *reading, struct error *err);
void live_free(struct live *live);

/* Whether any block, live or freed, has ever contained this address. */
bool live_was_block(const struct live *live, uint64_t address);

#endif
