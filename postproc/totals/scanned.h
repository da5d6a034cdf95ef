/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SCANNED_H
#define TOTALS_SCANNED_H

/*
 * The result of the last scan of a process's memory (~scan, ~root, ~block): for each block that was
 * allocated then, whether it is reachable, which block or root points to it, and what it retains.
 * The stream is not trusted: a path may end nowhere, or be a cycle.
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
	SCANNED_NOT, /* not allocated then, or nothing was scanned */
	SCANNED_KEPT,
	SCANNED_INSIDE, /* only by interior pointers */
	SCANNED_WEAK,	/* only by words that may not be pointers */
	SCANNED_LOST,
	SCANNED_INDIRECT, /* unreachable, and another unreachable block points to it */
	SCANNED_FATES,
};

/* What points to a block, or is its dominator: a block, a root, or nothing. */
struct scanned_node {
	bool is_block, is_root; /* neither: nothing */
	uint64_t block;		/* address */
	uint32_t root;
};

struct scanned_block {
	uint64_t address;
	enum scanned_fate fate;
	struct scanned_node parent, dominator;
	uint64_t offset; /* of the pointer in the parent */
	uint64_t retained;
	uint32_t retained_count;
	/* private to scanned.c: the end of the block's path, once it was asked for */
	bool is_walked;
	uint32_t end, steps; /* end: index of the root + 1; 0: nowhere */
};

struct scanned_root {
	const char *kind, *name, *module, *function, *thread_name; /* NULL: not known */
	uint32_t thread;
	uint64_t offset, at, retained;
	uint32_t retained_count;
};

struct scanned {
	bool is_done;	   /* there is a result */
	const char *doubt; /* why unreachable blocks may be reachable in a way that the scan did not
			      see; NULL: no doubt */
	const char *failure; /* error of the last scan; NULL: it did not fail */
	uint64_t cut;	     /* index of the note at which the process was stopped */
	uint64_t pause_ns, took_ns, read_bytes, unread_bytes;
	bool has_before; /* there was a successful scan before this one */
	/* private to scanned.c: */
	uint64_t cut_before;
	struct map lost_before; /* by address */
	struct map handles;	/* unreachable handles, by class and object */
	uint64_t number, next, next_cut;
	bool has_next;
	struct pool pool;
	struct map by_address; /* index + 1 */
	ARRAY_OF(struct scanned_block) blocks;
	ARRAY_OF(struct scanned_root) roots;
};

void scanned_init(struct scanned *scanned);
void scanned_free(struct scanned *scanned);

/* Removes the result, for another process. */
void scanned_clear(struct scanned *scanned);

/* Any note, in the order of the stream. */
void scanned_note(struct scanned *scanned, const struct event *event);

/* The block at an address, if the call with this index allocated it; or NULL. */
const struct scanned_block *scanned_find(const struct scanned *scanned, uint64_t address,
					 uint64_t index);

/* Whether an unreachable block was not unreachable in the scan before. */
bool scanned_is_new(const struct scanned *scanned, uint64_t address, uint64_t index);

/* Whether a stream, directory or thread that the call with this index created is unreachable. */
bool scanned_handle_is_lost(const struct scanned *scanned, enum resource class, uint64_t object,
			    uint64_t index);

/* The block at an address, whichever call allocated it. */
const struct scanned_block *scanned_at(const struct scanned *scanned, uint64_t address);

/*
 * The root at the end of a block's path; NULL: the block is unreachable, or the path has no end.
 * *steps: number of blocks in between. The path of each block is followed once.
 */
const struct scanned_root *scanned_root_of(struct scanned *scanned,
					   const struct scanned_block *block, uint32_t *steps);

/* A root as text: "pool (server)", "stack of worker (4711) in serve". */
const char *scanned_root_text(const struct scanned_root *root, char *text, size_t size);

extern const char *const scanned_words[SCANNED_FATES];

#endif
