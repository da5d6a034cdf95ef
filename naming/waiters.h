/* SPDX-License-Identifier: MIT */
#ifndef WAITERS_H
#define WAITERS_H

/*
 * Kinds of objects for which a thread waits by a futex, recognised by the function that waits: rows
 * of waiters.def.
 */

#include <stdbool.h>

#include "naming/naming.h"

enum waiter_kind {
	WAITER_NONE, /* not known */
	WAITER_MUTEX,
	WAITER_RWLOCK,
	WAITER_CONDITION,
	WAITER_SEMAPHORE,
	WAITER_BARRIER, /* the thread waits until all threads have arrived */
	WAITER_PARK,	/* the thread waits until another thread wakes it */
};

/* The kind of the first row that matches the demangled name of a function. */
enum waiter_kind waiters_find(const char *function);

/* "mutex", "condition" ...; "futex": not known. backtrace: that of the wait. */
const char *waiters_kind(struct naming *naming, const struct trace_node *backtrace);

/* Whether a wait of that kind may be for a lock, which a thread holds. */
bool waiters_is_lock(const char *kind);

#endif
