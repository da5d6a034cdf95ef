/* SPDX-License-Identifier: MIT */
#ifndef WAITERS_H
#define WAITERS_H

/*
 * Kinds of objects that threads wait for with a futex. The kind is derived from the function that
 * waits: see waiters.def.
 */

#include <stdbool.h>

#include "naming/naming.h"

enum waiter_kind {
	WAITER_NONE, /* unknown */
	WAITER_MUTEX,
	WAITER_RWLOCK,
	WAITER_CONDITION,
	WAITER_SEMAPHORE,
	WAITER_BARRIER, /* the thread waits until all threads have arrived */
	WAITER_PARK,	/* the thread waits until another thread wakes it */
	WAITER_PYTHON,	/* a lock of Python, for which threading.Condition waits, too */
};

/* Returns the kind of the first row of waiters.def that matches a function's demangled name. */
enum waiter_kind waiters_find(const char *function);

/*
 * Returns the kind of object that a thread waits for, as a word: "mutex", "condition" ...; "futex"
 * if it is unknown. backtrace: the backtrace of the wait.
 */
const char *waiters_kind(struct naming *naming, const struct trace_node *backtrace);

/* Whether an object of this kind may be a lock, which a thread can hold. */
bool waiters_is_lock(const char *kind);

#endif
