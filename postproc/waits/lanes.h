/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LANES_H
#define WAITS_LANES_H

/*
 * Every wait of a thread, with the thread that ended it; and every time for which a lock was held.
 * The component waits/ and the threads' totals decide what a wait is, so that sums equal those of
 * the reports locks, conds, sems and threads. Keeps no state but theirs.
 */

#include "postproc/report/report.h"
#include "postproc/totals/threads.h"
#include "waits/locks.h"
#include "waits/wakes.h"

enum lane_kind {
	LANE_LOCK,	/* contended */
	LANE_CONDITION, /* all: every such wait sleeps */
	LANE_SEMAPHORE, /* those that had to wait and did not fail */
	LANE_JOIN,	/* threads, processes, barriers */
	LANE_OTHER,	/* open, accept, connect and the like */
	LANE_KINDS
};

/* "lock", "condition" ... */
const char *lane_word(enum lane_kind kind);

/* A wait in the current process. */
struct lane_wait {
	enum lane_kind kind;
	const char *function; /* the function called; NULL: not known */
	const char *end;      /* "signalled", "timed out"; "": nothing to say */
	uint64_t object, since_ns, until_ns;
	uint32_t thread, waker_thread;		 /* tids; 0: not known */
	uint64_t woken_ns;			 /* when the waker ended the wait; 0: not known */
	bool is_open;				 /* it had not ended when the process ended */
	const struct trace_node *waiter, *waker; /* waker NULL: not known */
};

/* A time for which a thread held a lock. */
struct lane_hold {
	uint64_t object, since_ns, until_ns;
	uint32_t serial, thread;
	const char *function;
	const struct trace_node *holder;
};

/* NULL: not wanted. */
struct lanes_listener {
	void (*wait)(void *user, const struct lane_wait *wait);
	void (*hold)(void *user, const struct lane_hold *hold);
	void *user;
};

struct lanes {
	struct report_run *run;
	struct lanes_listener listener;
	struct locks_listener next; /* the previous listener, which is called, too */
	struct wakes conditions, semaphores;
	struct threads threads; /* of the current process */
};

/*
 * For begin(), event(), note() and process() of a report with wants_summary. Several reports of one
 * run may each have lanes.
 */
void lanes_begin(struct lanes *lanes, struct report_run *run,
		 const struct lanes_listener *listener);
void lanes_event(struct lanes *lanes, const struct event *event);
void lanes_note(struct lanes *lanes, const struct event *event);

/* Reports the waits that were under way. Only lanes_clear() removes the threads. */
void lanes_process(struct lanes *lanes);
void lanes_clear(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

#endif
