/* SPDX-License-Identifier: MIT */
/* The list of calls that were blocked when a snapshot was taken (struct waiting). */
#include "trace/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "notes.h"

static void waiting_drop(struct waiting *waiting, size_t i)
{
	free((void *)waiting->items[i].arguments);
	waiting->items[i] = waiting->items[--waiting->count];
}

static void waiting_clear(struct waiting *waiting)
{
	while (waiting->count)
		waiting_drop(waiting, waiting->count - 1);
	waiting->told = 0;
}

void waiting_free(struct waiting *waiting)
{
	waiting_clear(waiting);
	free(waiting->items);
	*waiting = (struct waiting){ 0 };
}

static bool is_of(const struct event *call, const struct event *event)
{
	return call->thread == event->thread && call->pthread == event->pthread;
}

int waiting_add(struct waiting *waiting, const struct event *note)
{
	struct wire_value *arguments;
	struct event *call;

	/* replaces the note of an earlier snapshot about the same call */
	for (size_t i = waiting->count; i-- > 0;)
		if (is_of(&waiting->items[i], note) && waiting->items[i].call == note->call)
			waiting_drop(waiting, i);
	if (waiting->count >= WAITING_MAX)
		return 0;
	arguments = keep_arguments(note);
	call = arguments ? ARRAY_ADD(waiting) : NULL;
	if (!call) {
		free(arguments);
		return -ENOMEM;
	}
	*call = *note;
	call->arguments = arguments;
	return 0;
}

void waiting_forget(struct waiting *waiting, const struct event *event)
{
	if (event->kind == EVENT_STREAM ||
	    (event->kind == EVENT_NOTE && (!strcmp(event->function->name, NOTE_OPEN) ||
					   !strcmp(event->function->name, NOTE_END)))) {
		waiting_clear(waiting);
		return;
	}
	if (event->kind != EVENT_CALL &&
	    !(event->kind == EVENT_NOTE && !strcmp(event->function->name, NOTE_THREAD_END)))
		return;
	for (size_t i = waiting->count; i-- > 0;) {
		const struct event *call = &waiting->items[i];
		/* the call returned, or its thread began a call that is not nested in it */
		bool is_over = event->leave_ns > call->leave_ns &&
			       (event->call == call->call ||
				(event->call > call->call && event->depth <= call->depth));

		if (is_of(call, event) && (event->kind == EVENT_NOTE || is_over))
			waiting_drop(waiting, i);
	}
}

int waiting_next(struct waiting *waiting, struct registry *registry, const struct event **event)
{
	struct event *next;

	if (waiting->told >= waiting->count)
		return 0;
	next = &waiting->items[waiting->told++];
	next->function = registry_function(registry, NOTE_OPEN, strlen(NOTE_OPEN));
	*event = next;
	return next->function ? 1 : -ENOMEM;
}
