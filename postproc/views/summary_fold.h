/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_SUMMARY_FOLD_H
#define VIEWS_SUMMARY_FOLD_H

/*
 * What the summary remembers of the process that is being read: between summary.c, which takes
 * the events, and verdict.c, which sums up when a process or the run has ended. Nobody else
 * includes this.
 */

#include "postproc/views/held.h"
#include "postproc/views/mapped.h"
#include "postproc/views/sites.h"
#include "postproc/views/summary.h"

#define FOLD_THREAD_CACHE 256u

/* What the process holds of a class right now. */
struct fold_class {
	uint64_t count, bytes;
	struct summary_peak peak; /* time: CLOCK_MONOTONIC */
};

struct fold_inherited {
	uint64_t fd;
};

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
	struct held_table held;
	struct mapped mapped;
	struct sites sites;
	struct waits waits;
	struct fold_class now[SUMMARY_CLASSES];
	struct {
		uint8_t *
			items; /* by id of the trace's class: index of ours + 1; 0: not asked yet */
		size_t count, capacity;
	} class_of;
	struct held_table threads; /* by kernel's id */
	uint32_t thread_cache[FOLD_THREAD_CACHE];
	struct {
		struct fold_inherited *items;
		size_t count, capacity;
	} inherited;
	struct {
		struct fold_open *items;
		size_t count, capacity;
	} open;
	char command[SUMMARY_COMMAND_MAX];
	size_t command_length;
};

/* The process has no more events: adds it to the summary and clears the fold. */
int verdict_process(struct summary *summary, struct error *err);

/* All processes are known: sums, times since the start, ranks. */
void verdict_run(struct summary *summary);

int summary_no_memory(struct error *err);

/* What is held is held no more: the process has ended. */
void summary_forget_held(struct summary *summary);

/* What is held has its size: those of other tracers' classes mean something, too. */
static inline bool summary_has_size(const struct summary_class *class)
{
	return summary_has_bytes(class) || class->known == RESOURCE_NONE;
}

/* What its held.example is. */
static inline bool summary_has_example(const struct summary_class *class)
{
	return !summary_has_size(class) && class->known != RESOURCE_LOCK;
}

#endif
