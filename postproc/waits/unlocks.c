/* SPDX-License-Identifier: MIT */
#include "unlocks.h"

#include <stdlib.h>

#include "base/array.h"
#include "hook_table.h"

void unlocks_init(struct unlocks *unlocks, struct address_space *space, struct ledger *ledger)
{
	*unlocks = (struct unlocks){ .space = space, .ledger = ledger };
}

void unlocks_free(struct unlocks *unlocks)
{
	free(unlocks->list.items);
}

/* Objects that several threads hold at a time, and any thread may release. */
static bool is_shared(const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return hook && hook->how == HOW_SHARES;
}

static struct unlock *find(struct unlocks *unlocks, const struct unlock *wanted)
{
	for (size_t i = 0; i < unlocks->list.count; i++)
		if (unlocks->list.items[i].taken == wanted->taken &&
		    unlocks->list.items[i].given == wanted->given)
			return &unlocks->list.items[i];
	return NULL;
}

static void tell(struct unlocks *unlocks, const struct event *event, const struct ledger_item *held)
{
	const struct site *site = held ? sites_at(ledger_sites(unlocks->ledger), held->site) : NULL;
	struct unlock wanted = {
		.object = event->object,
		.time_ns = event->time_ns,
		.pid = event->process->pid,
		.thread = event->thread,
		.holder = held ? ledger_thread(unlocks->ledger, held->thread) : 0,
		.given = space_backtrace(unlocks->space, event->backtrace, event->index),
		.taken =
			site ? space_backtrace(unlocks->space, site->backtrace, site->index) : NULL,
	};
	struct unlock *unlock = find(unlocks, &wanted);

	if (!unlock) {
		unlock = ARRAY_ADD(&unlocks->list);
		*unlock = wanted;
	}
	unlock->count++;
}

void unlocks_move(struct unlocks *unlocks, const struct ledger_move *move)
{
	/* A thread that waits for a condition holds the mutex, or the wait fails. */
	if (move->is_gain || move->item->thread == move->thread ||
	    move->event->operation != OPERATION_RELEASE || move->event->flags & CALL_OF_CHILD ||
	    is_shared(move->event))
		return;
	tell(unlocks, move->event, move->item);
}

void unlocks_event(struct unlocks *unlocks, const struct event *event)
{
	const struct hook *hook = event->function->hook;

	if (!(event->flags & CALL_FAILED) || event->operation != OPERATION_RELEASE || !hook ||
	    hook->resource != RESOURCE_LOCK || event->flags & CALL_OF_CHILD || is_shared(event))
		return;
	tell(unlocks, event, ledger_find(unlocks->ledger, RESOURCE_LOCK, event->object));
}
