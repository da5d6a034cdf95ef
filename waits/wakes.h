/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAKES_H
#define WAITS_WAKES_H

/*
 * Who waits for semaphores and conditions, and who wakes them, in the process that is being read.
 *
 * A post is a token that lies there until a wait fetches it, the oldest one first. The wait that
 * began before the post had to wait for it; otherwise no thread was waiting when it was posted.
 * Tokens of the initial value are nobody's. A signal is for one that waits at that moment and has
 * none yet, a broadcast for all of them; if there is none, it is in vain. A wait for a condition
 * that returns without one is spurious; one that is followed at once by another wait of the thread
 * for the same condition found nothing.
 *
 * Memory grows with objects, sites and threads; of each semaphore so many tokens are told apart.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "account/sites.h"
#include "waits/waits.h"
#include "trace/event.h"

#define WAKES_TOKENS_MAX 4096u /* of an object; what comes then is taken for the newest one */

enum wakes_end {
	WAKES_WOKEN,	/* waited until somebody posted or signalled */
	WAKES_NOTHING,	/* condition: the same, and then waited again at once */
	WAKES_SPURIOUS, /* condition: returned, and nobody had signalled */
	WAKES_UNSEEN,	/* semaphore: waited, and who posted is not known */
	WAKES_AT_ONCE,	/* semaphore: was there already */
	WAKES_REFUSED,	/* semaphore: was not there (sem_trywait) */
	WAKES_TIMEOUT,
	WAKES_LEFT,   /* cancelled, interrupted, failed */
	WAKES_ASLEEP, /* condition: has not returned when the process ended */
	WAKES_ENDS
};

/* As a person reads it: "signalled", or "posted" where resource is a semaphore ... */
const char *wakes_end_name(enum resource resource, unsigned end);

/* One wait. */
struct wakes_wait {
	uint32_t waiter, waker; /* sites; waker 0: nobody, or not known */
	uint8_t end;
	uint64_t object, since_ns, ns;
	uint32_t thread, waker_thread; /* kernel's */
	uint64_t woken_ns;	       /* when somebody posted or signalled for it; 0: nobody did */
};

/* Waits at a site that ended so, by whoever posted or signalled at another one. */
struct wakes_pair {
	uint64_t count, ns;
	struct wakes_wait longest;
};

/* Posts or signals at a site. */
struct wakes_site {
	uint64_t count;
	uint64_t woke;	/* threads that waited for it */
	uint64_t vain;	/* no thread waited at the time */
	uint64_t never; /* and no wait fetched it later, either (semaphore) */
};

struct wakes_token {
	uint64_t time_ns; /* 0: of the initial value */
	uint64_t count;
	uint32_t site, thread; /* kernel's */
};

struct wakes_object {
	uint64_t object;
	struct {
		struct wakes_token *items; /* a ring */
		size_t count, capacity, first;
	} tokens;
	struct wakes_token vain; /* the last signal, if no thread waited for it (condition) */
	uint64_t pending;	 /* tokens */
	uint64_t waiting;	 /* threads (condition) */
};

struct wakes_thread {
	uint32_t object; /* condition that it waits for; 0: none */
	struct wakes_wait now;
	/* the last time that it was woken, until it is known for what; last.waiter 0: none */
	struct wakes_wait last;
	uint64_t last_call; /* number of the call */
};

/* Items stand from 1: 0 is none. */
struct wakes {
	enum resource resource; /* RESOURCE_SEMAPHORE or RESOURCE_CONDITION */
	/* Hears of each wait once it is known how it ended; NULL: nobody. */
	void (*listener)(void *user, const struct wakes_wait *wait);
	void *user;
	struct map index; /* of objects, threads, pairs */
	ARRAY_OF(struct wakes_object) objects;
	ARRAY_OF(struct wakes_thread) threads;
	ARRAY_OF(struct wakes_pair) pairs;
	ARRAY_OF(struct wakes_site) stats; /* by site */
	struct sites sites;
	struct waits_class speeds; /* what a call takes that need not wait, for WAKES_UNSEEN */
	uint64_t threshold_ns;
};

void wakes_init(struct wakes *wakes, enum resource resource);
void wakes_free(struct wakes *wakes);

/* Another process: nothing is known of it. */
void wakes_clear(struct wakes *wakes);

/* A call in the order of the stream, of whatever class. Returns 0 or -ENOMEM. */
int wakes_event(struct wakes *wakes, const struct event *event);

/* The process has no more events. Returns 0 or -ENOMEM. */
int wakes_finish(struct wakes *wakes, uint64_t end_ns);

/* The last signal of a condition, if no thread waited when it came; else NULL. */
const struct wakes_token *wakes_vain(const struct wakes *wakes, uint64_t object);

/* The numbers of a site where somebody posts or signals, or NULL. */
const struct wakes_site *wakes_site(const struct wakes *wakes, uint32_t site);

#endif
