/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_TOUCHED_H
#define TOTALS_TOUCHED_H

/*
 * In how many events each module has a frame, so that what lacks names can be weighed. Events are
 * counted by backtrace; each backtrace is looked at once, when its process has been read.
 */

#include "base/array.h"
#include "naming/atlas.h"
#include "trace/event.h"

struct touched {
	struct {
		struct touched_backtrace {
			const struct backtrace *backtrace;
			uint64_t events; /* of the process that is being read */
			uint64_t index;	 /* of the first call */
		} * items;		 /* by number */
		size_t count, capacity;
	} backtraces;
	ARRAY_OF(uint32_t) met; /* numbers of those that have events */
	struct {
		struct touched_module {
			uint64_t events, last; /* the backtrace that was counted last */
		} * items;		       /* by number in the atlas */
		size_t count, capacity;
	} modules;
	uint64_t looked; /* backtraces, of all processes */
};

void touched_free(struct touched *touched);

/* A call. */
void touched_event(struct touched *touched, const struct event *event);

/* The process has been read, the atlas still knows its mappings. */
void touched_process(struct touched *touched, const struct atlas *atlas);

/* Events of all processes so far that have a frame in the module; the same of so many. */
uint64_t touched_events(const struct touched *touched, const struct atlas_module *module);
double touched_percent(const struct touched *touched, const struct atlas_module *module,
		       uint64_t all);

#endif
