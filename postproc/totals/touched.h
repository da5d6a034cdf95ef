/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_TOUCHED_H
#define TOTALS_TOUCHED_H

/*
 * For each module, counts the events that have a frame of the module in their backtraces. The
 * number shows how important a module without names is. Events are counted by backtrace, and each
 * backtrace is examined once, at the end of its process.
 */

#include "base/array.h"
#include "naming/address_space.h"
#include "trace/event.h"

struct touched {
	struct {
		struct touched_backtrace {
			const struct backtrace *backtrace;
			uint64_t events; /* number of events of the current process */
			uint64_t index;	 /* index of its first event in the current process */
		} * items;		 /* indexed by id of the backtrace */
		size_t count, capacity;
	} backtraces;
	ARRAY_OF(uint32_t) met; /* ids of backtraces that have events */
	struct {
		struct touched_module {
			/*
			 * events: number of events; last: number of the backtrace that was counted
			 * last
			 */
			uint64_t events, last;
		} * items; /* indexed by id of the module in the address map */
		size_t count, capacity;
	} modules;
	uint64_t looked; /* number of backtraces examined in all processes */
};

void touched_free(struct touched *touched);

/* Processes a call. */
void touched_event(struct touched *touched, const struct event *event);

/* Call it after the last event of a process, while the address map still has its mappings. */
void touched_process(struct touched *touched, const struct address_space *space);

/*
 * Returns the number of events of all processes so far that have a frame in the module.
 * touched_percent() returns this number as a percentage of `all`, the number of all events.
 */
uint64_t touched_events(const struct touched *touched, const struct space_module *module);
double touched_percent(const struct touched *touched, const struct space_module *module,
		       uint64_t all);

#endif
