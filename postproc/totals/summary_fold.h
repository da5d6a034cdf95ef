/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_FOLD_H
#define TOTALS_SUMMARY_FOLD_H

/*
 * The state of the current process in the summary. summary.c, which takes the events, and
 * summary_close.c, which sums up at the end of a process and of the run, share it; no other file
 * includes this.
 */

#include "base/array.h"
#include "summary.h"

#define FOLD_THREAD_CACHE 256u

/* A call that is still under way. */
struct fold_open {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	uint32_t thread;
	uint64_t enter_ns, waited_ns;
	uint64_t index;
	const struct backtrace *backtrace;
	bool is_deadlock; /* see close_all_open() */
};

/* Key spaces of the map of threads. */
enum fold_of {
	OF_THREAD, /* by tid: enum fold_life */
	OF_HANDLE, /* by pthread_t: tid */
	OF_SILENT, /* by pthread_t: created, no call seen */
	OF_EARLY,  /* by pthread_t: made a call before the call that created it returned */
};

enum fold_life { FOLD_HEARD = 1, FOLD_ENDED };

struct summary_fold {
	struct summary_process process;
	bool is_begun;
	char *path;	    /* of the trace */
	struct sites sites; /* of waits */
	struct waits waits;
	struct map threads;    /* see enum fold_of */
	uint64_t thread_count; /* number of threads that made a call */
	uint64_t told_events;  /* number of events, from the end of the stream */
	uint64_t silent;       /* number of threads that were created and made no call */
	uint32_t thread_cache[FOLD_THREAD_CACHE];
	ARRAY_OF(struct fold_open) open;
	const char *executed; /* program that vfork's child executed; NULL: none */
	uint32_t executor;    /* the thread that called vfork */
	char command[SUMMARY_COMMAND_MAX];
	size_t command_length;
	/* the file whose malloc is recorded; NULL: not known */
	const struct space_module *malloc;
};

/* Lists the sites. Call it before the first event. */
void summary_list_sites(struct summary *summary);

/* The process has ended: adds it to the summary and clears the state. */
void summary_close_process(struct summary *summary, struct error *err);

/* All processes were added: computes sums, times since the start of the run, and ranks. */
void summary_close_run(struct summary *summary);

#endif
