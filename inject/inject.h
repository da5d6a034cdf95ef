/* SPDX-License-Identifier: MIT */
#ifndef INJECT_INJECT_H
#define INJECT_INJECT_H

/*
 * Loads the library into a running program and gives the library commands. One thread of the
 * program is stopped for some milliseconds; the others run on.
 */

#include <stdint.h>

#include "base/error.h"
#include "injected.h"

/* Statistics of an attach or detach. */
struct inject_result {
	uint64_t pause_ns; /* time for which the thread was stopped */
	unsigned stops;	  /* number of threads that were stopped until a thread could be borrowed */
	unsigned retries; /* number of attempts that failed for a reason that may pass */
};

/*
 * Loads the library, unless it is already loaded, and makes it execute the order; the library
 * stores its results in the order. library: path of its file. Returns 0, or a negative errno with
 * the reason; the target continues in any case.
 */
int inject_order(int pid, const char *library, struct late_order *order,
		 struct inject_result *result, struct error *err);

/*
 * Tests whether inject_order() could work, without changing the process; one of its threads may be
 * stopped for a moment to read its seccomp filters. Returns 0, or a negative errno with the reason.
 */
int inject_check(int pid, struct error *err);

#endif
