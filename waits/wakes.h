/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAKES_H
#define WAITS_WAKES_H

/*
 * Which threads wait for semaphores and conditions, and which threads wake them, in the process
 * that is being read.
 *
 * A post is a token that stays until a wait takes it, the oldest token first. If the wait began
 * before the post, the thread was woken by the post; otherwise no thread was waiting when it was
 * posted. Tokens of the initial value have no poster. A signal is for one thread that waits at that
 * moment and was not signalled yet, a broadcast is for all of them; if no thread waits, the signal
 * had no waiter. A wait for a condition that returns without a signal is spurious. If the thread
 * waits for the same condition again at once, it was woken for nothing.
 *
 * Memory grows with the numbers of objects, sites and threads; the number of tokens per semaphore
 * is limited.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "account/sites.h"
#include "waits/waits.h"
#include "trace/event.h"

#define WAKES_TOKENS_MAX 4096u /* per object; further tokens are merged with the newest one */

enum wakes_end {
	WAKES_WOKEN,	/* waited until another thread posted or signalled */
	WAKES_NOTHING,	/* condition: the same, but then waited again at once */
	WAKES_SPURIOUS, /* condition: returned without a signal */
	WAKES_UNSEEN,	/* semaphore: waited, but the post was not seen */
	WAKES_AT_ONCE,	/* semaphore: a token was available */
	WAKES_REFUSED,	/* semaphore: no token was available (sem_trywait) */
	WAKES_TIMEOUT,
	WAKES_LEFT,   /* cancelled, interrupted, failed */
	WAKES_ASLEEP, /* condition: still waiting when the process ended */
	WAKES_ENDS
};

/* For people: "posted" for a semaphore, "signalled" for a condition, and so on. */
const char *wakes_end_name(enum resource resource, unsigned end);

/* One wait. */
struct wakes_wait {
	uint32_t waiter, waker; /* sites; waker 0: none, or not seen */
	uint8_t end;
	uint64_t object, since_ns, ns;
	uint32_t thread, waker_thread; /* kernel's */
	uint64_t woken_ns;	       /* when it was posted or signalled; 0: never */
};

/* Waits with the same site, end, and site of the post or signal. */
struct wakes_pair {
	uint64_t count, ns;
	struct wakes_wait longest;
};

/* Posts or signals at a site. */
struct wakes_site {
	uint64_t count;
	uint64_t woke;	/* threads that waited for it */
	uint64_t vain;	/* no thread waited at the time */
	uint64_t never; /* posts that no wait took later, either (semaphore) */
};

struct wakes_token {
	uint64_t time_ns; /* 0: initial value */
	uint64_t count;
	uint32_t site, thread; /* kernel's */
};

struct wakes_object {
	uint64_t object;
	struct {
		struct wakes_token *items; /* a ring buffer */
		size_t count, capacity, first;
	} tokens;
	struct wakes_token vain; /* the last signal if it had no waiter (condition) */
	uint64_t pending;	 /* number of tokens */
	uint64_t waiting;	 /* number of threads (condition) */
};

struct wakes_thread {
	uint32_t object; /* condition that the thread waits for; 0: none */
	struct wakes_wait now;
	/*
	 * the last wait that was signalled, until it is known whether the thread waits again at
	 * once; last.waiter 0: none
	 */
	struct wakes_wait last;
	uint64_t last_call; /* number of the call */
};

/* Indices start at 1; 0: no item. */
struct wakes {
	enum resource resource; /* RESOURCE_SEMAPHORE or RESOURCE_CONDITION */
	/* Called for each wait when its end is known; NULL: not wanted. */
	void (*listener)(void *user, const struct wakes_wait *wait);
	void *user;
	struct map index; /* numbers of objects, threads and pairs */
	ARRAY_OF(struct wakes_object) objects;
	ARRAY_OF(struct wakes_thread) threads;
	ARRAY_OF(struct wakes_pair) pairs;
	ARRAY_OF(struct wakes_site) stats; /* by site */
	struct sites sites;
	struct waits_class speeds; /* learns the threshold of WAKES_UNSEEN */
	uint64_t threshold_ns;
};

void wakes_init(struct wakes *wakes, enum resource resource);
void wakes_free(struct wakes *wakes);

/* Forgets everything: another process begins. */
void wakes_clear(struct wakes *wakes);

/* Adds a call, in stream order; ignores calls of other classes. */
void wakes_event(struct wakes *wakes, const struct event *event);

/* Ends the process. */
void wakes_finish(struct wakes *wakes, uint64_t end_ns);

/* The last signal of a condition if it had no waiter, else NULL. */
const struct wakes_token *wakes_vain(const struct wakes *wakes, uint64_t object);

/* The statistics of a site that posts or signals, or NULL. */
const struct wakes_site *wakes_site(const struct wakes *wakes, uint32_t site);

#endif
