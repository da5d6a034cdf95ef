/* SPDX-License-Identifier: MIT */
#ifndef WAITS_GIL_H
#define WAITS_GIL_H

/*
 * The GIL (global interpreter lock) of CPython 3.8 to 3.15: which threads of the process that is
 * being read waited for it, and the line at which another thread held it.
 *
 * The GIL is four objects in the interpreter's variable _PyRuntime, in this order: a condition
 * `cond` and its mutex, and a condition `switch_cond` and its mutex. A thread that takes the GIL
 * signals switch_cond; a thread that releases it signals cond; a thread that waits for the GIL
 * waits for cond, and repeats this until it has taken the GIL. These signals are recorded with
 * their times and backtraces, so the holders are known and not inferred.
 *
 * A thread that computes releases the GIL when another thread has waited for 5 ms
 * (sys.setswitchinterval()), between two bytecodes, and so at the line that it runs. A call to C
 * code that keeps the GIL delays the release until the call returns; the line is then still that of
 * the call. A thread whose call blocks releases the GIL at that call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/sites.h"
#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

/* Waits at one site for a thread that later released the GIL at another site. */
struct gil_pair {
	uint32_t waiter, holder; /* sites; holder 0: not known */
	uint64_t count, ns, longest_ns;
	/* the longest wait; holder_thread 0: not known */
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
	/* the last signal of cond or switch_cond: its object, thread and time */
	uint64_t last, last_ns;
	uint32_t last_thread;
	struct map index; /* index of the pair of two sites */
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

/* Adds a call, in stream order. Returns whether it is a call for a condition of the GIL. */
bool gil_event(struct gil *gil, const struct event *event);

/* Ends the process: counts the waits that have not ended. */
void gil_finish(struct gil *gil, uint64_t end_ns);

#endif
