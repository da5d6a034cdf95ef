/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_COVERAGE_H
#define TOTALS_COVERAGE_H

/*
 * How much of the blocked time of a process's threads the trace explains. From time to time, the
 * collector reads how long each thread has run and has been queued for a processor. The note
 * ~scheduled has the numbers of the last reading; for the rest of the time up to that reading, the
 * thread was blocked. If the recorded waits are longer than this blocked time, the thread was
 * blocked for the difference outside the measured time. At each reading, the collector also samples
 * what the thread does. Blocked time that no recorded wait explains is divided in the ratio of
 * these samples: into time in other system calls, and time in futexes that no hook saw. If there
 * are no samples, all of this time counts as not observed, unless it is short compared with the
 * samples in recorded calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

/* The unmeasured time of a thread counts as not observed if it is longer than this. */
#define COVERAGE_SLACK_NS 100000000u
/*
 * The sums may be wrong by this much, because the kernel updates the counters of a running thread
 * only every few ms.
 */
#define COVERAGE_EXACT_NS 10000000u

/* Times of a thread or of several threads, in ns. */
struct coverage_sum {
	/* time on a processor and in the processor's queue, while the thread was measured */
	uint64_t ran, queued;
	uint64_t blocked;  /* blocked time; equals recorded + other + unobserved */
	uint64_t recorded; /* the part of `blocked` that recorded waits explain */
	/* the part of `blocked` in system calls that are not recorded, and in page faults */
	uint64_t other;
	uint64_t unobserved; /* the part of `blocked` in futexes that no hook sees */
	uint64_t unmeasured; /* time before the first and after the last reading */
	/*
	 * the longest time for which a single thread may have been blocked without being observed
	 */
	uint64_t worst;
};

struct coverage_thread {
	uint32_t tid;
	uint64_t born_ns;      /* time at which the thread or its recording began; 0: unknown */
	uint64_t ended_ns;     /* time of its end; 0: the thread ended with its process */
	uint64_t recorded_ns;  /* sum of its recorded waits */
	bool is_main, is_read; /* is_read: a note ~scheduled was read */
	/* the arguments of the note ~scheduled */
	uint64_t from, from_ran, from_queued, to, ran, queued, futex, other, in_recorded;
};

struct coverage {
	ARRAY_OF(struct coverage_thread) threads; /* threads of the current process */
	struct map by_number; /* key: tid; value: index + 1 of the last thread with the tid */
	bool is_partial;      /* filters removed some waits, so only `worst` can be computed */
};

void coverage_init(struct coverage *coverage);

/* Removes all threads. Call it before the next process. */
void coverage_clear(struct coverage *coverage);

/* coverage_event() processes a call, coverage_note() a note. */
void coverage_event(struct coverage *coverage, const struct event *event);
void coverage_note(struct coverage *coverage, const struct event *event);

/*
 * Adds up the times of all threads of the process. end_ns: end of the process, or the last known
 * time.
 */
void coverage_of_process(const struct coverage *coverage, uint64_t end_ns,
			 struct coverage_sum *sum);

/* Sets `sum` to the times of the last thread with this tid; all 0 if no thread had it. */
void coverage_of_thread(const struct coverage *coverage, uint32_t tid, uint64_t end_ns,
			struct coverage_sum *sum);

/* Adds `b` to `a`. */
void coverage_add(struct coverage_sum *a, const struct coverage_sum *b);

/* Whether more than a tenth of the blocked time was not observed. */
bool coverage_is_low(const struct coverage_sum *sum);

/*
 * Writes a text like "blocked 12.3 s in all threads: 3.1 s in recorded waits, ...". Returns `text`.
 */
#define COVERAGE_TEXT_SIZE 256u
const char *coverage_say(const struct coverage_sum *sum, char text[COVERAGE_TEXT_SIZE]);

#endif
