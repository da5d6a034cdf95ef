/* SPDX-License-Identifier: MIT */
#include "trace/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "notes.h"

/* A call that may still be blocked: a copy of its ~waiting note. */
struct waiting_call {
	struct event event;
	struct wire_value *arguments; /* their texts follow in the same allocation */
};

static void waiting_drop(struct waiting *waiting, size_t i)
{
	free(waiting->items[i].arguments);
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

static size_t size_of(const struct event *note)
{
	size_t size = 1;

	for (uint32_t i = 0; i < note->argument_count; i++)
		size += sizeof(struct wire_value) + strlen(note->arguments[i].name) +
			strlen(note->arguments[i].value) + 2;
	return size;
}

static const char *put_text(char **at, const char *text)
{
	char *copy = *at;

	*at = stpcpy(copy, text) + 1;
	return copy;
}

static bool is_of(const struct waiting_call *call, const struct event *event)
{
	return call->event.thread == event->thread && call->event.pthread == event->pthread;
}

int waiting_add(struct waiting *waiting, const struct event *note)
{
	struct waiting_call *call;
	char *at;

	/* replaces the note of an earlier snapshot about the same call */
	for (size_t i = waiting->count; i-- > 0;)
		if (is_of(&waiting->items[i], note) && waiting->items[i].event.call == note->call)
			waiting_drop(waiting, i);
	if (waiting->count >= WAITING_MAX)
		return 0;
	call = ARRAY_ADD(waiting);
	if (!call)
		return -ENOMEM;
	call->event = *note;
	call->arguments = NULL;
	call->arguments = memory_alloc(size_of(note));
	if (!call->arguments)
		return -ENOMEM;
	at = (char *)(call->arguments + note->argument_count);
	for (uint32_t i = 0; i < note->argument_count; i++) {
		call->arguments[i].name = put_text(&at, note->arguments[i].name);
		call->arguments[i].value = put_text(&at, note->arguments[i].value);
	}
	call->event.arguments = call->arguments;
	return 0;
}

/*
 * True if the event shows that the call returned, or that its thread began another call outside it.
 */
static bool is_over(const struct waiting_call *call, const struct event *event)
{
	if (event->leave_ns <= call->event.leave_ns)
		return false;
	return event->call == call->event.call ||
	       (event->call > call->event.call && event->depth <= call->event.depth);
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
	for (size_t i = waiting->count; i-- > 0;)
		if (is_of(&waiting->items[i], event) &&
		    (event->kind == EVENT_NOTE || is_over(&waiting->items[i], event)))
			waiting_drop(waiting, i);
}

int waiting_next(struct waiting *waiting, struct registry *registry, const struct event **event)
{
	struct event *next;

	if (waiting->told >= waiting->count)
		return 0;
	next = &waiting->items[waiting->told++].event;
	next->function = registry_function(registry, NOTE_OPEN, strlen(NOTE_OPEN));
	*event = next;
	return next->function ? 1 : -ENOMEM;
}
