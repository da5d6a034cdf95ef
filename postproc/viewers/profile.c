/* SPDX-License-Identifier: MIT */
#include "postproc/viewers/profile.h"

#include <string.h>

static int on_wait(void *user, const struct lane_wait *wait)
{
	return wait_sums_add(&((struct profile *)user)->waits, wait);
}

int profile_begin(void *user, struct report_run *run, struct error *err)
{
	struct profile *profile = user;
	struct lanes_listener listener = { .wait = on_wait, .user = profile };

	costs_begin(&profile->costs, run);
	lanes_begin(&profile->lanes, run, &listener);
	wait_sums_init(&profile->waits);
	return stacks_init(&profile->stacks, run->naming) ? report_no_memory(err) : 0;
}

int profile_event(void *state, const struct event *event, struct error *err)
{
	return lanes_event(&((struct profile *)state)->lanes, event, err);
}

int profile_note(void *state, const struct event *event, struct error *err)
{
	return lanes_note(&((struct profile *)state)->lanes, event, err);
}

int profile_process(void *state, struct error *err)
{
	struct profile *profile = state;
	int rc = lanes_process(&profile->lanes, err);

	lanes_clear(&profile->lanes);
	return rc ? rc : costs_process(&profile->costs, err);
}

void profile_destroy(void *state)
{
	struct profile *profile = state;

	lanes_free(&profile->lanes);
	wait_sums_free(&profile->waits);
	stacks_free(&profile->stacks);
}

void profile_expect(const struct profile *profile)
{
	struct costs_place place;
	uint32_t at = 0;

	while (profile->run->naming && costs_next(&profile->costs, &at, &place))
		naming_expect(profile->run->naming, place.place->backtrace);
	for (size_t i = 0; profile->run->naming && i < profile->waits.list.count; i++) {
		naming_expect(profile->run->naming, profile->waits.list.items[i]->waiter);
		naming_expect(profile->run->naming, profile->waits.list.items[i]->waker);
	}
}

const char *profile_command(const struct profile *profile)
{
	const struct summary_process *first = summary_process_at(profile->run->summary, 0);

	if (first && first->command)
		return first->command;
	return first && first->name ? first->name : "";
}

void profile_values(const struct costs_place *place, uint64_t *values)
{
	bool has_bytes = place->class->has_bytes;

	memset(values, 0, COST_COUNT * sizeof(*values));
	values[COST_alloc_objects] = place->gained.count;
	values[COST_alloc_space] = has_bytes ? place->gained.bytes : 0;
	values[COST_inuse_objects] = place->held.count;
	values[COST_inuse_space] = has_bytes ? place->held.bytes : 0;
	values[COST_peak_objects] = place->peak.count;
	values[COST_peak_space] = has_bytes ? place->peak.bytes : 0;
}

void profile_wait_values(const struct wait_sum *wait, uint64_t *values)
{
	memset(values, 0, COST_COUNT * sizeof(*values));
	values[COST_contentions] = wait->count;
	values[COST_delay] = wait->ns;
}
