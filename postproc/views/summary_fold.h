/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_SUMMARY_FOLD_H
#define VIEWS_SUMMARY_FOLD_H

/*
 * What the summary remembers of the process that is being read: between summary.c, which takes
 * the events, and verdict.c, which sums up when a process or the run has ended. Nobody else
 * includes this.
 */

#include "postproc/views/summary.h"

#define FOLD_THREAD_CACHE 256u

/* A call that is still under way. */
struct fold_open {
	const char *function;
	enum resource resource;
	uint64_t object, related;
	uint32_t thread;
	uint64_t waited_ns;
	uint64_t index;
	const struct backtrace *backtrace;
};

struct summary_fold {
	struct summary_process process;
	bool is_begun;
	char *path; /* of the trace */
	struct sites sites; /* of waits */
	struct waits waits;
	struct map threads; /* by kernel's id */
	uint32_t thread_cache[FOLD_THREAD_CACHE];
	struct {
		struct fold_open *items;
		size_t count, capacity;
	} open;
	char command[SUMMARY_COMMAND_MAX];
	size_t command_length;
};

/* Before the first event. */
void verdict_begin(struct summary *summary);

/* The process has no more events: adds it to the summary and clears the fold. */
int verdict_process(struct summary *summary, struct error *err);

/* All processes are known: sums, times since the start, ranks. */
int verdict_run(struct summary *summary, struct error *err);

int summary_no_memory(struct error *err);

#endif
