/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAITS_H
#define WAITS_WAITS_H

/*
 * How long threads waited for semaphores, conditions and threads. Whether a lock was waited for is
 * known (locks.h): another thread had it. Others take some time, too, when there is nothing to wait
 * for; what counts as a wait is learnt from the trace: ten times what the fastest tenth of the
 * calls took, rounded up to 1, 2, 4 or 8 us. Until that is known, times are kept apart by those
 * steps, for each object.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/table.h"

#define WAITS_STEPS	  5u /* below 1 us, 1 to 2, 2 to 4, 4 to 8, from 8 us */
#define WAITS_SPEEDS	  512u
#define WAITS_OBJECTS_MAX 65536u /* of one process; the rest counts in the totals alone */

struct waits_times {
	uint64_t count[WAITS_STEPS];
	uint64_t ns[WAITS_STEPS];
	uint64_t longest_ns;
};

/* All calls of one class. */
struct waits_class {
	struct waits_times times;
	bool is_sure;		       /* times has nothing but waits */
	uint64_t calls;		       /* those that did not wait, too */
	uint64_t speeds[WAITS_SPEEDS]; /* calls by duration: eight steps an octave */
};

struct waits_object {
	uint32_t class;
	uint64_t object;
	struct waits_times times;
	/* sites of the process's fold; 0: none */
	uint32_t waiter, other; /* of the longest wait: who waited, and who notified */
	uint32_t first;		/* of the longest wait: the site that its row of wakes began with */
	/* who notified */
	uint32_t last;
	uint32_t last_thread;
	uint64_t last_ns; /* when it was notified */
	/* where threads pass it on to each other: the first that notified, and who was woken then
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

/* Objects of one process. */
struct waits {
	struct table objects;
	struct pool pool;
};

void waits_init(struct waits *waits);
void waits_free(struct waits *waits);

/* The entry of an object, made if need be. NULL: too many, or no memory. */
struct waits_object *waits_object(struct waits *waits, uint32_t class, uint64_t object);

/* object may be NULL. */
void waits_add(struct waits_class *class, struct waits_object *object,
	       const struct waits_call *call);

/* A thread notified: posted, signalled. */
void waits_notify(struct waits_object *object, uint32_t site, uint32_t thread, uint64_t time_ns);

/* Of calls for locks it is known which of them waited: so many, together so long. */
void waits_add_sure(struct waits_class *class, uint64_t calls, uint64_t waits, uint64_t ns,
		    uint64_t longest_ns);

/* The object with the longest time in waits of so many ns and more; NULL: none. */
const struct waits_object *waits_hottest(const struct waits *waits, uint32_t class,
					 uint64_t least_ns);

/* What took at least so long was a wait: 1000, 2000, 4000 or 8000 ns; 0: whatever it took. */
uint64_t waits_threshold(const struct waits_class *class);

/* Count and time of the waits from the threshold up. */
uint64_t waits_count(const struct waits_times *times, uint64_t threshold_ns);
uint64_t waits_ns(const struct waits_times *times, uint64_t threshold_ns);

#endif
