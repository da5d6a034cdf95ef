/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_SUMMARY_FOLD_H
#define TOTALS_SUMMARY_FOLD_H

/*
 * The summary's state of the current process. Only three files include this one: summary.c
 * (events), allocators.c (allocators), and summary_close.c (sums at the end of a process and of the
 * run).
 */

#include "base/array.h"
#include "summary.h"

#define FOLD_THREAD_CACHE 256u

/* A call that has not returned. */
struct fold_open {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	uint32_t thread;
	uint64_t enter_ns, waited_ns;
	uint64_t index;
	const struct backtrace *backtrace;
	bool is_deadlock; /* set by summary_close_process() */
};

/* The kinds of entries in the map of threads: key and value. */
enum fold_of {
	OF_THREAD, /* key: tid; value: enum fold_life */
	OF_HANDLE, /* key: pthread_t; value: tid */
	OF_SILENT, /* key: pthread_t; value: 1 if the thread was created but has made no call */
	/*
	 * key: pthread_t; value: 1 if the thread made a call before the call that created it was
	 * recorded
	 */
	OF_EARLY,
};

enum fold_life { FOLD_HEARD = 1, FOLD_ENDED };

struct summary_fold {
	struct summary_process process;
	bool is_begun;
	char *path;	    /* path of the trace */
	struct sites sites; /* call sites of waits */
	struct waits waits;
	struct map threads;    /* see enum fold_of */
	uint64_t thread_count; /* number of threads that made a call */
	uint64_t told_events;  /* number of events according to the note at the end of the stream */
	uint64_t silent;       /* number of threads that were created but made no call */
	uint32_t thread_cache[FOLD_THREAD_CACHE];
	ARRAY_OF(struct fold_open) open;
	const char *executed; /* program that the child of a vfork executed; NULL: none */
	uint32_t executor;    /* the thread that called vfork */
	char command[SUMMARY_COMMAND_MAX];
	size_t command_length;
	/* the file whose malloc is recorded; NULL: unknown */
	const struct space_module *malloc;
};

/* Makes the summary list the call sites of live objects. Call it before the first event. */
void summary_list_sites(struct summary *summary);

/*
 * Called when the process creates a child: adds the held locks to summary->forked. If the child
 * waits for one of these locks, forked_holder() finds its holder there.
 */
void summary_note_fork(struct summary *summary, const struct event *event);

/* Adds the current process, which has ended, to the summary, and clears the state. */
void summary_close_process(struct summary *summary);

/* Call it after the last process: computes sums, times since the start of the run, and ranks. */
void summary_close_run(struct summary *summary);

#endif
