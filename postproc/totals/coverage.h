/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_COVERAGE_H
#define TOTALS_COVERAGE_H

/*
 * How much of the time for which the threads of a process were blocked the trace explains. The
 * collector writes how long each thread had run and waited for a processor when it was read last
 * (~scheduled); the rest of its life until then it was blocked, and later in the recorded waits
 * that do not fit into that time. Of that the recorded waits are taken off. What
 * is left is divided as the looks at the thread tell, which the collector took at each reading:
 * other system calls, or futexes that no hook saw. Without a look in any of these all of it is not
 * observed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

/* A thread's time that was not measured counts as not observed if it is longer than this. */
#define COVERAGE_SLACK_NS 100000000u
/* No sum is more exact than this: the kernel's numbers of a thread that runs are some ms old. */
#define COVERAGE_EXACT_NS 10000000u

/* Of one thread, or of several. Times in ns. */
struct coverage_sum {
	uint64_t ran, queued; /* while it was measured */
	uint64_t blocked;     /* likewise; the sum of the next three */
	uint64_t recorded;    /* in recorded waits */
	uint64_t other;	      /* in system calls that are not recorded, and for pages */
	uint64_t unobserved;  /* in what no hook sees */
	uint64_t unmeasured;  /* of its life, after the last reading or before the first one */
	uint64_t worst;	      /* most that one thread may have been blocked unobserved */
};

struct coverage_thread {
	uint32_t tid;
	uint64_t born_ns;     /* or when its recording began; 0: not known */
	uint64_t ended_ns;    /* 0: with its process */
	uint64_t recorded_ns; /* waits, all its life */
	bool is_main, is_read;
	uint64_t from, from_ran, from_queued, to, ran, queued, futex, other; /* ~scheduled */
};

struct coverage {
	ARRAY_OF(struct coverage_thread) threads; /* of the process that is being read */
	struct map by_number;			  /* index of the last user + 1 */
	bool is_partial; /* filters left some of the waits: no sum but `worst` is known */
};

void coverage_init(struct coverage *coverage);

/* All threads are forgotten: another process. */
void coverage_clear(struct coverage *coverage);

/* A call, or a note. */
void coverage_event(struct coverage *coverage, const struct event *event);
void coverage_note(struct coverage *coverage, const struct event *event);

/* end_ns: of the process, as far as it is known. */
void coverage_of_process(const struct coverage *coverage, uint64_t end_ns,
			 struct coverage_sum *sum);

/* Of the last thread with that number; all 0 if it was not seen. */
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
