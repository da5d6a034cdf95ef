/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SCANNED_H
#define TOTALS_SCANNED_H

/*
 * The result of the last scan of a process's memory (notes ~scan, ~root and ~block). For each block
 * that was allocated at the time of the scan, the result says whether the block is reachable, which
 * block or root points to the block, and how many bytes the block retains. The stream is not
 * trusted: a path may end without a root, or be a cycle.
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
	/* the block was not allocated when the scan was made, or memory was not scanned */
	SCANNED_NOT,
	SCANNED_KEPT,
	SCANNED_INSIDE, /* reachable, but only by pointers into the middle of blocks */
	SCANNED_WEAK,	/* reachable, but only by words that may not be pointers */
	SCANNED_LOST,
	SCANNED_INDIRECT, /* unreachable, but another unreachable block points to it */
	SCANNED_FATES,
};

/*
 * A reference to a block, to a root, or to nothing. Used for the parent of a block (the block or
 * root that points to it) and for its dominator.
 */
struct scanned_node {
	bool is_block, is_root; /* if neither is set, the node refers to nothing */
	uint64_t block;		/* address of the block, if is_block */
	uint32_t root;
};

struct scanned_block {
	uint64_t address;
	enum scanned_fate fate;
	struct scanned_node parent, dominator;
	uint64_t offset; /* offset of the pointer in the parent */
	uint64_t retained;
	uint32_t retained_count;
	/* private to scanned.c: the end of the block's path; valid if is_walked is set */
	bool is_walked;
	uint32_t end, steps; /* end: index of the root + 1; 0: the path has no root */
};

struct scanned_root {
	const char *kind, *name, *module, *function, *thread_name; /* NULL: unknown */
	uint32_t thread;
	uint64_t offset, at, retained;
	uint32_t retained_count;
};

/* Initialise it with zeros. */
struct scanned {
	bool is_done; /* whether a scan was successful; the following members are its result */
	/* why blocks that seem unreachable may be reachable; NULL: no doubt */
	const char *doubt;
	const char *failure; /* error of the last scan; NULL: it did not fail */
	/* index of the note that says when the process was stopped for the scan */
	uint64_t cut;
	uint64_t pause_ns, took_ns, read_bytes, unread_bytes;
	bool has_before; /* whether there was a successful scan before this one */
	/* the following members are private to scanned.c */
	uint64_t cut_before;
	struct map lost_before; /* unreachable blocks of the previous scan; key: address */
	struct map handles;	/* unreachable handles; key: class and object */
	uint64_t number, next, next_cut;
	bool has_next;
	struct pool pool;
	struct map by_address; /* key: address of a block; value: index + 1 in `blocks` */
	ARRAY_OF(struct scanned_block) blocks;
	ARRAY_OF(struct scanned_root) roots;
};

void scanned_free(struct scanned *scanned);

/* Removes the result. Call it before the next process. */
void scanned_clear(struct scanned *scanned);

/* Processes a note. All notes must be passed, in the order of the stream. */
void scanned_note(struct scanned *scanned, const struct event *event);

/*
 * Returns the scanned block at an address. index: index of the call that allocated the block.
 * Returns NULL if this call was after the scan, or if the block was not scanned.
 */
const struct scanned_block *scanned_find(const struct scanned *scanned, uint64_t address,
					 uint64_t index);

/* Whether an unreachable block became unreachable after the previous scan. */
bool scanned_is_new(const struct scanned *scanned, uint64_t address, uint64_t index);

/*
 * Whether the handle of a stream, directory or thread, created by the call with this index, is
 * unreachable.
 */
bool scanned_handle_is_lost(const struct scanned *scanned, enum resource class, uint64_t object,
			    uint64_t index);

/* Returns the scanned block at an address, or NULL. */
const struct scanned_block *scanned_at(const struct scanned *scanned, uint64_t address);

/*
 * Returns the root at the end of a block's path, or NULL if the block is unreachable or its path
 * does not end at a root. *steps: number of blocks between the block and the root. The result for
 * each block is cached.
 */
const struct scanned_root *scanned_root_of(struct scanned *scanned,
					   const struct scanned_block *block, uint32_t *steps);

/*
 * Writes a root as text: "pool (server)", "stack of thread worker (4711) in serve". Returns `text`.
 */
const char *scanned_root_text(const struct scanned_root *root, char *text, size_t size);

extern const char *const scanned_words[SCANNED_FATES];

#endif
