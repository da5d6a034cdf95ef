/* SPDX-License-Identifier: MIT */
#include "descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "hook_table.h"
#include "notes.h"

#define WHAT_MAX 200u

/*
 * The kind of a descriptor. If `is_path` is set, `name` is its path in /proc/PID/fd. Otherwise
 * `name` is the function that created the descriptor; the result is NULL for a copy (dup) and for
 * an unknown function.
 */
static const char *kind_of(const char *name, bool is_path)
{
	static const struct {
		const char *text, *kind;
		bool is_path;
	} rows[] = {
#define FD_MAKER(function, kind) { function, kind, false },
#define FD_PATH(path, kind)	 { path, kind, true },
#include "fd_kinds.def"
#undef FD_MAKER
#undef FD_PATH
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].is_path == is_path &&
		    !strncmp(name, rows[i].text, strlen(rows[i].text)))
			return rows[i].kind;
	return is_path ? "other" : NULL;
}

/* ---- the table ---- */

struct descriptor *descriptors_find(const struct descriptors *descriptors, uint64_t number)
{
	uint32_t place = map_get(&descriptors->by_number, 0, number);

	return place ? &descriptors->list.items[place - 1] : NULL;
}

static struct descriptor *find_or_add(struct descriptors *descriptors, uint64_t number)
{
	struct descriptor *descriptor = descriptors_find(descriptors, number);

	if (descriptor)
		return descriptor;
	descriptor = ARRAY_ADD(&descriptors->list);
	*descriptor = (struct descriptor){ .number = number, .kind = "other" };
	map_set(&descriptors->by_number, 0, number, (uint32_t)descriptors->list.count);
	return descriptor;
}

static void set_what(struct descriptor *descriptor, const char *text)
{
	free(descriptor->what);
	descriptor->what = text && *text ? memory_text_part(text, WHAT_MAX) : NULL;
}

/* Marks the descriptor as open. step: the call that opened it; NULL: it was inherited. */
static void open_descriptor(struct descriptors *descriptors, struct descriptor *descriptor,
			    const struct descriptor_step *step)
{
	descriptors->open += !descriptor->is_open;
	descriptor->is_open = true;
	descriptor->is_inherited = !step;
	descriptor->opened = step ? *step : (struct descriptor_step){ .function = NULL };
	descriptor->stream = NULL;
	descriptor->kind = "other";
	set_what(descriptor, NULL);
}

static struct descriptor_step step_of(const struct event *event)
{
	return (struct descriptor_step){
		.backtrace = event->backtrace,
		.function = event->function,
		.index = event->index,
		.time_ns = event->time_ns,
		.thread = event->thread,
	};
}

/* ---- what a descriptor refers to ---- */

/*
 * Reads an argument as a number. Returns false if the call does not have the argument, or if the
 * argument is negative or not a number.
 */
static bool number_of(const struct event *event, const char *name, uint64_t *number)
{
	const char *text = event_argument(event, name);
	char *rest;

	if (!text || !*text || *text == '-')
		return false;
	errno = 0;
	*number = strtoull(text, &rest, 0);
	return *rest == '\0' && !errno;
}

/*
 * If the call made a copy (dup), gives `descriptor` the kind of the original and describes it as a
 * copy of the original. Returns false if the call did not make a copy.
 */
static bool take_over(struct descriptors *descriptors, struct descriptor *descriptor,
		      const struct event *event)
{
	const struct descriptor *original;
	char text[WHAT_MAX + 32];
	uint64_t number;

	if (!number_of(event, "oldfd", &number))
		return false;
	original = descriptors_find(descriptors, number);
	snprintf(text, sizeof(text), "copy of %llu%s%s", (unsigned long long)number,
		 original && original->what ? ": " : "",
		 original && original->what ? original->what : "");
	if (original)
		descriptor->kind = original->kind;
	set_what(descriptor, text);
	return true;
}

/*
 * Describes the descriptor by an argument of the call: the first one in `names` that the call has.
 * The description is the prefix that `names` has for this argument, and the argument's value.
 */
static void describe(struct descriptor *descriptor, const struct event *event)
{
	static const char *const names[][2] = {
		{ "path", "" },
		{ "name", "" },
		{ "command", "" },
		{ "address", "from " },
		{ "peer", "paired with " },
		{ "sockfd", "through " },
	};
	char text[WHAT_MAX + 32];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = event_argument(event, names[i][0]);

		if (!value || !*value)
			continue;
		snprintf(text, sizeof(text), "%s%.*s", names[i][1], (int)WHAT_MAX, value);
		set_what(descriptor, text);
		return;
	}
}

/* Processes bind() and connect(): describes the socket by the address. */
static void name_socket(struct descriptor *descriptor, const struct event *event)
{
	const char *address = event_argument(event, "address");
	char text[WHAT_MAX + 8];

	if (!address || !*address)
		return;
	snprintf(text, sizeof(text), "%s%.*s",
		 strcmp(event->function->name, "bind") != 0 ? "to " : "at ", (int)WHAT_MAX,
		 address);
	set_what(descriptor, text);
}

/* Processes fdopen() and fdopendir(), which make a stream that uses an existing descriptor. */
static void name_stream(struct descriptors *descriptors, const struct event *event)
{
	struct descriptor *descriptor;
	uint64_t number;

	if (!number_of(event, "fd", &number))
		return;
	descriptor = descriptors_find(descriptors, number);
	if (!descriptor)
		return;
	/* if is_open is false, no recorded call opened the descriptor */
	descriptor->stream = !descriptor->is_open			    ? NULL
			     : event->resource->known == RESOURCE_DIRECTORY ? "DIR"
									    : "FILE";
	descriptor->stream_object = event->object;
}

/* ---- events ---- */

void descriptors_note(struct descriptors *descriptors, const struct event *event)
{
	struct descriptor *descriptor;
	const char *path;
	uint64_t number;

	if (strcmp(event->function->name, NOTE_FD) != 0 || !number_of(event, "fd", &number))
		return;
	descriptor = find_or_add(descriptors, number);
	if (descriptor->is_open)
		return;
	open_descriptor(descriptors, descriptor, NULL);
	path = event_argument(event, "path");
	if (path) {
		descriptor->kind = kind_of(path, true);
		set_what(descriptor, path);
	}
}

/*
 * Returns the class of a call's object. A call that neither acquired nor released an object has the
 * class "event"; for such a call, returns the class of its hook.
 */
static enum resource class_of(const struct event *event)
{
	return event->resource->known == RESOURCE_EVENT && event->function->hook
		       ? event->function->hook->resource
		       : event->resource->known;
}

/* Sets *number to the descriptor that a failed call used. Returns false if it used none. */
static bool number_used(const struct event *event, uint64_t *number)
{
	static const char *const names[] = { "sockfd", "oldfd", "fd", "dirfd" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (number_of(event, names[i], number))
			return true;
	*number = event->object;
	return class_of(event) == RESOURCE_FD && event->operation != OPERATION_ALLOC;
}

static void on_failure(struct descriptors *descriptors, const struct event *event,
		       enum descriptor_misuse *misuse, struct descriptor **of)
{
	uint64_t number;

	if (!number_used(event, &number))
		return;
	*of = descriptors_find(descriptors, number);
	/* connect() is in progress, so the socket already has its address */
	if (event->error == EINPROGRESS && *of)
		name_socket(*of, event);
	if (event->error != EBADF)
		*of = NULL;
	if (!*of)
		return;
	if ((*of)->is_open)
		*misuse = DESCRIPTOR_GONE;
	else if (event->operation == OPERATION_FREE)
		*misuse = DESCRIPTOR_CLOSED_TWICE;
	else
		*misuse = DESCRIPTOR_USED_CLOSED;
}

void descriptors_event(struct descriptors *descriptors, const struct event *event,
		       enum descriptor_misuse *misuse, struct descriptor **of)
{
	enum resource known = class_of(event);
	struct descriptor_step step = step_of(event);
	struct descriptor *descriptor;

	*misuse = DESCRIPTOR_GOOD;
	*of = NULL;
	if (event->flags & CALL_OF_CHILD)
		return;
	if (event->flags & CALL_FAILED) {
		on_failure(descriptors, event, misuse, of);
		return;
	}
	if (known == RESOURCE_FILE || known == RESOURCE_DIRECTORY) {
		if (event->type == CALL_TYPE_ALLOC)
			name_stream(descriptors, event);
		return;
	}
	if (known != RESOURCE_FD)
		return;
	if (event->type == CALL_TYPE_NONE) {
		descriptor = descriptors_find(descriptors, event->object);
		if (descriptor)
			name_socket(descriptor, event);
		return;
	}
	descriptor = find_or_add(descriptors, event->object);
	if (event->type == CALL_TYPE_ALLOC) {
		open_descriptor(descriptors, descriptor, &step);

		const char *kind = kind_of(event->function->name, false);
		const struct hook *hook = event->related ? event->function->hook : NULL;

		if (kind)
			descriptor->kind = kind;
		if (!take_over(descriptors, descriptor, event))
			describe(descriptor, event);
		/* the path may show a more specific kind, such as a terminal or a device */
		if (descriptor->what && !strcmp(descriptor->kind, "file") &&
		    *descriptor->what == '/')
			descriptor->kind = kind_of(descriptor->what, true);
		/* the call may have opened a stream and its descriptor */
		descriptor->stream = !hook				    ? NULL
				     : hook->resource == RESOURCE_DIRECTORY ? "DIR"
				     : hook->resource == RESOURCE_FILE	    ? "FILE"
									    : NULL;
		descriptor->stream_object = event->related;
		return;
	}
	/*
	 * A separate close() has already closed the descriptor of this stream, so the close inside
	 * fclose() fails. No event shows this failure.
	 */
	if (!descriptor->is_open && descriptor->stream && descriptor->closed.function &&
	    event->related && event->related == descriptor->stream_object) {
		*misuse = DESCRIPTOR_CLOSED_TWICE;
		*of = descriptor;
		return;
	}
	descriptors->open -= descriptor->is_open;
	descriptor->is_open = false;
	descriptor->closed = step;
}

/* ---- calls that block ---- */

const char *descriptors_say(const struct descriptors *descriptors, const struct hook *hook,
			    uint64_t object, char text[DESCRIPTORS_TEXT_SIZE])
{
	const struct descriptor *descriptor = descriptors_find(descriptors, object);
	const char *what = descriptor ? descriptor->what : NULL;
	const char *kind =
		descriptor && strcmp(descriptor->kind, "other") != 0 ? descriptor->kind : NULL;

	*text = '\0';
	if (hook->resource == RESOURCE_PROCESS) {
		if (object && object <= INT32_MAX)
			snprintf(text, DESCRIPTORS_TEXT_SIZE, "child %u", (unsigned)object);
		else if (!strncmp(hook->name, "wait", strlen("wait")))
			snprintf(text, DESCRIPTORS_TEXT_SIZE, "any child");
		return text;
	}
	/* a call that opens a descriptor has none until it returns */
	if ((hook->resource != RESOURCE_CALL && (hook->resource != RESOURCE_FD || !object)) ||
	    hook->how == HOW_PAUSES || object > INT32_MAX)
		return text;
	snprintf(text, DESCRIPTORS_TEXT_SIZE, "fd %u%s%s%s%s", (unsigned)object,
		 kind || what ? ": " : "", kind ? kind : "", kind && what ? " " : "",
		 what ? what : "");
	return text;
}

const char *descriptors_say_event(const struct descriptors *descriptors, const struct event *event,
				  char text[DESCRIPTORS_TEXT_SIZE])
{
	const struct hook *hook = event->function->hook;
	uint64_t object = event->object;
	const char *path = event_argument(event, "path");

	/* the object of a call that opens a descriptor is the new descriptor */
	if (hook->operation == OPERATION_ALLOC && hook->resource != RESOURCE_CALL &&
	    event->operation != OPERATION_WAIT && !number_of(event, "sockfd", &object)) {
		snprintf(text, DESCRIPTORS_TEXT_SIZE, "%s", path ? path : "");
		return text;
	}
	return descriptors_say(descriptors, hook, object, text);
}

/* ---- begin and end ---- */

void descriptors_init(struct descriptors *descriptors)
{
	*descriptors = (struct descriptors){ .open = 0 };
	map_init(&descriptors->by_number);
}

void descriptors_clear(struct descriptors *descriptors)
{
	for (size_t i = 0; i < descriptors->list.count; i++)
		free(descriptors->list.items[i].what);
	free(descriptors->list.items);
	map_clear(&descriptors->by_number);
	descriptors_init(descriptors);
}

/* ---- misuses ---- */

static const struct trace_node *backtrace_of(const struct misuse *misuse, int step)
{
	return misuse->steps[step].backtrace;
}

static bool is_same_misuse(const void *item, const void *key)
{
	const struct misuse *one = item, *two = key;

	return one->kind == two->kind &&
	       backtrace_of(one, MISUSE_AGAIN) == backtrace_of(two, MISUSE_AGAIN) &&
	       backtrace_of(one, MISUSE_CLOSED) == backtrace_of(two, MISUSE_CLOSED) &&
	       (one->kind != DESCRIPTOR_GONE ||
		backtrace_of(one, MISUSE_OPENED) == backtrace_of(two, MISUSE_OPENED));
}

static bool take_step(struct misuses *misuses, struct misuse_step *step, const char *what,
		      const struct descriptor_step *from)
{
	*step = (struct misuse_step){ .what = what,
				      .time_ns = from->time_ns,
				      .thread = from->thread };
	if (!from->function)
		return true;
	step->backtrace = space_backtrace(misuses->space, from->backtrace, from->index);
	return step->backtrace != NULL;
}

void misuses_add(struct misuses *misuses, const struct event *event, enum descriptor_misuse kind,
		 const struct descriptor *descriptor)
{
	const struct descriptor_step again = step_of(event);
	struct misuse key = { .kind = kind,
			      .number = descriptor->number,
			      .pid = event->process->pid,
			      .what = descriptor->what };
	struct misuse *misuse;
	uint64_t hash;

	if (take_step(misuses, &key.steps[MISUSE_OPENED], "opened by", &descriptor->opened))
		take_step(misuses, &key.steps[MISUSE_AGAIN], event->function->name, &again);
	if (kind != DESCRIPTOR_GONE)
		take_step(misuses, &key.steps[MISUSE_CLOSED], "closed by", &descriptor->closed);
	hash = hash_two(misuses->by_place.seed, (uintptr_t)backtrace_of(&key, MISUSE_CLOSED),
			(uintptr_t)backtrace_of(&key, MISUSE_AGAIN));
	misuse = hash_table_find(&misuses->by_place, hash, is_same_misuse, &key);
	if (!misuse) {
		const char *what = key.steps[MISUSE_AGAIN].what;

		misuse = pool_alloc(&misuses->pool, sizeof(*misuse));
		*ARRAY_ADD(&misuses->list) = misuse;
		*misuse = key;
		if (key.what)
			misuse->what = pool_text(&misuses->pool, key.what, strlen(key.what));
		misuse->steps[MISUSE_AGAIN].what = pool_text(&misuses->pool, what, strlen(what));
		hash_table_add(&misuses->by_place, hash, misuse);
	}
	misuse->count++;
}

static int compare_misuses(const void *a, const void *b)
{
	const struct misuse *one = *(struct misuse *const *)a, *two = *(struct misuse *const *)b;

	return ORDER(two->count, one->count);
}

void misuses_sort(struct misuses *misuses)
{
	ARRAY_SORT(&misuses->list, compare_misuses);
}

void misuses_init(struct misuses *misuses, struct address_space *space)
{
	*misuses = (struct misuses){ .space = space };
	hash_table_init(&misuses->by_place);
}

void misuses_free(struct misuses *misuses)
{
	hash_table_free(&misuses->by_place);
	free(misuses->list.items);
	pool_free(&misuses->pool);
}
