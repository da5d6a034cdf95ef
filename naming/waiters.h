/* SPDX-License-Identifier: MIT */
#ifndef WAITERS_H
#define WAITERS_H

/* What a wait for a futex is for, by the functions that wait: rows of waiters.def. */

#include <stdbool.h>

#include "naming/naming.h"

enum waiter_kind {
	WAITER_NONE, /* not known */
	WAITER_MUTEX,
	WAITER_RWLOCK,
	WAITER_CONDITION,
	WAITER_SEMAPHORE,
	WAITER_BARRIER, /* until all threads have come */
	WAITER_PARK,	/* until another thread wakes this one */
};

/* The kind of the first row that matches the demangled name of a function. */
enum waiter_kind waiters_find(const char *function);

/* "mutex", "condition" ...; "futex": not known. backtrace: of the wait. */
const char *waiters_kind(struct naming *naming, const struct trace_node *backtrace);

/* Whether a wait of that kind may be for a lock, which a thread holds. */
bool waiters_is_lock(const char *kind);

#endif
