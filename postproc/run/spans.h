/* SPDX-License-Identifier: MIT */
#ifndef RUN_SPANS_H
#define RUN_SPANS_H

/*
 * Sums of objects by (site, step of time of the acquisition, step of the release). From these,
 * three amounts can be computed for every window between two steps: live at the end of the window,
 * acquired in the window and still live at its end, and both acquired and released in the window.
 * There are at most SPANS_STEPS steps: when the run gets longer, pairs of steps are merged, so
 * memory grows with the number of sites and not of events.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"

#define SPANS_STEPS 256u
#define SPANS_NEVER UINT64_MAX /* in place of a time or step: the objects were not released */
/* the model of an HTML page may have this many spans for each call site with a row of its own */
#define SPANS_A_PLACE 40u

struct span {
	/* steps of the acquisition and the release; lost: SPANS_NEVER as long as the objects are
	 * live */
	uint64_t acquired, lost;
	uint32_t site;
	/* the objects were live when their process ended; `lost` is the step of that end */
	bool is_left;
	bool is_last; /* is_left, and no process with objects ended later */
	int64_t count, bytes;
	uint64_t since_ns; /* sum of the start times of the span's waits, modulo 2^64 */
};

struct spans {
	unsigned shift; /* a step is 1 << shift ns */
	/*
	 * maximum number of spans: if there are more, the length of the steps is doubled until
	 * there are few enough
	 */
	size_t most;
	uint64_t first, last; /* range of the steps in use; first > last: no step is used yet */
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
 * Ends the spans of all live objects at lost_ns, for the sites whose number is at least from_site.
 * is_left: the process has ended; otherwise the objects were released. Nothing may be added for
 * these sites afterwards.
 */
void spans_release(struct spans *spans, uint32_t from_site, uint64_t lost_ns, bool is_left);

/* Extends the range of steps to this time. */
void spans_reach(struct spans *spans, uint64_t time_ns);

/*
 * Copies `spans` to `settled`, which must be zeroed or freed. Replaces each site by renumber[site]
 * (NULL: unchanged), and doubles the length of steps until at most `most` spans are left or there
 * are too few steps. The caller frees both by spans_free().
 */
void spans_settle(const struct spans *spans, const uint32_t *renumber, size_t most,
		  struct spans *settled);

/* Makes the steps 1 << shift ns long if they are shorter. */
void spans_widen(struct spans *spans, unsigned shift);

#endif
