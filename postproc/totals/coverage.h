/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_COVERAGE_H
#define TOTALS_COVERAGE_H

/*
 * How much of the blocked time of a process's threads the trace explains. The collector writes
 * (~scheduled) for how long each thread had run and had been queued for a processor when it was
 * last read; for the rest of its life until then the thread was blocked. Later it was blocked at
 * least for the recorded waits that do not fit into that time. Blocked time less recorded waits is
 * divided by the samples of the thread that the collector took at each reading: in other system
 * calls, or in futexes that no hook saw. Without such samples all of it counts as not observed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

/* A thread's unmeasured time counts as not observed if it is longer than this. */
#define COVERAGE_SLACK_NS 100000000u
/*
 * No sum is more exact than this: the kernel updates the numbers of a running thread every few ms.
 */
#define COVERAGE_EXACT_NS 10000000u

/* Of one thread, or of several. Times in ns. */
struct coverage_sum {
	uint64_t ran, queued; /* while the thread was measured */
	uint64_t blocked;     /* likewise; equals recorded + other + unobserved */
	uint64_t recorded;    /* in recorded waits */
	uint64_t other;	      /* in system calls that are not recorded, and page faults */
	uint64_t unobserved;  /* in futexes that no hook sees */
	uint64_t unmeasured;  /* after the last reading or before the first one */
	/* maximum for which one thread may have been blocked without being observed */
	uint64_t worst;
};

struct coverage_thread {
	uint32_t tid;
	uint64_t born_ns;     /* birth, or start of its recording; 0: not known */
	uint64_t ended_ns;    /* 0: it ended with its process */
	uint64_t recorded_ns; /* recorded waits, over its whole life */
	bool is_main, is_read;
	uint64_t from, from_ran, from_queued, to, ran, queued, futex, other; /* ~scheduled */
};

struct coverage {
	ARRAY_OF(struct coverage_thread) threads; /* of the current process */
	struct map by_number; /* by tid: index + 1 of the last thread that had it */
	bool is_partial;      /* filters removed some of the waits: only `worst` is known */
};

void coverage_init(struct coverage *coverage);

/* Removes all threads, for another process. */
void coverage_clear(struct coverage *coverage);

/* A call, or a note. */
void coverage_event(struct coverage *coverage, const struct event *event);
void coverage_note(struct coverage *coverage, const struct event *event);

/* end_ns: end of the process, or the last known time. */
void coverage_of_process(const struct coverage *coverage, uint64_t end_ns,
			 struct coverage_sum *sum);

/* The last thread with that tid; all 0 if none was seen. */
void coverage_of_thread(const struct coverage *coverage, uint32_t tid, uint64_t end_ns,
			struct coverage_sum *sum);

/* Adds b to a. */
void coverage_add(struct coverage_sum *a, const struct coverage_sum *b);

/* Whether more than a tenth of the blocked time was not observed. */
bool coverage_is_low(const struct coverage_sum *sum);

/* "blocked 12.3 s in all threads: 3.1 s in recorded waits, ..." Returns text. */
#define COVERAGE_TEXT_SIZE 256u
const char *coverage_say(const struct coverage_sum *sum, char text[COVERAGE_TEXT_SIZE]);

#endif
