/* SPDX-License-Identifier: MIT */
#ifndef INJECT_INJECT_H
#define INJECT_INJECT_H

/*
 * Brings the library into a running program and lets it obey orders: one thread of the program
 * stands for some milliseconds meanwhile, the others go on.
 */

#include <stdint.h>

#include "base/error.h"
#include "injected.h"

/* How it went, for whoever counts. */
struct inject_result {
	uint64_t pause_ns; /* how long the thread stood */
	unsigned stops;	   /* threads that were stopped to find one at a safe place */
	unsigned retries;  /* times that the loader's lock was somebody's */
};

/*
 * Brings the library in, if it is not there yet, and gives it the order, whose results are then
 * filled in. library: path of its file. Returns 0, or a negative errno with the reason; the target
 * goes on in any case.
 */
int inject_order(int pid, const char *library, struct late_order *order,
		 struct inject_result *result, struct error *err);

/* Whether that could be done, without touching the process: 0, or why not. */
int inject_check(int pid, struct error *err);

#endif
