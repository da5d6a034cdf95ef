/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LANES_H
#define WAITS_LANES_H

/*
 * Calls a listener for every wait of a thread, with the thread that ended the wait. Also calls the
 * listener for every period in which a thread held a lock. The top-level component waits/ and
 * totals/threads.h decide which calls are waits, so sums of these waits equal those of the reports
 * on waits and threads.
 */

#include "postproc/report/report.h"
#include "postproc/totals/threads.h"
#include "waits/locks.h"
#include "waits/wakes.h"

enum lane_kind {
	LANE_LOCK,	/* waits for contended locks */
	LANE_CONDITION, /* all waits for conditions: each of them sleeps */
	LANE_SEMAPHORE, /* waits for semaphores that were not free, if the call did not fail */
	LANE_FUTEX,	/* all waits for futexes: each of them sleeps */
	LANE_JOIN,	/* waits for threads and processes, and in barriers */
	LANE_OTHER,	/* waits in calls that block: poll, read, sleep, open, accept ... */
	LANE_KINDS
};

/* Returns a word for what a wait of this kind waits for: "lock", "condition" ... */
const char *lane_word(enum lane_kind kind);

/* A wait of a thread of the current process. */
struct lane_wait {
	enum lane_kind kind;
	const char *function; /* the function in which the thread waited; NULL: unknown */
	const char *end;      /* how the wait ended: "timed out", "spurious"; "": unknown */
	uint64_t object, since_ns, until_ns;
	uint32_t thread, waker_thread; /* tids; 0: unknown */
	uint64_t woken_ns;	       /* time when the waker woke the thread; 0: unknown */
	bool is_open;		       /* the wait had not ended when the process ended */
	const struct trace_node *waiter, *waker; /* call sites; waker NULL: unknown */
};

/* A period in which a thread held a lock. */
struct lane_hold {
	uint64_t object, since_ns, until_ns;
	uint32_t serial, thread;
	const char *function;
	const struct trace_node *holder;
};

/* Callbacks, each of which may be NULL. */
struct lanes_listener {
	void (*wait)(void *user, const struct lane_wait *wait);
	void (*hold)(void *user, const struct lane_hold *hold);
	void *user;
};

/* LANES_CALLS: index of the class of calls that block; lanes_process() does not finish it. */
enum { LANES_CALLS = 3, LANES_CLASSES };

/* The waits for the objects of one class. */
struct lanes_class {
	struct lanes *lanes;
	enum lane_kind kind;
	struct wakes wakes;
};

struct lanes {
	struct report_run *run;
	struct lanes_listener listener;
	struct locks_listener next; /* the previous listener, which is called, too */
	struct lanes_class classes[LANES_CLASSES];
	/* the wait of the current event, if it is a call that blocks; waker 0: no such wait */
	struct wakes_wait call;
	struct threads threads; /* threads of the current process */
};

/*
 * Call these functions, and lanes_process(), from begin(), event(), note() and process() of a
 * report with wants_summary. Several reports on a run may have lanes.
 */
void lanes_begin(struct lanes *lanes, struct report_run *run,
		 const struct lanes_listener *listener);
void lanes_event(struct lanes *lanes, const struct event *event);
void lanes_note(struct lanes *lanes, const struct event *event);

/*
 * Calls the listener for the waits that had not ended when the process ended. lanes.threads remain
 * valid until lanes_clear().
 */
void lanes_process(struct lanes *lanes);
void lanes_clear(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

#endif
