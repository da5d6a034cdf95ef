/* SPDX-License-Identifier: MIT */
#ifndef LIBRARY_ACCOUNT_H
#define LIBRARY_ACCOUNT_H

/*
 * What the processes of a trace hold and whom their threads waited for, beside the reading of its
 * events: a ledger for each process, and its locks, conditions and semaphores.
 */

#include "account/ledger.h"
#include "waits/locks.h"
#include "waits/wakes.h"

/* Of one stream of the trace. */
struct library_process {
	uint32_t section; /* from 0 */
	uint64_t end_ns;  /* of its last event */
	struct ledger *ledger;
	struct locks locks;
	struct wakes conditions, semaphores;
};

/* A wait for a semaphore that was under way at the end. */
struct library_asleep {
	uint32_t section, thread, backtrace;
	uint64_t object, since_ns, ns;
};

struct library_account {
	struct {
		struct library_process **items;
		size_t count, capacity;
	} processes;
	struct map by_section; /* index + 1 */
	struct library_process *current;
	const struct trace_process *of; /* whose that is */
	struct {
		struct library_asleep *items;
		size_t count, capacity;
	} asleep;
	bool is_finished; /* the waits of all processes are complete */

	/* what was answered last */
	struct {
		struct holdtrace_held *items;
		size_t count, capacity;
	} held;
	struct {
		struct holdtrace_place *items;
		size_t count, capacity;
	} places;
	struct {
		struct holdtrace_wait *items;
		size_t count, capacity;
	} waits;
};

#endif
