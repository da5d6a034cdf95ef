/* SPDX-License-Identifier: MIT */
#ifndef LIBRARY_ACCOUNT_H
#define LIBRARY_ACCOUNT_H

/*
 * What the processes of a trace hold and whom their threads waited for, beside the reading of its
 * events: a ledger for each process, and its locks, conditions and semaphores.
 */

#include "account/ledger.h"
#include "base/array.h"
#include "waits/locks.h"
#include "waits/wakes.h"

/* Of one stream of the trace. */
struct library_process {
	const struct trace_process *of;
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
	ARRAY_OF(struct library_process *) processes;
	struct map by_section; /* index + 1 */
	struct library_process *current;
	const struct trace_process *of; /* whose that is */
	ARRAY_OF(struct library_asleep) asleep;
	bool is_finished; /* the waits of all processes are complete */

	/* what was answered last */
	ARRAY_OF(struct holdtrace_object) held;
	ARRAY_OF(struct holdtrace_site) places;
	ARRAY_OF(struct holdtrace_wait) waits;
};

#endif
