/* SPDX-License-Identifier: MIT */
#include "collect/collect_parts.h"
#include "collect/facts.h"
#include "notes.h"

#include <stdio.h>
#include <string.h>

/* Writes to an open stream, after the events that were handed out. */
static void say(struct collector *collector, struct member *member, const struct left_out *left_out)
{
	struct facts facts = { .count = 0 };

	facts_add(&facts, "program", left_out->name);
	facts_number(&facts, "count", left_out->count);
	facts_write(&facts, member->stream,
		    (struct encode_note){ .name = NOTE_LEFT_OUT,
					  .time = merge_limit(collector->merge, member->process) });
}

/* The entry of a name; names beyond LEFT_OUT_NAMES share the last entry. */
static struct left_out *find_place(struct collector *collector, const char *name)
{
	for (int i = 0; i < LEFT_OUT_NAMES; i++) {
		struct left_out *place = &collector->left_out[i];

		if (!place->count)
			snprintf(place->name, sizeof(place->name), "%.63s",
				 i == LEFT_OUT_NAMES - 1 ? "others" : name);
		if (!place->count || !strcmp(place->name, name))
			return place;
	}
	return &collector->left_out[LEFT_OUT_NAMES - 1];
}

static void count_unsaid(struct collector *collector)
{
	uint64_t sum = 0;

	for (int i = 0; i < LEFT_OUT_NAMES; i++)
		sum += collector->left_out[i].count;
	__atomic_store_n(&collector->shared.control->left_unsaid, (uint32_t)sum, __ATOMIC_RELEASE);
}

void collect_say_left_out(struct collector *collector, struct member *member)
{
	for (int i = 0; i < LEFT_OUT_NAMES && collector->left_out[i].count; i++) {
		say(collector, member, &collector->left_out[i]);
		collector->left_out[i].count = 0;
	}
	if (__atomic_load_n(&collector->shared.control->left_unsaid, __ATOMIC_RELAXED))
		count_unsaid(collector);
}

/* Ends the member whose image executed the program that is left out, if it was recorded. */
static void end_image(struct collector *collector, int32_t pid)
{
	struct member *member = NULL;

	while (pid &&
	       (member = collect_find(collector, BY_OUR_PID, (uint32_t)pid, member)) != NULL) {
		if (member->phase == PHASE_CLOSING || member->watch.our_pid != pid)
			continue;
		watch_left_out(&member->watch);
		collect_end_member(collector, member);
	}
}

void collect_leave_out(struct collector *collector, const struct guest *guest)
{
	struct control_page *control = collector->shared.control;
	char name[sizeof(collector->left_out->name)];

	snprintf(name, sizeof(name), "%.63s", guest->request.text);
	collect_clean_name(name, sizeof(name));
	__atomic_add_fetch(&control->left_out, 1, __ATOMIC_RELEASE);
	find_place(collector, name)->count++;
	count_unsaid(collector);
	end_image(collector, guest->pid);
}
