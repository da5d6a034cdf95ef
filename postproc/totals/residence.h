/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_RESIDENCE_H
#define TOTALS_RESIDENCE_H

/*
 * Which memory of a process was resident when a scan stopped the process: its mappings and their
 * pages, from the notes ~resident and ~pages. The stream is not trusted: notes that contradict each
 * other are ignored, and make the result unknown.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "trace/event.h"

#define RESIDENCE_PAGE 4096u

enum residence_kind {
	RESIDENCE_HEAP, /* the heap of brk(2) */
	RESIDENCE_ANONYMOUS,
	RESIDENCE_STACK,
	RESIDENCE_FILE,
	RESIDENCE_SHARED, /* shared memory without a file */
	RESIDENCE_OWN,	  /* memory of holdtrace's library */
	RESIDENCE_KERNEL,
	RESIDENCE_KINDS
};

struct residence_mapping {
	uint64_t from, to;
	uint64_t resident, swapped; /* bytes, according to smaps */
	enum residence_kind kind;
	const char *path; /* path of the mapped file; NULL: none */
};

/* Adjacent pages of one mapping in the same state: 'p' resident, 's' swapped, 'z' page of zeros. */
struct residence_run {
	uint64_t from, to;
	uint32_t mapping; /* index of the mapping */
	char state;
	/*
	 * set by the report `resident`: the pages may have blocks from before an attach or a fork
	 */
	bool is_before;
};

struct residence {
	uint64_t number; /* number of the scan; 0: none */
	bool is_damaged; /* a note was ignored */
	uint64_t resident, pause_ns;
	ARRAY_OF(struct residence_mapping) mappings; /* in the order of addresses */
	ARRAY_OF(struct residence_run) runs;	     /* in the order of addresses */
	struct pool pool;
};

void residence_free(struct residence *residence);
void residence_clear(struct residence *residence);

/*
 * Processes a note. All notes must be passed, in the order of the stream. Returns true if the
 * result is complete now; the result is valid until the next note.
 */
bool residence_note(struct residence *residence, const struct event *event);

/* Returns the index of the first run that ends after an address. */
size_t residence_after(const struct residence *residence, uint64_t address);

#endif
