/* SPDX-License-Identifier: MIT */
#include "live/watched.h"

#include "base/array.h"
#include "base/memory.h"
#include "notes.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void watched_lock(struct watched *watched)
{
	__atomic_fetch_add(&watched->lookers, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&watched->mutex);
	__atomic_fetch_sub(&watched->lookers, 1, __ATOMIC_RELAXED);
}

void watched_unlock(struct watched *watched)
{
	pthread_mutex_unlock(&watched->mutex);
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct watched *watched = user;
	struct watched_site *site = ARRAY_AT(&watched->sites, move->site);

	site->count += (uint64_t)(int64_t)move->count;
	site->bytes += move->is_acquisition ? move->bytes : -move->bytes;
	site->variance += move->is_acquisition ? move->variance : -move->variance;
	if (move->is_acquisition && !move->is_no_call)
		site->acquired += (uint64_t)move->count;
}

static void on_note(struct watched *watched, const struct event *event)
{
	const char *count = event_argument(event, "count");
	const char *executable = event_argument(event, "executable");

	if (!strcmp(event->function->name, NOTE_DROPPED) && count)
		watched->lost += strtoull(count, NULL, 10);
	else if (!strcmp(event->function->name, NOTE_UNPROVEN))
		watched->is_unproven = true;
	else if (!strcmp(event->function->name, NOTE_END))
		watched->has_ended = true;
	else if (!strcmp(event->function->name, NOTE_PROCESS) && executable)
		space_add_program(&watched->space, executable);
}

static void on_event(struct watched *watched, const struct event *event)
{
	if (event->kind == EVENT_PROCESS) {
		watched->pid = event->process->pid;
		watched->stream = event->process->stream;
		if (!watched->start_ns)
			watched->start_ns = event->process->start_ns;
		snprintf(watched->name, sizeof(watched->name), "%s",
			 event->process->name ? event->process->name : "");
	}
	if (event->kind == EVENT_STREAM)
		space_begin_process(&watched->space);
	if (event->kind == EVENT_MAPPING)
		space_map(&watched->space, event->mapping);
	if (event->kind == EVENT_NOTE)
		on_note(watched, event);
	watched->events += event->kind == EVENT_CALL;
	if (event_is_call(event) && event->time_ns > watched->time_ns)
		watched->time_ns = event->time_ns;
	if (event_is_call(event))
		ledger_event(watched->ledger, event);
}

/*
 * Reads and processes one event. Holds the lock only to process it, so that other threads can take
 * the lock while this one waits for the event.
 */
static int take_event(struct watched *watched, struct error *err)
{
	const struct event *event;
	int status = trace_next(watched->trace, &event, err);

	if (status <= 0)
		return status;
	/*
	 * let threads that wait for the mutex run first: they would starve if this thread locked it
	 * again immediately
	 */
	while (__atomic_load_n(&watched->lookers, __ATOMIC_RELAXED))
		sched_yield();
	pthread_mutex_lock(&watched->mutex);
	on_event(watched, event);
	watched->damages = trace_tally(watched->trace)->damages;
	pthread_mutex_unlock(&watched->mutex);
	return status;
}

static void *read_stream(void *context)
{
	struct watched *watched = context;
	struct error err = { 0 };
	const struct trace_options options = { .taken = &watched->taken };
	int status = trace_open_fd(&watched->trace, watched->input, &options, &err);

	while (status >= 0 && (status = take_event(watched, &err)) > 0)
		;
	watched_lock(watched);
	watched->is_finished = true;
	if (status < 0)
		watched->error = err;
	watched_unlock(watched);
	close(watched->input);
	return NULL;
}

int watched_start(struct watched **result, int input, struct error *err)
{
	struct watched *watched = memory_zalloc(1, sizeof(*watched));
	int status;

	watched->input = input;
	pthread_mutex_init(&watched->mutex, NULL);
	space_init(&watched->space);
	watched->ledger = ledger_create(false);
	ledger_listen(watched->ledger, on_move, watched);
	status = naming_create(&watched->naming, &watched->space, NULL, err);
	if (!status)
		status = -pthread_create(&watched->thread, NULL, read_stream, watched);
	if (status) {
		free(watched);
		return error_system(err, -status, "stream");
	}
	*result = watched;
	return 0;
}

void watched_free(struct watched *watched)
{
	pthread_join(watched->thread, NULL);
	if (watched->trace)
		trace_close(watched->trace);
	naming_destroy(watched->naming);
	ledger_destroy(watched->ledger);
	space_free(&watched->space);
	free(watched->sites.items);
	free(watched);
}
