/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LANES_H
#define WAITS_LANES_H

/*
 * What threads waited for, one wait after the other, with who ended it; and who had which lock
 * when. The accounts of locks, conditions, semaphores and threads say what a wait is, so that their
 * sums are those of the reports locks, conds, sems and threads. Keeps nothing but what those keep.
 */

#include "postproc/report/report.h"
#include "postproc/totals/threads.h"
#include "waits/locks.h"
#include "waits/wakes.h"

enum lane_kind {
	LANE_LOCK,	/* contended */
	LANE_CONDITION, /* all: to wait is to sleep */
	LANE_SEMAPHORE, /* neither what was there at once nor what was refused */
	LANE_JOIN,	/* threads, processes, barriers */
	LANE_OTHER,	/* open, accept, connect and the like */
	LANE_KINDS
};

/* "lock", "condition" ... */
const char *lane_word(enum lane_kind kind);

/* A wait of the process that is being read. */
struct lane_wait {
	enum lane_kind kind;
	const char *function; /* that was called; NULL: not known */
	const char *end;      /* "signalled", "timed out"; "": nothing to say */
	uint64_t object, since_ns, until_ns;
	uint32_t thread, waker_thread;		 /* kernel's; 0: not known */
	uint64_t woken_ns;			 /* when who waked it did so; 0: not known */
	bool is_open;				 /* it has not ended when its process had */
	const struct trace_node *waiter, *waker; /* waker NULL: not known */
};

/* A lock that a thread had. */
struct lane_hold {
	uint64_t object, since_ns, until_ns;
	uint32_t serial, thread;
	const char *function;
	const struct trace_node *holder;
};

/* NULL: of no interest. */
struct lanes_listener {
	void (*wait)(void *user, const struct lane_wait *wait);
	void (*hold)(void *user, const struct lane_hold *hold);
	void *user;
};

struct lanes {
	struct report_run *run;
	struct lanes_listener listener;
	struct locks_listener next; /* who listened to the locks before: hears of them, too */
	struct wakes conditions, semaphores;
	struct threads threads; /* of the process that is being read */
};

/*
 * For begin(), event(), note() and process() of a report with wants_summary. Several reports of one
 * run may have lanes of their own.
 */
void lanes_begin(struct lanes *lanes, struct report_run *run,
		 const struct lanes_listener *listener);
void lanes_event(struct lanes *lanes, const struct event *event);
void lanes_note(struct lanes *lanes, const struct event *event);

/* Tells of what was under way. Threads are forgotten by lanes_clear() only. */
void lanes_process(struct lanes *lanes);
void lanes_clear(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

#endif
