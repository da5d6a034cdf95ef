/* SPDX-License-Identifier: MIT */
/*
 * Which thread called. A thread is named by calls; one without such a call has the name of its
 * program, as in the kernel.
 */
#include "select_parts.h"
#include "notes.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH 15u /* the kernel's TASK_COMM_LEN less the NUL */

struct named_thread {
	const struct trace_process *process;
	uint32_t id; /* 0: not known yet, pthread is */
	uint64_t pthread;
	bool is_wanted;
};

void select_thread_parse(struct select_thread *part, const char *text)
{
	char *end;
	unsigned long id = text ? strtoul(text, &end, 10) : 0;

	if (!text)
		return;
	hash_table_init(&part->table);
	part->has_id = *text && *end == '\0' && id <= UINT32_MAX;
	part->id = (uint32_t)id;
	if (!part->has_id)
		globs_parse(&part->globs, text);
}

static bool thread_equal(const void *item, const void *key)
{
	const struct named_thread *one = item, *two = key;

	return one->process == two->process && one->pthread == two->pthread;
}

/* By pthread_t: a call that names another thread has nothing else of it. */
static struct named_thread *find(const struct select_thread *part, const struct event *event,
				 uint64_t pthread, uint64_t *hash)
{
	struct named_thread key = { .process = event->process, .pthread = pthread };

	*hash = hash_two(part->table.seed, pthread, (uintptr_t)event->process);
	return hash_table_find(&part->table, *hash, thread_equal, &key);
}

static void name_thread(struct select_thread *part, const struct event *event, uint64_t pthread,
			const char *name)
{
	uint64_t hash;
	struct named_thread *thread = find(part, event, pthread, &hash);

	if (!thread) {
		thread = pool_zalloc(&part->pool, sizeof(*thread));
		hash_table_add(&part->table, hash, thread);
		thread->process = event->process;
		thread->pthread = pthread;
	}
	thread->id = pthread == event->pthread ? event->thread : 0;
	thread->is_wanted = globs_match(&part->globs, name);
}

void select_thread_names(struct select_thread *part, const struct event *event)
{
	const char *function = event->function->name, *name;
	uint64_t pthread = event->pthread;

	if (part->has_id || !part->globs.count || (event->flags & CALL_FAILED))
		return;
	if (!strcmp(function, "pthread_setname_np"))
		pthread = event->object;
	else if (strcmp(function, "prctl") != 0 && strcmp(function, NOTE_THREAD) != 0)
		return;
	name = event_argument(event, "name");
	if (!name)
		return;
	name_thread(part, event, pthread, name);
}

static bool has_wanted_process(struct select_thread *part, const struct event *event)
{
	const char *name = event->process->name ? event->process->name : "";
	const char *slash = strrchr(name, '/');
	char shortened[NAME_MAX_LENGTH + 1] = { 0 };

	if (part->process != event->process) {
		strncpy(shortened, slash ? slash + 1 : name, NAME_MAX_LENGTH);
		part->process = event->process;
		part->is_process = globs_match(&part->globs, shortened);
	}
	return part->is_process;
}

bool select_thread_asks(struct select_thread *part, const struct event *event)
{
	const struct named_thread *thread;
	uint64_t hash;

	if (part->has_id)
		return event->thread == part->id;
	thread = find(part, event, event->pthread, &hash);
	/* A pthread_t is reused by later threads with other ids, which have other names. */
	if (!thread || (thread->id && thread->id != event->thread))
		return has_wanted_process(part, event);
	return thread->is_wanted;
}
