/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAKES_H
#define WAITS_WAKES_H

/*
 * Which threads of a process wait for semaphores, conditions and futexes or in calls that block,
 * and which threads wake them.
 *
 * Semaphores: each post adds a token, and each wait takes the oldest token. If the wait began
 * before the post, the post woke the thread; otherwise no thread was waiting for the post. The
 * tokens of the initial value were posted by no thread.
 *
 * Conditions: a signal wakes one thread that waits at that moment and was not signalled yet; a
 * broadcast wakes all such threads. If there is no such thread, the signal had no waiter. A wait
 * that returns without a signal is spurious. A thread that was signalled but immediately waits for
 * the same condition again was woken for nothing.
 *
 * Futexes: only waits that slept are recorded, and only wakes that woke threads, with the number of
 * threads. The kernel wakes the thread that waited first. So a wait was ended by the oldest wake
 * whose call returned after the wait began and whose number of woken threads is not used up by
 * other waits. A call may also move waiters to a second futex; a later wake of that futex ends
 * their waits.
 *
 * Calls that block: reads, polls, sleeps and the like that lasted for 1 ms or longer, and waits in
 * calls of other classes (open, accept, waitpid). As with futexes, a wait at one end of a pipe was
 * ended by the oldest unused call that wrote to the other end. A site is the idle wait of an event
 * loop if it waits for several descriptors (HOW_POLLS), at least WAKES_IDLE_MIN times, mostly while
 * no other thread of the process made a recorded call.
 *
 * Memory grows with the numbers of objects, sites and threads. The number of tokens per object is
 * limited.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "account/sites.h"
#include "waits/waits.h"
#include "trace/event.h"

/* tokens per object; further tokens are merged with the newest one */
#define WAKES_TOKENS_MAX 4096u

enum wakes_end {
	WAKES_WOKEN,	/* waited until another thread posted or signalled */
	WAKES_NOTHING,	/* condition: signalled, but the thread immediately waited again */
	WAKES_SPURIOUS, /* condition: returned without a signal */
	/* semaphore, futex, call: waited, but the post or wake was not recorded */
	WAKES_UNSEEN,
	WAKES_AT_ONCE, /* semaphore: a token was available */
	WAKES_REFUSED, /* semaphore: no token was available to sem_trywait() */
	WAKES_TIMEOUT,
	WAKES_LEFT,   /* the wait was cancelled, interrupted, or failed */
	WAKES_IDLE,   /* call: the idle wait of an event loop */
	WAKES_ASLEEP, /* condition: still waiting when the process ended */
	WAKES_ENDS
};

/*
 * How the wait ended, for people: "posted" for a semaphore, "signalled" for a condition, "woken"
 * for a futex, and so on.
 */
const char *wakes_end_name(enum resource resource, unsigned end);

struct wakes_wait {
	uint32_t waiter, waker; /* sites; waker 0: none, or not recorded */
	uint8_t end;
	uint64_t object, since_ns, ns;
	uint32_t thread, waker_thread; /* the kernel's thread ids */
	uint64_t woken_ns;	       /* time of the post or signal; 0: none */
};

/* All waits with the same call site, the same end, and the same site of the post or signal. */
struct wakes_pair {
	uint64_t count, ns;
	struct wakes_wait longest;
	const char *what; /* describes the object of the longest wait; NULL: not known */
};

#define WAKES_IDLE_MIN 3u

/* The sums of a call site: of its posts or signals, or of its waits if it is a call that blocks. */
struct wakes_site {
	/*
	 * for calls: number of waits, and number of waits during which no other thread made a call
	 */
	uint64_t waits, quiet;
	uint64_t count;
	uint64_t woke;	/* waiting threads that these posts or signals woke */
	uint64_t vain;	/* posts or signals at a time when no thread waited */
	uint64_t never; /* semaphore: posts that no wait ever took */
};

struct wakes_token {
	uint64_t time_ns;  /* time of the post or signal; 0: a token of the initial value */
	uint64_t until_ns; /* futex: when the wake call returned */
	uint64_t count;
	uint32_t site, thread; /* thread: the kernel's id */
	/* futex: index of the futex to which the call moved the threads; 0: the call woke them */
	uint32_t moved_to;
	/*
	 * futex: if the call woke threads of two futexes, index of the other futex, whose token has
	 * the same time and thread; else 0
	 */
	uint32_t twin;
	/*
	 * if there is a twin: how many threads the call woke, on both futexes together, minus those
	 * whose waits were found
	 */
	uint64_t left;
};

struct wakes_object {
	uint64_t object;
	struct {
		struct wakes_token *items; /* the tokens, in a ring buffer */
		size_t count, capacity, first;
	} tokens;
	struct wakes_token vain; /* condition: the last signal, if it had no waiter */
	uint64_t pending;	 /* number of tokens that no wait has taken yet */
	uint64_t waiting;	 /* condition: number of threads that wait */
};

struct wakes_thread {
	uint32_t object; /* index of the condition that the thread waits for; 0: none */
	struct wakes_wait now;
	/*
	 * the last wait that was signalled. It is reported only when the thread's next wait shows
	 * whether the thread was woken for nothing. last.waiter 0: there is no such wait
	 */
	struct wakes_wait last;
	uint64_t last_call; /* number of the call of `last` */
};

/* Indices start at 1; 0: no item. */
struct wakes {
	/* RESOURCE_SEMAPHORE, RESOURCE_CONDITION, RESOURCE_FUTEX or RESOURCE_CALL */
	enum resource resource;
	/* Called for each wait when it is known how the wait ended; may be NULL. */
	void (*listener)(void *user, const struct wakes_wait *wait);
	/*
	 * For calls: describes the object of a wait that is the longest of its pair so far. The
	 * text must remain valid. May be NULL.
	 */
	const char *(*describe)(void *user, const struct event *event);
	void *user;
	/*
	 * for calls: last_thread made the last call that is not a wait, at last_ns; others_ns: time
	 * of the last such call of any other thread
	 */
	uint32_t last_thread;
	uint64_t last_ns, others_ns;
	struct map index; /* indices of objects, threads and pairs */
	ARRAY_OF(struct wakes_object) objects;
	ARRAY_OF(struct wakes_thread) threads;
	ARRAY_OF(struct wakes_pair) pairs;
	ARRAY_OF(struct wakes_site) stats; /* indexed by site */
	struct sites sites;
	struct waits_class speeds; /* durations of calls, from which the threshold is learnt */
	uint64_t threshold_ns;
};

void wakes_init(struct wakes *wakes, enum resource resource);
void wakes_free(struct wakes *wakes);

/* Drops all data, for use with another process. */
void wakes_clear(struct wakes *wakes);

/* Adds a call; calls must be in stream order. Ignores calls of other classes. */
void wakes_event(struct wakes *wakes, const struct event *event);

/* Ends the process: counts the waits that have not ended and the posts that no wait took. */
void wakes_finish(struct wakes *wakes, uint64_t end_ns);

/*
 * Whether the call waited for something other than a lock, semaphore, condition or futex: a call
 * that blocks, or a call of another class that took 1 ms or longer.
 */
bool wakes_is_call(const struct event *event);

/*
 * Whether the call site is that of an event loop. If so, its waits count as idle, except waits that
 * a thread of the process ended. site: the call site's sums over all processes.
 */
bool wakes_is_loop(const struct hook *hook, const struct wakes_site *site);

/* Returns the last signal of a condition if no thread waited for it, else NULL. */
const struct wakes_token *wakes_vain(const struct wakes *wakes, uint64_t object);

/* The statistics of a site that posts or signals, or NULL. */
const struct wakes_site *wakes_site(const struct wakes *wakes, uint32_t site);

/* Whether the call woke threads of a second futex (FUTEX_WAKE_OP) and did not move any to it. */
bool wakes_both(const struct event *event);

#endif
