/* SPDX-License-Identifier: MIT */
#ifndef RUN_SPANS_H
#define RUN_SPANS_H

/*
 * Acquisitions and their releases by steps of time: sums by (site, step of the acquisition, step of
 * the release). They give, for every window between two steps, what was held at its end, what was
 * acquired in it and kept, and what was acquired and released in it. There are at most SPANS_STEPS
 * steps: as time goes on, pairs of steps are merged, so memory grows with sites and not with
 * events.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"

#define SPANS_STEPS   256u
#define SPANS_NEVER   UINT64_MAX /* not released */
#define SPANS_A_PLACE 40u	 /* of a model, for each place that may have a row */

struct span {
	uint64_t acquired, lost; /* steps; lost: SPANS_NEVER if not released */
	uint32_t site;
	int64_t count, bytes;
};

struct spans {
	unsigned shift;	      /* a step is 1 << shift ns */
	size_t most;	      /* if there are more spans, steps are doubled until there are not */
	uint64_t first, last; /* steps in use; first > last: none yet */
	struct pool pool;
	struct hash_table index;
	ARRAY_OF(struct span *) list;
};

void spans_init(struct spans *spans);
void spans_free(struct spans *spans);

/*
 * Adds objects that a site acquired at one time and released at another (SPANS_NEVER: not
 * released); negative counts take back an earlier addition.
 */
void spans_add(struct spans *spans, uint32_t site, uint64_t acquired_ns, uint64_t lost_ns,
	       int64_t count, int64_t bytes);

/* Releases at lost_ns what sites with at least that number have not released yet. */
void spans_release(struct spans *spans, uint32_t from_site, uint64_t lost_ns);

/* Extends the steps to that time. */
void spans_reach(struct spans *spans, uint64_t time_ns);

/*
 * Makes a copy in settled, which is zeroed or freed: site becomes renumber[site] (NULL: unchanged),
 * and steps are doubled until at most that many spans are left. Call spans_free() for both.
 */
void spans_settle(const struct spans *spans, const uint32_t *renumber, size_t most,
		  struct spans *settled);

/* The step of a time, from 0. */
static inline uint64_t spans_step(const struct spans *spans, uint64_t time_ns)
{
	uint64_t step = time_ns >> spans->shift;

	return step > spans->first ? step - spans->first : 0;
}

#endif
