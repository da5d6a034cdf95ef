/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAITS_H
#define WAITS_WAITS_H

/*
 * How long threads waited for semaphores, conditions and other threads. A call for a lock waited if
 * another thread held the lock (locks.h). Other calls take some time even if they do not wait, so a
 * call counts as a wait if it lasts longer than a threshold. The threshold is learnt from the
 * trace: ten times the 10th percentile of the calls' durations, rounded up to 1, 2, 4 or 8 us.
 * Since the threshold is known only at the end, durations are summed separately for each of these
 * four thresholds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/hash_table.h"

#define WAITS_STEPS	  5u /* steps: below 1 us, 1 to 2 us, 2 to 4 us, 4 to 8 us, from 8 us on */
#define WAITS_SPEEDS	  512u
#define WAITS_OBJECTS_MAX 65536u /* objects per process; further objects count in totals only */

struct waits_times {
	uint64_t count[WAITS_STEPS];
	uint64_t ns[WAITS_STEPS];
	uint64_t longest_ns;
};

/* All calls of one class. */
struct waits_class {
	struct waits_times times;
	bool is_sure;		       /* times contains only calls that are known to have waited */
	uint64_t calls;		       /* number of calls, including those that did not wait */
	uint64_t speeds[WAITS_SPEEDS]; /* histogram of durations: eight buckets per octave */
};

struct waits_object {
	uint32_t class;
	uint64_t object;
	struct waits_times times;
	/* the following are sites of the process; 0: none */
	/* sites of the longest wait, and of the notification that ended it */
	uint32_t waiter, other;
	/* site of the first notification in the chain that ends with `other` */
	uint32_t first;
	/* site and thread of the last notification */
	uint32_t last;
	uint32_t last_thread;
	uint64_t last_ns; /* time of the last notification */
	/* the futex to which the last notification may have moved threads (FUTEX_REQUEUE) */
	const struct waits_object *moved;
	/*
	 * Threads may pass the object on in a chain (waits_notify()). begun: site of the first
	 * notification of the chain; woken_...: the thread that was woken last, the time when it
	 * was woken, and how long it had waited.
	 */
	uint32_t begun;
	uint32_t woken_thread;
	uint64_t woken_ns, waited_ns;
};

/* A call that may have waited. */
struct waits_call {
	uint64_t enter_ns, duration_ns;
	uint32_t thread;
	uint32_t site;
};

/* The objects of one process. */
struct waits {
	struct hash_table objects;
	struct pool pool;
};

void waits_init(struct waits *waits);
void waits_free(struct waits *waits);

/*
 * The entry of an object, which is created if necessary. Returns NULL if there are too many objects
 * or no memory is left.
 */
struct waits_object *waits_object(struct waits *waits, uint32_t class, uint64_t object);

/* Adds a call to its class and its object; `object` may be NULL. */
void waits_add(struct waits_class *class, struct waits_object *object,
	       const struct waits_call *call);

/* Records that a thread notified the object: posted or signalled. */
void waits_notify(struct waits_object *object, uint32_t site, uint32_t thread, uint64_t time_ns);

/* Adds `calls` calls for locks. `waits` of them are known to have waited, for `ns` in total. */
void waits_add_sure(struct waits_class *class, uint64_t calls, uint64_t waits, uint64_t ns,
		    uint64_t longest_ns);

/*
 * The object with the longest total wait time, counting only waits of at least least_ns; NULL: none
 * was that long.
 */
const struct waits_object *waits_hottest(const struct waits *waits, uint32_t class,
					 uint64_t least_ns);

/* The minimum duration of a wait: 1000, 2000, 4000 or 8000 ns; 0: any duration. */
uint64_t waits_threshold(const struct waits_class *class);

/* Number and total time of the waits that lasted at least threshold_ns. */
uint64_t waits_count(const struct waits_times *times, uint64_t threshold_ns);
uint64_t waits_ns(const struct waits_times *times, uint64_t threshold_ns);

#endif
