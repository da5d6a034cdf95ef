/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAKES_REPORT_H
#define WAITS_WAKES_REPORT_H

/*
 * The common part of the reports on conditions and on semaphores: waits and wakes of all processes
 * of the run, by call site.
 */

#include "base/array.h"
#include "postproc/report/report.h"
#include "waits/wakes.h"

/* A call site of waits or wakes, in any process. */
struct wakes_place {
	const struct trace_node *backtrace;
	const char *function; /* of the first call */
	struct wakes_site wakes;
};

struct wakes_ends {
	uint32_t waiter, waker; /* places; waker 0: none, or not known */
	uint8_t end;
	struct wakes_pair sum;
};

struct wakes_report {
	struct report_run *run;
	struct wakes view;
	struct pool pool;		     /* of names */
	struct map index;		     /* of places (by backtrace) and pairs */
	ARRAY_OF(struct wakes_place) places; /* from 1 */
	ARRAY_OF(struct wakes_ends) pairs;   /* from 1 */
};

/* Called by begin(), and members of struct report; state is a struct wakes_report. */
void wakes_report_begin(void *state, enum resource resource);
void wakes_report_event(void *state, const struct event *event);
void wakes_report_process(void *state);
void wakes_report_destroy(void *state);

/* Fills a table that has the columns of cond_waits. */
void wakes_report_waits(const struct wakes_report *state, struct table *table);

#endif
