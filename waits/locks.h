/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LOCKS_H
#define WAITS_LOCKS_H

/*
 * The locks of the process that is being read: who took each, how long it waited for it and how
 * long it had it, who had it meanwhile. A wait for a condition gives its mutex back, so what it
 * sleeps is no hold; taking the mutex again is a hold, but no taking that anybody asked for.
 *
 * A lock is an address until it is initialised or destroyed there, or the memory is handed out
 * anew: then it is another one. Memory grows with locks, sites, threads and what is held, never
 * with events.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/sites.h"
#include "base/array.h"
#include "base/map.h"
#include "waits/lock_order.h"
#include "trace/event.h"

#define LOCKS_PAST_MAX 32u /* holds of a lock that are remembered to find whom one waited for */

/* How it is taken: the class of a site. */
enum locks_way { LOCKS_MUTEX, LOCKS_READ, LOCKS_WRITE, LOCKS_SPIN, LOCKS_WAYS };

/* "mutex", "read" ... */
const char *locks_way_name(unsigned way);

struct locks_times {
	uint64_t taken;
	uint64_t asked;	    /* calls that would have waited for as long as it takes */
	uint64_t contended; /* calls during which another thread had it, taken in the end or not */
	uint64_t refused;   /* calls that did not get it: busy, or timed out */
	uint64_t waited_ns, longest_wait_ns; /* of the contended */
	uint64_t holds;
	uint64_t held_ns, longest_hold_ns;
};

/* Of the site with the same number. */
struct locks_site {
	struct locks_times times;
	/* its longest hold */
	uint64_t since_ns, object;
	uint32_t thread;
	uint32_t released; /* site; 0: never given back */
	/* locks that were first taken there, and are no more */
	uint32_t gone;
	struct locks_times gone_times[2];
};

struct locks_past {
	uint64_t since_ns, until_ns;
	uint32_t thread, site; /* that took it */
	uint32_t outdone_by;   /* thread with a later and longer one; 0: none */
	bool is_shared;
	bool is_held; /* it is not over: until_ns is now */
};

struct locks_lock {
	uint64_t object;
	uint32_t serial; /* never used again; 0: this entry is free */
	uint32_t first;	 /* of its holds; 0: nobody has it */
	uint32_t holders;
	uint32_t born;		 /* site that first took it; 0: nobody did */
	uint32_t next, previous; /* of the same page; of a free entry: the next one */
	bool is_rwlock;
	struct {
		struct locks_past *items; /* in the order of their ends */
		size_t count, capacity;
	} past;			     /* holds for most of which a wait may have been, see locks.c */
	struct locks_times times[2]; /* alone, and shared with other readers */
};

struct locks_links {
	uint32_t previous, next;
};

struct locks_hold {
	uint64_t since_ns;
	uint32_t lock, thread, site; /* thread: index */
	uint32_t count;		     /* times that the thread has taken it */
	uint8_t way;
	struct locks_links of_lock, of_thread; /* of a free entry: of_lock.next is the next one */
};

struct locks_thread {
	uint32_t id;	/* kernel's */
	uint32_t first; /* the newest of its holds; 0: none */
};

/* Who waited at a site while another had the lock that it had taken at another one. */
struct locks_pair {
	uint32_t waiter, holder; /* sites; holder 0: not seen */
	uint64_t count, ns, longest_ns;
	/* the longest */
	uint64_t object, since_ns;
	uint32_t waiter_thread, holder_thread;
};

/* A call during which another thread had the lock: what counts as contended. */
struct locks_wait {
	uint64_t object, since_ns, until_ns;
	uint32_t thread, holder_thread; /* kernel's; 0: not seen */
	uint32_t site, holder_site;	/* holder_site 0: not seen */
	const char *function;		/* that waited, or still waits */
	uint64_t released_ns; /* when the holder gave it back; 0: it has it, or not seen */
	bool is_open;	      /* the call has not returned */
};

/* A hold that is over. */
struct locks_held {
	uint64_t object, since_ns, until_ns;
	uint32_t thread, site; /* thread: kernel's */
	uint32_t serial;       /* of the lock: one of another serial is another one */
};

/* Hears of each. NULL: nobody asks. */
struct locks_listener {
	void (*wait)(void *user, const struct locks_wait *wait);
	void (*held)(void *user, const struct locks_held *held);
	void *user;
};

/* Items stand from 1: 0 is none. wants_order: circles of locks are looked for, too. */
struct locks {
	struct locks_listener listener;
	struct map index; /* of locks, pages, threads, pairs */
	ARRAY_OF(struct locks_lock) locks;
	ARRAY_OF(struct locks_hold) holds;
	ARRAY_OF(struct locks_thread) threads;
	ARRAY_OF(struct locks_pair) pairs;
	ARRAY_OF(struct locks_site) stats;
	struct sites sites;
	struct lock_order order;
	bool wants_order;
	bool is_contended; /* only what had to wait was recorded (--locks=contended) */
	uint32_t spare_lock, spare_hold, serials;
	uint32_t live; /* locks */
	bool is_finished;
};

void locks_init(struct locks *locks);
void locks_free(struct locks *locks);

/* Another process: nothing is known of it. */
void locks_clear(struct locks *locks);

/* A call in the order of the stream, of whatever class. Returns 0 or -ENOMEM. */
int locks_event(struct locks *locks, const struct event *event);

/*
 * A call for a lock that is under way at the end (~open): a wait that is not over, for whoever has
 * the lock, and an order of locks that was tried. Others are ignored. Returns 0 or -ENOMEM.
 */
int locks_open(struct locks *locks, const struct event *note, const struct hook *hook);

/* A thread that has a lock now. */
struct locks_holder {
	uint32_t thread, site; /* thread: kernel's; site: that took it */
	bool is_shared;	       /* with other readers */
};

/* The next one behind *at (0 at first) of those that have a lock; false after the last. */
bool locks_holder(const struct locks *locks, uint64_t object, uint32_t *at,
		  struct locks_holder *holder);

/*
 * The process has no more events: what is held was held until then, and has its holders still.
 * Returns 0 or -ENOMEM.
 */
int locks_finish(struct locks *locks, uint64_t end_ns);

/* The numbers of a site, or NULL: it has none. */
const struct locks_site *locks_site(const struct locks *locks, uint32_t site);

/* All of the process together. */
void locks_sum(const struct locks *locks, struct locks_times *sum);

/* Who waited the longest for whom; NULL: nobody waited. */
const struct locks_pair *locks_hottest(const struct locks *locks);

void locks_add_times(struct locks_times *sum, const struct locks_times *times);

#endif
