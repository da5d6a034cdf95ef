/* SPDX-License-Identifier: MIT */
#ifndef LIBRARY_ACCOUNT_H
#define LIBRARY_ACCOUNT_H

/*
 * The accounts of a trace: a ledger of live objects, locks, conditions and semaphores for each
 * process.
 */

#include "account/ledger.h"
#include "base/array.h"
#include "waits/locks.h"
#include "waits/wakes.h"

/* One stream of the trace. */
struct library_process {
	const struct trace_process *of;
	uint32_t section; /* from 0 */
	uint64_t end_ns;  /* of its last event */
	struct ledger *ledger;
	struct locks locks;
	struct wakes conditions, semaphores;
};

/* A wait for a semaphore that was blocked at the end. */
struct library_asleep {
	uint32_t section, thread, backtrace;
	uint64_t object, since_ns, ns;
};

struct library_account {
	ARRAY_OF(struct library_process *) processes;
	struct map by_section; /* index + 1 */
	struct library_process *current;
	const struct trace_process *of; /* the process of current */
	ARRAY_OF(struct library_asleep) asleep;
	bool is_finished; /* the waits of all processes are complete */

	/* the latest answers */
	ARRAY_OF(struct holdtrace_object) held;
	ARRAY_OF(struct holdtrace_site) places;
	ARRAY_OF(struct holdtrace_wait) waits;
};

#endif
