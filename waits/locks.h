/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LOCKS_H
#define WAITS_LOCKS_H

/*
 * The locks of one process: which thread took each lock, how long that thread waited, which thread
 * held the lock during the wait, and how long each thread held it. A wait for a condition releases
 * the mutex, so the time asleep is not part of a hold. When the wait takes the mutex again, a new
 * hold starts, but this is not counted as a call for the lock.
 *
 * An address identifies one lock until a lock is initialised or destroyed at that address, or a
 * block that contains it is allocated. Memory grows with the numbers of locks, sites, threads and
 * current holds, not with the number of events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/sites.h"
#include "base/array.h"
#include "base/map.h"
#include "waits/lock_order.h"
#include "trace/event.h"

#define LOCKS_PAST_MAX 32u /* past holds kept per lock, to find the holder during a wait */

/* How a lock is taken. The sites in locks->sites have this value as their class. */
enum locks_way { LOCKS_MUTEX, LOCKS_READ, LOCKS_WRITE, LOCKS_SPIN, LOCKS_WAYS };

/* Returns the name of a way: "mutex", "read" ... */
const char *locks_way_name(unsigned way);

struct locks_times {
	uint64_t taken;
	uint64_t asked;	    /* number of blocking calls; attempts (trylock) do not count */
	uint64_t contended; /* blocking calls during which another thread held the lock */
	uint64_t refused;   /* calls that did not take the lock: busy, or timed out */
	uint64_t waited_ns, longest_wait_ns; /* total and longest time of contended calls */
	uint64_t holds;
	uint64_t held_ns, longest_hold_ns;
};

/* The statistics of a call site, which has the same index in locks->stats and locks->sites. */
struct locks_site {
	struct locks_times times;
	/* the longest hold that began at this site */
	uint64_t since_ns, object;
	uint32_t thread;
	uint32_t released; /* site of the release; 0: never released */
	/*
	 * destroyed locks that were first taken at this site: their number, and the sums of their
	 * times
	 */
	uint32_t gone;
	struct locks_times gone_times[2];
};

struct locks_past {
	uint64_t since_ns, until_ns;
	uint32_t thread, site; /* thread and site that took the lock */
	uint32_t outdone_by; /* a thread with a later and longer hold (see drop_past()); 0: none */
	bool is_shared;
	bool is_held; /* the hold has not ended; until_ns is the end of the waiting call */
};

struct locks_lock {
	uint64_t object;
	uint32_t serial; /* unique number of the lock; 0: this entry is free */
	uint32_t first;	 /* the newest hold of the lock; 0: not held */
	uint32_t holders;
	uint32_t born; /* site that first took the lock; 0: never taken */
	/* links in the list of locks on the same page; `next` also links the free list */
	uint32_t next, previous;
	bool is_rwlock;
	struct {
		struct locks_past *items; /* ordered by until_ns */
		size_t count, capacity;
	} past; /* ended holds that may explain a wait that has not ended yet, see drop_past() */
	struct locks_times times[2]; /* [0]: exclusive; [1]: shared with other readers */
};

struct locks_links {
	uint32_t previous, next;
};

struct locks_hold {
	uint64_t since_ns;
	uint32_t lock, thread, site; /* thread: index in threads */
	uint32_t count;		     /* how many times the thread has taken the lock (recursion) */
	uint8_t way;
	struct locks_links of_lock, of_thread; /* of_lock.next also links the free list */
};

struct locks_thread {
	uint32_t id;	/* the kernel's thread id */
	uint32_t first; /* the newest hold of the thread; 0: none */
};

/* The waits at one call site for locks that other threads had taken at another site. */
struct locks_pair {
	uint32_t waiter, holder; /* sites; holder 0: the hold was not seen */
	uint64_t count, ns, longest_ns;
	/* the lock, start and threads of the longest wait */
	uint64_t object, since_ns;
	uint32_t waiter_thread, holder_thread;
};

/* A contended call, which waited while another thread held the lock. */
struct locks_wait {
	uint64_t object, since_ns, until_ns;
	uint32_t thread, holder_thread; /* the kernel's thread ids; 0: not seen */
	uint32_t site, holder_site;	/* holder_site 0: not seen */
	const char *function;		/* name of the function that waited, or still waits */
	uint64_t released_ns;		/* time of the release; 0: still held, or not seen */
	bool is_open;			/* the call had not returned when the trace ended */
};

/* A hold that has ended. */
struct locks_held {
	uint64_t object, since_ns, until_ns;
	uint32_t thread, site; /* thread: the kernel's id */
	/* serial number of the lock, which distinguishes locks at the same address */
	uint32_t serial;
};

/* Functions that are called for each wait, and for each hold that ends; NULL: none. */
struct locks_listener {
	void (*wait)(void *user, const struct locks_wait *wait);
	void (*held)(void *user, const struct locks_held *held);
	void *user;
};

/* Indices start at 1; 0: no item. wants_order: also search for cycles in the lock order. */
struct locks {
	struct locks_listener listener;
	struct map index; /* indices of locks, pages, threads and pairs */
	ARRAY_OF(struct locks_lock) locks;
	ARRAY_OF(struct locks_hold) holds;
	ARRAY_OF(struct locks_thread) threads;
	ARRAY_OF(struct locks_pair) pairs;
	ARRAY_OF(struct locks_site) stats;
	struct sites sites;
	struct lock_order order;
	bool wants_order;
	bool is_contended; /* only contended calls were recorded (--locks=contended) */
	uint32_t spare_lock, spare_hold, serials;
	uint32_t live; /* number of locks at present */
	bool is_finished;
};

void locks_init(struct locks *locks);
void locks_free(struct locks *locks);

/* Drops all data, for use with another process. */
void locks_clear(struct locks *locks);

/* Adds a call; calls must be in stream order. Ignores calls of other classes. */
void locks_event(struct locks *locks, const struct event *event);

/*
 * Adds a call that is still blocked at the end of the trace (note ~open). It counts as a wait for
 * the holder of the lock, and enters the lock order as if it had taken the lock. Ignores calls that
 * are not for locks.
 */
void locks_open(struct locks *locks, const struct event *note, const struct hook *hook);

/* A thread that holds a lock now. */
struct locks_holder {
	uint32_t thread, site; /* thread: the kernel's id; site: where the thread took the lock */
	bool is_shared;	       /* shared with other readers */
};

/*
 * Sets *holder to the next holder of a lock. *at must be 0 at the first call. Returns false after
 * the last holder.
 */
bool locks_holder(const struct locks *locks, uint64_t object, uint32_t *at,
		  struct locks_holder *holder);

/*
 * Sets *object and *holder to the next lock that a thread holds and to that thread. *at must be
 * zeroed at the first call. Returns false after the last lock.
 */
struct locks_at {
	uint32_t thread, hold;
};

bool locks_next_held(const struct locks *locks, struct locks_at *at, uint64_t *object,
		     struct locks_holder *holder);

/*
 * Ends the process. The remaining holds are counted until end_ns; locks_holder() still finds them.
 */
void locks_finish(struct locks *locks, uint64_t end_ns);

/* The statistics of a site, or NULL if it has none. */
const struct locks_site *locks_site(const struct locks *locks, uint32_t site);

/* Sets *sum to the sums over all sites of the process. */
void locks_sum(const struct locks *locks, struct locks_times *sum);

/* The pair whose waits took longest in total; NULL: no call waited. */
const struct locks_pair *locks_hottest(const struct locks *locks);

void locks_add_times(struct locks_times *sum, const struct locks_times *times);

#endif
