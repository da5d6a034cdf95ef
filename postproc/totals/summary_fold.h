/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_FOLD_H
#define TOTALS_SUMMARY_FOLD_H

/*
 * What the summary remembers of the process that is being read: between summary.c, which takes
 * the events, and verdict.c, which sums up when a process or the run has ended. Nobody else
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

/* What numbers in the map of threads are of. */
enum fold_of {
	OF_THREAD, /* by kernel's id: enum fold_life */
	OF_HANDLE, /* the thread with that pthread_t: kernel's id */
	OF_SILENT, /* by pthread_t: made, not heard of */
	OF_EARLY,  /* by pthread_t: heard of before the call that made it was back */
};

enum fold_life { FOLD_HEARD = 1, FOLD_ENDED };

struct summary_fold {
	struct summary_process process;
	bool is_begun;
	char *path;	    /* of the trace */
	struct sites sites; /* of waits */
	struct waits waits;
	struct map threads;    /* see enum fold_of */
	uint64_t thread_count; /* that were heard of */
	uint64_t told_events;  /* by the end of the stream */
	uint64_t silent;       /* that were made, and called nothing */
	uint32_t thread_cache[FOLD_THREAD_CACHE];
	ARRAY_OF(struct fold_open) open;
	const char *executed; /* what vfork's child has executed; NULL: nothing */
	uint32_t executor;    /* the thread that it was made by */
	char command[SUMMARY_COMMAND_MAX];
	size_t command_length;
	/* the file of the malloc that is recorded; NULL: not known */
	const struct atlas_module *malloc;
};

/* Sites are to be listed. Before the first event. */
void verdict_list_sites(struct summary *summary);

/* The process has no more events: adds it to the summary and clears the fold. */
void verdict_process(struct summary *summary, struct error *err);

/* All processes are known: sums, times since the start, ranks. */
void verdict_run(struct summary *summary);

#endif
