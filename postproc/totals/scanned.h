/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SCANNED_H
#define TOTALS_SCANNED_H

/*
 * What the last scan of a process's memory found (~scan, ~root, ~block): of each block that was
 * held then whether somebody keeps it, who leads to it, and what would go with it. What a stream
 * says is not believed further than it can be: a way may lead nowhere, or in a circle.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/pool.h"
#include "trace/event.h"

enum scanned_fate {
	SCANNED_NOT, /* it was not held then, or nothing was scanned */
	SCANNED_KEPT,
	SCANNED_INSIDE, /* only by pointers into blocks */
	SCANNED_WEAK,	/* only by words that may be no pointers */
	SCANNED_LOST,
	SCANNED_INDIRECT, /* lost, and something that is lost leads to it */
	SCANNED_FATES,
};

/* Who leads to a block, or alone keeps it. */
struct scanned_node {
	bool is_block, is_root; /* neither: nobody */
	uint64_t block;		/* address */
	uint32_t root;
};

struct scanned_block {
	uint64_t address;
	enum scanned_fate fate;
	struct scanned_node parent, dominator;
	uint64_t offset; /* in the parent */
	uint64_t retained;
	uint32_t retained_count;
	/* scanned.c's: where its way ends, once somebody has asked */
	bool is_walked;
	uint32_t end, steps; /* end: index of the root + 1; 0: nowhere */
};

struct scanned_root {
	const char *kind, *name, *module, *function, *thread_name; /* NULL: not said */
	uint32_t thread;
	uint64_t offset, at, retained;
	uint32_t retained_count;
};

struct scanned {
	bool is_done;	     /* there is a result */
	const char *doubt;   /* why lost blocks may be held by what is not known; NULL: no */
	const char *failure; /* of the last scan; NULL: it did not fail */
	uint64_t cut;	     /* index of the note at which the process stood still */
	uint64_t pause_ns, took_ns, read_bytes, unread_bytes;
	bool has_before; /* another scan was done before */
	/* scanned.c's */
	uint64_t cut_before;
	struct map lost_before; /* by address */
	struct map handles;	/* that are lost, by class and object */
	uint64_t number, next, next_cut;
	bool has_next;
	struct pool pool;
	struct map by_address; /* index + 1 */
	ARRAY_OF(struct scanned_block) blocks;
	ARRAY_OF(struct scanned_root) roots;
};

void scanned_init(struct scanned *scanned);
void scanned_free(struct scanned *scanned);

/* Another process. */
void scanned_clear(struct scanned *scanned);

/* Any note, in the order of the stream. */
void scanned_note(struct scanned *scanned, const struct event *event);

/* The block at an address, if that is what was gained by the call of this index; or NULL. */
const struct scanned_block *scanned_find(const struct scanned *scanned, uint64_t address,
					 uint64_t index);

/* Whether a block that is lost was none of those that the scan before found lost. */
bool scanned_is_new(const struct scanned *scanned, uint64_t address, uint64_t index);

/* Whether nobody has a stream, directory or thread any more, gained by the call of this index. */
bool scanned_handle_is_lost(const struct scanned *scanned, enum resource class, uint64_t object,
			    uint64_t index);

/* Without asking when it was gained. */
const struct scanned_block *scanned_at(const struct scanned *scanned, uint64_t address);

/*
 * The root where the way from a block ends; NULL: it is lost, or the way has no end. *steps: blocks
 * in between. Each block is walked from once, whoever asks.
 */
const struct scanned_root *scanned_root_of(struct scanned *scanned,
					   const struct scanned_block *block, uint32_t *steps);

/* A root as people read it: "pool (server)", "stack of worker (4711) in serve". */
const char *scanned_root_text(const struct scanned_root *root, char *text, size_t size);

extern const char *const scanned_words[SCANNED_FATES];

#endif
