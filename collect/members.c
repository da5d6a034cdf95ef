/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"

#include "base/hash_table.h"

/* ---- indexes ---- */

static struct member **index_place(struct collector *collector, enum member_index index,
				   uint64_t value)
{
	return &collector->index[index][hash_two(0, index, value) % INDEX_PLACES];
}

static void take_out(struct collector *collector, struct member *member, enum member_index index)
{
	struct member **at = index_place(collector, index, member->indexed[index]);

	while (*at && *at != member)
		at = &(*at)->next[index];
	if (*at)
		*at = member->next[index];
}

void collect_index(struct collector *collector, struct member *member)
{
	const uint64_t values[MEMBER_INDEXES] = {
		[BY_PID] = (uint32_t)member->hello.pid,
		[BY_OUR_PID] = (uint32_t)member->watch.our_pid,
		[BY_KEY] = collect_key(member->hello.key),
	};

	for (int i = 0; i < MEMBER_INDEXES; i++) {
		struct member **at = index_place(collector, i, values[i]);

		take_out(collector, member, i);
		member->indexed[i] = values[i];
		member->next[i] = *at;
		*at = member;
	}
}

void collect_index_remove(struct collector *collector, struct member *member)
{
	for (int i = 0; i < MEMBER_INDEXES; i++)
		take_out(collector, member, i);
}

struct member *collect_find(const struct collector *collector, enum member_index index,
			    uint64_t value, const struct member *last)
{
	return last ? last->next[index]
		    : *index_place((struct collector *)(uintptr_t)collector, index, value);
}

/* ---- reports of parents ---- */

static void hear_end(struct collector *collector, const struct member *parent, uint64_t told)
{
	uint32_t pid = (uint32_t)(told >> 32);
	struct member *member = NULL;

	while ((member = collect_find(collector, BY_PID, pid, member)) != NULL) {
		/*
		 * the parent pid must match, too: a process in another pid namespace may have the
		 * same pid
		 */
		if (member->phase == PHASE_CLOSING || (uint32_t)member->hello.pid != pid ||
		    member->hello.parent_pid != parent->hello.pid ||
		    (parent->user != member->user &&
		     !listener_is_owner(collector->listener, parent->user->uid)))
			continue;
		member->told_status = (int32_t)told;
		member->is_told = true;
	}
}

static void hear(struct collector *collector, struct member *parent)
{
	const struct arena *head;
	uint64_t begun;
	uint32_t count;

	if (parent->phase == PHASE_CLOSING || parent->doubt)
		return;
	head = parent->chunks[0]->head;
	count = __atomic_load_n(&head->told_count, __ATOMIC_ACQUIRE);
	if (parent->told == count || !collect_has_turn(collector, parent->user))
		return;
	begun = ticks_clock_ns();
	if (count - parent->told > ARENA_TOLD)
		parent->told = count - ARENA_TOLD;
	for (; parent->told != count; parent->told++)
		hear_end(collector, parent,
			 __atomic_load_n(&head->told[parent->told % ARENA_TOLD], __ATOMIC_ACQUIRE));
	collect_charge(collector, parent->user, begun);
}

void collect_hear_ends(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->count; i++)
		hear(collector, collector->active[i]);
}

void collect_hear_end_of(struct collector *collector, struct member *member)
{
	uint64_t pid = (uint32_t)member->hello.parent_pid;
	struct member *parent = NULL;

	hear(collector, member);
	while ((parent = collect_find(collector, BY_PID, pid, parent)) != NULL)
		if (parent->hello.pid == member->hello.parent_pid)
			hear(collector, parent);
}
