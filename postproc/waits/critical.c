/* SPDX-License-Identifier: MIT */
#include "critical.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"

#define CALL_LEAST 10000u /* ns: shorter calls of LANE_OTHER are ignored */

void critical_event(struct critical *critical, const struct event *event)
{
	uint64_t until_ns = event->leave_ns > event->enter_ns ? event->leave_ns : event->time_ns;

	if (!critical->first_ns || event->enter_ns < critical->first_ns)
		critical->first_ns = event->enter_ns ? event->enter_ns : event->time_ns;
	if (until_ns < critical->last_ns)
		return;
	critical->last_ns = until_ns;
	critical->last_thread = event->thread;
}

void critical_add(struct critical *critical, const struct lane_wait *wait)
{
	if (wait->until_ns <= wait->since_ns ||
	    (wait->kind == LANE_OTHER && wait->until_ns - wait->since_ns < CALL_LEAST))
		return;
	if (critical->waits.count < CRITICAL_WAITS)
		*ARRAY_ADD(&critical->waits) = *wait;
	else
		critical->waits.items[critical->next++ % CRITICAL_WAITS] = *wait;
}

void critical_free(struct critical *critical)
{
	free(critical->waits.items);
}

/* ---- the walk ---- */

/* Sorts waits by thread, then by their end. */
static int compare(const void *left, const void *right)
{
	const struct lane_wait *a = left, *b = right;

	return ORDER(a->thread, b->thread) ?: ORDER(a->until_ns, b->until_ns);
}

/* The last wait of the thread that ended at until_ns or before; NULL: none. */
static const struct lane_wait *last_wait(const struct critical *critical, uint32_t thread,
					 uint64_t until_ns)
{
	const struct lane_wait key = { .thread = thread, .until_ns = until_ns };
	size_t low = ARRAY_SEARCH(critical->waits.count, at,
				  compare(&critical->waits.items[at], &key) <= 0);
	const struct lane_wait *found = low ? &critical->waits.items[low - 1] : NULL;

	return found && found->thread == thread ? found : NULL;
}

struct walk {
	const struct critical *critical;
	const struct threads *threads;
	void (*tell)(void *user, const struct critical_part *part);
	void *user;
	struct critical_part ran; /* the part at the present position; its start is not known yet */
};

/* Completes the part in which the thread ran: it began at since_ns. */
static void ran_since(struct walk *walk, uint64_t since_ns)
{
	walk->ran.since_ns = since_ns;
	if (since_ns < walk->ran.until_ns)
		walk->tell(walk->user, &walk->ran);
}

static void go_on(struct walk *walk, uint32_t thread, uint64_t until_ns,
		  const struct trace_node *backtrace)
{
	walk->ran = (struct critical_part){
		.step = CRITICAL_RAN, .thread = thread, .until_ns = until_ns, .backtrace = backtrace
	};
}

/*
 * Returns when the waker ended the wait; 0: not known. For a join, the end of the wait is taken as
 * the end of the joined thread.
 */
static uint64_t woken_at(const struct lane_wait *wait)
{
	if (!wait->waker_thread || wait->waker_thread == wait->thread)
		return 0;
	if (wait->kind == LANE_JOIN)
		return wait->until_ns;
	return wait->woken_ns > wait->since_ns && wait->woken_ns <= wait->until_ns ? wait->woken_ns
										   : 0;
}

static void pass_wait(struct walk *walk, const struct lane_wait *wait)
{
	uint64_t woken_ns = woken_at(wait), first_ns = walk->critical->first_ns;
	struct critical_part part = { .step = woken_ns ? CRITICAL_WOKEN : CRITICAL_WAITED,
				      .thread = wait->thread,
				      .since_ns = woken_ns ? woken_ns : wait->since_ns,
				      .until_ns = wait->until_ns,
				      .backtrace = wait->waiter,
				      .function = wait->function };

	if (part.since_ns < first_ns)
		part.since_ns = first_ns;
	if (part.since_ns < part.until_ns)
		walk->tell(walk->user, &part);
	if (woken_ns)
		go_on(walk, wait->waker_thread, part.since_ns, wait->waker);
	else
		go_on(walk, wait->thread, part.since_ns, wait->waiter);
}

/*
 * Returns the thread that created the current one; NULL: not known, or it was created outside the
 * path. *born_ns: time of the creation.
 */
static const struct thread_life *maker_of(const struct walk *walk, uint64_t *born_ns)
{
	uint32_t number = map_get(&walk->threads->by_number, 0, walk->ran.thread);
	const struct thread_life *life = number && number <= walk->threads->list.count
						 ? &walk->threads->list.items[number - 1]
						 : NULL;

	if (!life || life->creator >= walk->threads->list.count ||
	    life->first_ns <= walk->critical->first_ns || life->first_ns >= walk->ran.until_ns)
		return NULL;
	*born_ns = life->first_ns;
	return &walk->threads->list.items[life->creator];
}

/*
 * Goes back to the thread's last wait or, if there is none, to the thread that created it. Returns
 * false at the start of the path.
 */
static bool step_back(struct walk *walk)
{
	const struct critical *critical = walk->critical;
	const struct lane_wait *wait = last_wait(critical, walk->ran.thread, walk->ran.until_ns);
	const struct thread_life *maker;
	uint64_t born_ns;

	if (wait && wait->until_ns > critical->first_ns) {
		ran_since(walk, wait->until_ns);
		pass_wait(walk, wait);
		return true;
	}
	maker = maker_of(walk, &born_ns);
	ran_since(walk, maker ? born_ns : critical->first_ns);
	if (maker)
		go_on(walk, maker->tid, born_ns, NULL);
	return maker;
}

void critical_process(struct critical *critical, const struct threads *threads,
		      void (*tell)(void *user, const struct critical_part *part), void *user)
{
	struct walk walk = { .critical = critical, .threads = threads, .tell = tell, .user = user };
	/* A wait can be passed twice only in a damaged trace; this limit then ends the loop. */
	size_t steps = critical->waits.count + threads->list.count + 1;
	uint64_t first_ns = UINT64_MAX;

	/*
	 * If waits were overwritten in the ring, the path begins at the end of the earliest one
	 * that is left.
	 */
	for (size_t i = 0; critical->next && i < critical->waits.count; i++)
		if (critical->waits.items[i].until_ns < first_ns)
			first_ns = critical->waits.items[i].until_ns;
	if (first_ns != UINT64_MAX && first_ns > critical->first_ns)
		critical->first_ns = first_ns;
	if (critical->waits.count)
		qsort(critical->waits.items, critical->waits.count, sizeof(*critical->waits.items),
		      compare);
	go_on(&walk, critical->last_thread, critical->last_ns, NULL);
	if (critical->waits.count && critical->first_ns) {
		while (steps && step_back(&walk))
			steps--;
		if (!steps)
			ran_since(&walk, critical->first_ns);
	}
	critical->waits.count = critical->next = 0;
	critical->first_ns = critical->last_ns = 0;
}
