/* SPDX-License-Identifier: MIT */
#ifndef WAITS_GIL_H
#define WAITS_GIL_H

/*
 * Waits for the GIL (global interpreter lock) of CPython 3.8 to 3.15 in one process: which threads
 * waited, and at which line another thread held the GIL.
 *
 * The GIL is four objects in the interpreter's variable _PyRuntime, in this order: a condition
 * `cond` and its mutex, and a condition `switch_cond` and its mutex. A thread that takes the GIL
 * signals switch_cond. A thread that releases the GIL signals cond. A thread that waits for the GIL
 * waits for cond, and repeats this until it has taken the GIL. These signals are recorded with
 * their times and backtraces, so the holders are known and not inferred.
 *
 * A thread that computes releases the GIL when another thread has waited for 5 ms
 * (sys.setswitchinterval()). It does so between two bytecodes, at the line that it runs. A call to
 * C code that keeps the GIL delays the release until the call returns; the line is then still that
 * of the call. A thread whose call blocks releases the GIL at that call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/sites.h"
#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

/* The waits at one site for a thread that held the GIL until it released it at another site. */
struct gil_pair {
	uint32_t waiter, holder; /* sites of the wait and of the release; holder 0: not known */
	uint64_t count, ns, longest_ns;
	/* start and threads of the longest wait; holder_thread 0: not known */
	uint64_t since_ns;
	uint32_t waiter_thread, holder_thread;
};

struct gil_waiter {
	uint32_t thread, site;
	uint64_t since_ns;
};

/* The GIL of one process. Indices of pairs start at 1. */
struct gil {
	uint64_t from, to;  /* addresses of _PyRuntime; 0: not known */
	uint64_t condition; /* address of cond; 0: not known yet */
	/* the last signal of cond or switch_cond: the condition, the time and the thread */
	uint64_t last, last_ns;
	uint32_t last_thread;
	struct map index; /* (waiter, holder) -> index in pairs */
	ARRAY_OF(struct gil_pair) pairs;
	ARRAY_OF(struct gil_waiter) waiters;
	struct sites sites;
};

void gil_init(struct gil *gil);
void gil_free(struct gil *gil);

/* Drops all data, for use with another process. */
void gil_clear(struct gil *gil);

/* Processes the note ~python, which has the addresses of _PyRuntime. */
void gil_note(struct gil *gil, const struct event *note);

/* Adds a call; calls must be in stream order. Returns whether it is for a condition of the GIL. */
bool gil_event(struct gil *gil, const struct event *event);

/* Ends the process at end_ns: counts the waits that have not ended. */
void gil_finish(struct gil *gil, uint64_t end_ns);

#endif
