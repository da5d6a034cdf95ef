/* SPDX-License-Identifier: MIT */
#ifndef RUN_SPANS_H
#define RUN_SPANS_H

/*
 * Sums of objects that have the same call site and were acquired in the same step of time and
 * released in the same step. The sums give three amounts for every window between two steps:
 * objects live at the window's end, those of them that were acquired in the window, and objects
 * both acquired and released in the window. There are at most SPANS_STEPS steps: when the run gets
 * longer, pairs of steps are merged. So memory use grows with the number of call sites, not of
 * events.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"

#define SPANS_STEPS 256u
#define SPANS_NEVER UINT64_MAX /* as a time or step: the objects were never released */
/* maximum number of spans in an HTML page, for each call site that has a row there */
#define SPANS_A_PLACE 40u

struct span {
	/*
	 * steps in which the objects were acquired and released; lost: SPANS_NEVER if they are live
	 */
	uint64_t acquired, lost;
	uint32_t site;
	/* the objects were live when their process ended; `lost` is the step of that end */
	bool is_left;
	bool is_last; /* is_left is set, and no process with objects ended later */
	int64_t count, bytes;
	uint64_t since_ns; /* for waits: the sum of their start times, modulo 2^64 */
};

struct spans {
	unsigned shift; /* a step is 1 << shift ns */
	/* maximum number of spans: if there are more, pairs of steps are merged */
	size_t most;
	uint64_t first, last; /* range of the steps in use; first > last: none yet */
	struct pool pool;
	struct hash_table index;
	ARRAY_OF(struct span *) list;
};

void spans_init(struct spans *spans);
void spans_free(struct spans *spans);

/*
 * Adds objects of a site that were acquired at acquired_ns and released at lost_ns (SPANS_NEVER:
 * not released). Negative `count` and `bytes` cancel an earlier addition.
 */
void spans_add(struct spans *spans, uint32_t site, uint64_t acquired_ns, uint64_t lost_ns,
	       int64_t count, int64_t bytes);

/* Adds a wait. The bytes of its span are the duration of the wait in ns. */
void spans_add_wait(struct spans *spans, uint32_t site, uint64_t since_ns, uint64_t until_ns);

/*
 * Ends the spans of the live objects of all sites from number from_site on. lost_ns: the time at
 * which the process ended (is_left) or the objects were released. The caller must not add spans for
 * these sites afterwards.
 */
void spans_release(struct spans *spans, uint32_t from_site, uint64_t lost_ns, bool is_left);

/* Extends the range of steps to this time. */
void spans_reach(struct spans *spans, uint64_t time_ns);

/*
 * Copies `spans` to `settled`, which must be zeroed or freed. Replaces each site by renumber[site]
 * (NULL: unchanged). Merges pairs of steps until at most `most` spans are left, or too few steps to
 * merge. The caller frees `spans` and `settled` by spans_free().
 */
void spans_settle(const struct spans *spans, const uint32_t *renumber, size_t most,
		  struct spans *settled);

/* Merges steps until they are at least 1 << shift ns long. */
void spans_widen(struct spans *spans, unsigned shift);

#endif
