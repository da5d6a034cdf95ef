/* SPDX-License-Identifier: MIT */
#include "postproc/views/unlocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"

void unlocks_init(struct unlocks *unlocks, struct atlas *atlas)
{
	*unlocks = (struct unlocks){ .atlas = atlas };
	held_init(&unlocks->held);
}

void unlocks_free(struct unlocks *unlocks)
{
	held_free(&unlocks->held);
	sites_free(&unlocks->sites);
	free(unlocks->list.items);
}

void unlocks_clear(struct unlocks *unlocks)
{
	held_free(&unlocks->held);
	held_init(&unlocks->held);
	sites_clear(&unlocks->sites);
}

/* Taken by many at a time, and given back by whoever comes. */
static bool is_shared(const struct event *event)
{
	return strstr(event->function->name, "rwlock") != NULL;
}

static int take(struct unlocks *unlocks, const struct event *event)
{
	struct held *held = held_find(&unlocks->held, 0, event->object);
	uint32_t site = sites_of(&unlocks->sites, 0, event);

	if (!site)
		return -ENOMEM;
	if (held && held->thread == event->thread) {
		held->count += held->count < HELD_COUNT_MAX;
		return 0;
	}
	/* that it was given back was not seen */
	if (!held)
		held = held_add(&unlocks->held, 0, event->object);
	if (!held)
		return -ENOMEM;
	held->thread = event->thread;
	held->site = site;
	held->count = 1;
	return 0;
}

static struct unlock *find(struct unlocks *unlocks, const struct unlock *wanted)
{
	for (size_t i = 0; i < unlocks->list.count; i++)
		if (unlocks->list.items[i].taken == wanted->taken &&
		    unlocks->list.items[i].given == wanted->given)
			return &unlocks->list.items[i];
	return NULL;
}

static int tell(struct unlocks *unlocks, const struct event *event, const struct held *held)
{
	const struct site *site = held ? sites_at(&unlocks->sites, held->site) : NULL;
	struct unlock wanted = {
		.object = event->object,
		.time_ns = event->time_ns,
		.pid = event->process->pid,
		.thread = event->thread,
		.holder = held ? (uint32_t)held->thread : 0,
		.given = atlas_backtrace(unlocks->atlas, event->backtrace, event->index),
		.taken =
			site ? atlas_backtrace(unlocks->atlas, site->backtrace, site->index) : NULL,
	};
	struct unlock *unlock = find(unlocks, &wanted);

	if (!wanted.given || (site && !wanted.taken))
		return -ENOMEM;
	if (!unlock) {
		unlock = ARRAY_ADD(&unlocks->list);
		if (!unlock)
			return -ENOMEM;
		*unlock = wanted;
	}
	unlock->count++;
	return 0;
}

static int give_back(struct unlocks *unlocks, const struct event *event)
{
	struct held *held = held_find(&unlocks->held, 0, event->object);
	int rc = 0;

	/* Who waits for a condition has the mutex, or the wait fails. */
	if (!held || event->operation != OPERATION_RELEASE)
		rc = 0;
	else if (held->thread != event->thread)
		rc = tell(unlocks, event, held);
	if (held && --held->count == 0) {
		held->count = 1; /* an item of the table as long as it is there */
		held_remove(&unlocks->held, held);
	}
	return rc;
}

int unlocks_event(struct unlocks *unlocks, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	bool is_refused = event->operation == OPERATION_RELEASE && event->flags & CALL_FAILED;

	if (!hook || event->flags & CALL_OF_CHILD || is_shared(event))
		return 0;
	if (is_refused && hook->resource == RESOURCE_LOCK)
		return tell(unlocks, event, held_find(&unlocks->held, 0, event->object));
	if (event->type == CALL_TYPE_NONE || event->resource->known != RESOURCE_LOCK)
		return 0;
	return event_is_alloc(event) ? take(unlocks, event) : give_back(unlocks, event);
}
