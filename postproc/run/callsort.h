/* SPDX-License-Identifier: MIT */
#ifndef RUN_CALLSORT_H
#define RUN_CALLSORT_H

/*
 * Sorts calls by thread and number, in any quantity: runs are sorted in memory, written to a
 * temporary file, then merged. Memory: CALLSORT_MEMORY for any number of calls; disk: 64 bytes for
 * each call that does not fit into it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/spill_file.h"

#define CALLSORT_MEMORY (32u << 20)

/* How complete a record is; of several records of one call the first in this order counts. */
enum callsort_rank {
	CALLSORT_CALL, /* the call itself, returned */
	CALLSORT_PART, /* another object acquired or released, recorded after its return */
	CALLSORT_OPEN, /* the call, under way */
	CALLSORT_HALF, /* its first half */
};

struct callsort_record {
	uint64_t place;	 /* of the thread: first key */
	uint64_t number; /* of the call in its thread: second key */
	uint64_t enter_ns, leave_ns;
	uint64_t extra[2];
	uint32_t symbol;
	uint32_t depth;
	uint16_t rank;	     /* enum callsort_rank: third key, then enter_ns */
	uint16_t is_unwound; /* the call was left by a jump, some time after leave_ns */
	uint32_t path;	     /* its number in calltree.h, from 1; 0: none */
};

struct callsort_run {
	uint64_t offset, left;			     /* of the unread part, in the spill file */
	struct callsort_record *window, *next, *end; /* the part in memory */
};

struct callsort {
	struct callsort_record *records;
	size_t count, at;
	struct spill_file spill;
	ARRAY_OF(struct callsort_run) runs;
	struct callsort_run **heap; /* while merging: the run with the smallest record first */
	size_t heap_count;
	size_t window; /* number of records in a run's share of the memory */
	bool has_last; /* last is set: the previous result of callsort_next() */
	struct callsort_record last;
};

/* directory: for the temporary file. */
void callsort_init(struct callsort *sort, int directory);

/* Returns 0 or a negative errno. */
int callsort_add(struct callsort *sort, const struct callsort_record *record, struct error *err);

/* After the last record. Returns 0 or a negative errno. */
int callsort_finish(struct callsort *sort, struct error *err);

/*
 * The next record in order; of several records of one call only the first. Returns 1, 0 at the end,
 * or a negative errno.
 */
int callsort_next(struct callsort *sort, struct callsort_record *record, struct error *err);

void callsort_free(struct callsort *sort);

#endif
