/* SPDX-License-Identifier: MIT */
#include "chains.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

static void forget_threads(struct chains *chains)
{
	for (size_t i = 1; i < chains->threads.count; i++)
		free(chains->threads.items[i]);
	map_clear(&chains->by_number);
	chains->threads.count = 0;
	chains->open.count = 0;
}

void chains_free(struct chains *chains)
{
	forget_threads(chains);
	free(chains->threads.items);
	free(chains->open.items);
	free(chains->links.items);
	pool_free(&chains->names);
	map_clear(&chains->index);
	map_clear(&chains->places);
}

/* ---- links ---- */

/* Returns the number of a call site, or 0 if `backtrace` is NULL. */
static uint32_t place_of(struct chains *chains, const struct trace_node *backtrace)
{
	struct map_entry *entry =
		backtrace ? map_put(&chains->places, 0, (uintptr_t)backtrace) : NULL;

	if (!entry)
		return 0;
	if (!entry->value)
		entry->value = ++chains->place_count;
	return entry->value;
}

/* Finds or adds a link. Its key: the number of its pair of call sites, and of the next link. */
static uint32_t add_link(struct chains *chains, const struct chains_link *wanted)
{
	uint32_t kind = (uint32_t)wanted->kind << 1 | wanted->is_cycle, number;
	uint64_t waiter = place_of(chains, wanted->waiter), waker = place_of(chains, wanted->waker);
	struct map_entry *pair = map_put(&chains->places, 1, waiter << 32 | waker);
	uint64_t key;

	if (!pair->value)
		pair->value = ++chains->place_count;
	key = (uint64_t)pair->value << 32 | wanted->next;
	number = map_get(&chains->index, kind, key);
	if (number)
		return number;
	number = ARRAY_NUMBER(&chains->links);
	map_set(&chains->index, kind, key, number);
	chains->links.items[number] = *wanted;
	/* copy the name, because it is freed at the end of the process */
	chains->links.items[number].function = pool_copy(&chains->names, wanted->function);
	return number;
}

/* Finds or adds the link for a wait. next: the link of the next step of the chain; 0: no step. */
static uint32_t link_of(struct chains *chains, const struct lane_wait *wait, uint32_t next,
			bool is_cycle)
{
	struct chains_link link = { .waiter = wait->waiter,
				    .waker = wait->waker,
				    .kind = wait->kind,
				    .is_cycle = is_cycle,
				    .function = wait->function };
	uint32_t steps = next ? chains->links.items[next].steps : 0;

	if (steps >= CHAINS_STEPS || (next && chains->links.count >= CHAINS_MOST)) {
		chains->cut++;
		next = 0;
		steps = 0;
	}
	link.next = next;
	link.steps = steps + 1;
	return add_link(chains, &link);
}

const struct chains_link *chains_end(const struct chains *chains, const struct chains_link *link)
{
	while (link->next)
		link = &chains->links.items[link->next];
	return link;
}

/* ---- threads ---- */

static struct chains_thread *find_thread(const struct chains *chains, uint32_t tid)
{
	uint32_t number = tid ? map_get(&chains->by_number, 0, tid) : 0;

	return number ? chains->threads.items[number] : NULL;
}

static struct chains_thread *make_thread(struct chains *chains, uint32_t tid)
{
	struct chains_thread *thread = find_thread(chains, tid);
	uint32_t number;

	if (thread)
		return thread;
	number = ARRAY_NUMBER(&chains->threads);
	thread = chains->threads.items[number] = memory_zalloc(1, sizeof(*thread));
	map_set(&chains->by_number, 0, tid, number);
	return thread;
}

/* ---- waits ---- */

/*
 * Adds a part of a wait. next: first link of the chain of the waker's own wait during this part; 0:
 * the waker did not wait.
 */
static void put_part(struct chains *chains, const struct lane_wait *wait, uint32_t pid,
		     struct chains_part part, uint32_t next)
{
	uint64_t ns = part.to_ns - part.from_ns;
	struct chains_thread *thread;
	struct chains_part *place;
	struct chains_link *link;

	part.link = link_of(chains, wait, next, part.is_cycle);
	thread = make_thread(chains, wait->thread);
	place = &thread->parts[(thread->first + thread->count) % CHAINS_PARTS];
	if (thread->count == CHAINS_PARTS) {
		thread->forgotten_ns = place->to_ns;
		thread->first = (thread->first + 1) % CHAINS_PARTS;
	} else {
		thread->count++;
	}
	*place = part;
	if (wait->kind != LANE_LOCK)
		return;
	link = &chains->links.items[part.link];
	link->count++;
	link->ns += ns;
	if (ns < link->longest_ns || (link->pid && ns == link->longest_ns))
		return;
	link->longest_ns = ns;
	link->pid = pid;
	link->thread = wait->thread;
	link->waker_thread = wait->waker_thread;
}

/*
 * Divides a wait into parts, according to the waits of the waker (`other`) during it. The waits of
 * the waker are sorted by their ends; where two of them overlap, the one that ended first is used.
 */
static void split(struct chains *chains, const struct lane_wait *wait, uint32_t pid,
		  const struct chains_thread *other)
{
	uint64_t at = wait->since_ns;

	chains->cut += other->forgotten_ns > wait->since_ns;
	for (uint32_t i = 0; i < other->count; i++) {
		struct chains_part part = other->parts[(other->first + i) % CHAINS_PARTS];

		if (part.from_ns < at)
			part.from_ns = at;
		if (part.to_ns > wait->until_ns)
			part.to_ns = wait->until_ns;
		if (part.to_ns <= part.from_ns)
			continue;
		if (part.from_ns > at)
			put_part(chains, wait, pid,
				 (struct chains_part){ at, part.from_ns, 0, false }, 0);
		part.is_cycle = false;
		put_part(chains, wait, pid, part, part.link);
		at = part.to_ns;
	}
	if (at < wait->until_ns)
		put_part(chains, wait, pid, (struct chains_part){ at, wait->until_ns, 0, false },
			 0);
}

static void add_wait(struct chains *chains, const struct lane_wait *wait, uint32_t pid)
{
	const struct chains_thread *found =
		wait->waker_thread != wait->thread ? find_thread(chains, wait->waker_thread) : NULL;
	struct chains_thread other;

	if (wait->until_ns <= wait->since_ns)
		return;
	if (!found) {
		put_part(chains, wait, pid,
			 (struct chains_part){ wait->since_ns, wait->until_ns, 0, false }, 0);
		return;
	}
	other = *found;
	split(chains, wait, pid, &other);
}

void chains_add(struct chains *chains, const struct lane_wait *wait, uint32_t pid)
{
	if (!wait->is_open) {
		add_wait(chains, wait, pid);
		return;
	}
	/*
	 * store this wait, which has not ended, until all such waits are known: its chain may lead
	 * through several of them
	 */
	*ARRAY_ADD(&chains->open) = *wait;
	make_thread(chains, wait->thread)->open = chains->open.count;
}

/* ---- the end of a process ---- */

/*
 * Adds open waits that form a cycle: each thread waits for the next thread, and the last thread for
 * the first thread. While all these threads wait, each wait is attributed to the next thread.
 */
static void take_cycle(struct chains *chains, const size_t *way, size_t count, uint32_t pid)
{
	uint64_t since_ns = 0;

	for (size_t i = 0; i < count; i++) {
		const struct lane_wait *wait = &chains->open.items[way[i]];

		since_ns = wait->since_ns > since_ns ? wait->since_ns : since_ns;
	}
	for (size_t i = 0; i < count; i++) {
		struct lane_wait wait = chains->open.items[way[i]];

		if (wait.until_ns > since_ns)
			put_part(chains, &wait, pid,
				 (struct chains_part){ since_ns, wait.until_ns, 0, true }, 0);
		wait.until_ns = since_ns;
		add_wait(chains, &wait, pid);
	}
}

/*
 * Adds the open wait with index `first`. Before it, adds the open wait of its waker, before that
 * the open wait of the waker's waker, and so on.
 */
static void take_open(struct chains *chains, size_t first, uint32_t pid, size_t *way)
{
	size_t count = 0, cycle = 0;
	uint64_t at = first + 1;

	while (at) {
		const struct lane_wait *wait = &chains->open.items[at - 1];
		struct chains_thread *thread = find_thread(chains, wait->thread);
		const struct chains_thread *waker = find_thread(chains, wait->waker_thread);

		if (!thread || thread->open != at)
			break;
		thread->open = 0;
		way[count++] = (size_t)at - 1;
		/* continue with the waker's open wait, if it was not added yet */
		at = waker ? waker->open : 0;
	}
	/*
	 * if the last thread waits for a thread in `way`, that thread and those after it form a
	 * cycle
	 */
	cycle = count;
	at = count ? chains->open.items[way[count - 1]].waker_thread : 0;
	while (cycle && chains->open.items[way[cycle - 1]].thread != at)
		cycle--;
	if (cycle) {
		take_cycle(chains, way + cycle - 1, count - cycle + 1, pid);
		count = cycle - 1;
	}
	while (count)
		add_wait(chains, &chains->open.items[way[--count]], pid);
}

void chains_process(struct chains *chains, uint32_t pid)
{
	size_t *way = memory_zalloc(chains->open.count + 1, sizeof(*way));

	for (size_t i = 0; i < chains->open.count; i++)
		take_open(chains, i, pid, way);
	free(way);
	forget_threads(chains);
}
