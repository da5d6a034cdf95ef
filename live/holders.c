/* SPDX-License-Identifier: MIT */
#include "live/holders.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "naming/waiters.h"

#include <stdlib.h>
#include <string.h>

/* An address that a holder of the lock may have on its stack. */
struct sought {
	uint64_t address;
	size_t waiter; /* index of the thread that waits */
};

static int compare_sought(const void *one, const void *other)
{
	uint64_t a = ((const struct sought *)one)->address;
	uint64_t b = ((const struct sought *)other)->address;

	return (a > b) - (a < b);
}

static void add_holder(struct await *await, int own_tid)
{
	size_t shown = await->may_hold_count < AWAIT_MAY_HOLD_MAX ? await->may_hold_count
								  : AWAIT_MAY_HOLD_MAX;

	for (size_t i = 0; i < shown; i++)
		if (await->may_hold[i] == own_tid)
			return;
	if (shown < AWAIT_MAY_HOLD_MAX)
		await->may_hold[shown] = own_tid;
	await->may_hold_count++;
}

/* Adds the thread to the waits for the locks whose addresses it has on its stack. */
static void search_stack(const struct live_thread *thread, struct await *awaits,
			 const struct await *own, const struct sought *sought, size_t count)
{
	const struct subject_stack *stack = &thread->start.stack;
	uint64_t first = sought[0].address, range = sought[count - 1].address - first;
	size_t last = SIZE_MAX; /* the waiter that was found last: one word may occur often */

	for (size_t at = (8 - stack->from % 8) % 8; at + 8 <= stack->size; at += 8) {
		uint64_t word;
		size_t low = 0, high = count;

		memcpy(&word, stack->bytes + at, sizeof(word));
		if (word - first > range)
			continue;
		while (low < high) {
			size_t middle = (low + high) / 2;

			if (sought[middle].address < word)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < count && sought[low].address == word; low++) {
			struct await *await = &awaits[sought[low].waiter];

			if (sought[low].waiter == last || await == own ||
			    (own->kind == AWAIT_FUTEX && own->address == await->address))
				continue;
			last = sought[low].waiter;
			add_holder(await, thread->own_tid);
		}
	}
}

void holders_find(const struct live_process *process, struct await *awaits)
{
	cleanup_free struct sought *sought =
		memory_zalloc(2 * process->thread_count + 1, sizeof(*sought));
	size_t count = 0;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct await *await = &awaits[i];

		if (await->kind != AWAIT_FUTEX || !await->address || !waiters_is_lock(await->futex))
			continue;
		sought[count++] = (struct sought){ await->address, i };
		/* Rust's RwLock: writers wait for its second word */
		if (!strcmp(await->futex, "rwlock"))
			sought[count++] = (struct sought){ await->address - 4, i };
	}
	if (!count)
		return;
	qsort(sought, count, sizeof(*sought), compare_sought);
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].start.stack.bytes)
			search_stack(&process->threads[i], awaits, &awaits[i], sought, count);
}

/* ---- cycles ---- */

/* Whether thread `other` holds what the thread waits for, or may hold it. */
static bool is_for(const struct await *await, const struct live_thread *other)
{
	for (size_t i = 0; i < await->may_hold_count && i < AWAIT_MAY_HOLD_MAX; i++)
		if (await->may_hold[i] == other->own_tid)
			return true;
	return await->owner && await->owner == other->own_tid;
}

/* Whether only another thread can end the wait. */
static bool is_for_thread(const struct await *await)
{
	return !await->has_limit && await->kind >= AWAIT_MUTEX && await->kind <= AWAIT_FUTEX;
}

/* Whether the thread may be in a cycle of the threads that are marked so far. */
static bool may_stay(const struct live_process *process, const struct await *awaits,
		     const bool *in_cycle, size_t thread)
{
	bool waits = false, is_waited_for = false;

	for (size_t i = 0; i < process->thread_count; i++) {
		bool is_holder = is_for(&awaits[thread], &process->threads[i]);

		waits |= is_holder && in_cycle[i];
		is_waited_for |= in_cycle[i] && is_for(&awaits[i], &process->threads[thread]);
	}
	return waits && is_waited_for;
}

bool holders_find_cycles(const struct live_process *process, const struct await *awaits,
			 bool *in_cycle)
{
	size_t count = 0;
	bool has_changed = true;

	for (size_t i = 0; i < process->thread_count; i++) {
		in_cycle[i] = is_for_thread(&awaits[i]) &&
			      awaits[i].may_hold_count <= AWAIT_MAY_HOLD_MAX &&
			      (awaits[i].owner || awaits[i].may_hold_count);
		count += in_cycle[i];
	}
	while (has_changed && count) {
		has_changed = false;
		for (size_t i = 0; i < process->thread_count; i++) {
			if (!in_cycle[i] || may_stay(process, awaits, in_cycle, i))
				continue;
			in_cycle[i] = false;
			has_changed = true;
			count--;
		}
	}
	return count;
}
