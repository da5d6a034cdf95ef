/* SPDX-License-Identifier: MIT */
#ifndef RUN_SPANS_H
#define RUN_SPANS_H

/*
 * What sites gained and when they lost it again, by steps of time: sums by (site, step of the gain,
 * step of the loss). From them follows, for every window whose ends are steps, what was held at its
 * end, gained in it and kept, gained and lost in it. There are at most SPANS_STEPS steps: when time
 * goes on, two become one, so memory grows with sites and not with events.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"

#define SPANS_STEPS   256u
#define SPANS_NEVER   UINT64_MAX /* not lost */
#define SPANS_A_PLACE 40u /* of a model: so many for each place that may have a row of its own */

struct span {
	uint64_t gained, lost; /* steps; SPANS_NEVER */
	uint32_t site;
	int64_t count, bytes;
};

struct spans {
	unsigned shift;	      /* a step is 1 << shift ns */
	size_t most;	      /* more are made fewer by doubling the steps */
	uint64_t first, last; /* steps that were met; first > last: none was */
	struct pool pool;
	struct table index;
	ARRAY_OF(struct span *) list;
};

void spans_init(struct spans *spans);
void spans_free(struct spans *spans);

/*
 * Adds to what a site gained at one time and lost at another (SPANS_NEVER: has not lost); counts
 * may be negative, to take back what was said of it.
 */
void spans_add(struct spans *spans, uint32_t site, uint64_t gained_ns, uint64_t lost_ns,
	       int64_t count, int64_t bytes);

/* What sites from that number on have not lost yet is lost at that time. */
void spans_lose(struct spans *spans, uint32_t from_site, uint64_t lost_ns);

/* The time is within the steps from now on. */
void spans_reach(struct spans *spans, uint64_t time_ns);

/*
 * Makes others of them, which are 0 or were freed: sites are those of renumber[site] (NULL: as they
 * are), and steps are doubled until at most so many spans are left.;
 * spans_free() in any case.
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
