/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_TOUCHED_H
#define TOTALS_TOUCHED_H

/*
 * The number of events in which each module has a frame: the weight of modules without names.
 * Events are counted by backtrace; each backtrace is examined once, at the end of its process.
 */

#include "base/array.h"
#include "naming/address_space.h"
#include "trace/event.h"

struct touched {
	struct {
		struct touched_backtrace {
			const struct backtrace *backtrace;
			uint64_t events; /* of the current process */
			uint64_t index;	 /* of the first call */
		} * items;		 /* by number */
		size_t count, capacity;
	} backtraces;
	ARRAY_OF(uint32_t) met; /* ids of backtraces that have events */
	struct {
		struct touched_module {
			uint64_t events, last; /* last: the backtrace that was counted last */
		} * items;		       /* by number in the address map */
		size_t count, capacity;
	} modules;
	uint64_t looked; /* backtraces examined in all processes */
};

void touched_free(struct touched *touched);

/* A call. */
void touched_event(struct touched *touched, const struct event *event);

/* The process was read to its end; the address map still has its mappings. */
void touched_process(struct touched *touched, const struct address_space *space);

/* Events of all processes so far that have a frame in the module, and their percentage of all. */
uint64_t touched_events(const struct touched *touched, const struct space_module *module);
double touched_percent(const struct touched *touched, const struct space_module *module,
		       uint64_t all);

#endif
