/* SPDX-License-Identifier: MIT */
#include "trace/merge.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "trace/bundle.h"
#include "trace/state.h"

#define SAME_CLOCK_NS                                                              \
	1000000000ull /* realtime offsets that are closer than this count as equal \
		       */

struct part {
	char *path;
	struct trace *trace;
	bool is_open, is_live;
	uint64_t start; /* start of the process, ns since 1970; 0: unknown, or the input can be read
			   only once */
	uint64_t clock; /* a time of the part plus this value is ns since 1970 */
	bool has_clock;
	const struct event *event; /* the next event of the part */
	uint64_t key;		   /* time of the event in ns since 1970; never decreases */
	size_t number; /* if keys are equal, the part with the lower number comes first */
	/*
	 * indexed by an object's id in the part: the same object in the merged trace; NULL: not
	 * translated yet (each object is translated once)
	 */
	ARRAY_OF(const void *) functions, backtraces, resources, mappings;
};

struct merge {
	struct trace_options options;
	ARRAY_OF(struct part *) parts; /* all parts, ordered by start */
	size_t waiting;		       /* index of the first part that was not opened yet */
	ARRAY_OF(struct part *) live;  /* open parts as a heap, the earliest event at the top */
	struct part *last;	       /* the part whose event was returned and not yet replaced */
	struct part *current; /* the part of the returned event; unlike `last`, never reset */
	ARRAY_OF(const struct resource_class *) classes; /* classes of the merged trace so far */
	uint64_t index, run_start;
	uint64_t session[2], clock; /* of the first part whose clock is known */
	bool has_clock;
};

/* ---- classes ---- */

static bool is_taken(const struct merge *merge, uint32_t ordinal)
{
	for (size_t i = 0; i < merge->classes.count; i++)
		if (merge->classes.items[i]->ordinal == ordinal)
			return true;
	return false;
}

/* Adds a class of a new type. It keeps its ordinal unless another class has that ordinal. */
static const struct resource_class *add_class(struct trace *trace,
					      const struct resource_class *resource)
{
	struct wire_resource packet = { .id = resource->ordinal,
					.flags = resource->flags,
					.type = resource->type,
					.description = resource->description };
	struct merge *merge = trace->reader;
	const struct resource_class **place;
	bool is_new;

	for (uint32_t ordinal = 1; is_taken(merge, packet.id); ordinal++)
		packet.id = ordinal;
	place = ARRAY_ADD(&merge->classes);
	if (!place)
		return NULL;
	*place = resource->is_registered ? registry_add_resource(&trace->registry, &packet, &is_new)
					 : registry_resource(&trace->registry, packet.id);
	if (!*place)
		merge->classes.count--;
	return *place;
}

static const struct resource_class *merge_resource(struct trace *trace, struct part *part,
						   const struct resource_class *resource,
						   bool *is_new)
{
	const struct merge *merge = trace->reader;
	const void **place = ARRAY_AT(&part->resources, resource->id);

	*is_new = place && !*place;
	if (!*is_new)
		return place ? *place : NULL;
	for (size_t i = 0; i < merge->classes.count && !*place; i++) {
		const struct resource_class *class = merge->classes.items[i];

		if (class->is_registered == resource->is_registered &&
		    (class->is_registered
			     ? class->flags == resource->flags &&
				       !strcmp(class->type, resource->type) &&
				       !strcmp(class->description, resource->description)
			     : class->ordinal == resource->ordinal))
			*place = class;
	}
	if (!*place)
		*place = add_class(trace, resource);
	return *place;
}

/* ---- inputs ---- */

/* Whether a part that failed with this error is reported, and the rest of the part left out. */
static bool may_leave_out(const struct merge *merge, int rc)
{
	return rc && merge->options.failed && rc != -EINTR && rc != -ENOMEM;
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), size = strlen(ending);

	return length > size && !strcmp(name + length - size, ending);
}

static bool is_trace_name(const char *name)
{
	const char *last = strrchr(name, '.');

	if (ends_in(name, ".htr") || ends_in(name, ".rtrace") || ends_in(name, ".rtrace.zst"))
		return true;
	/* files of further processes and program images end in a number: x.htr.1, x.htr.sh.4711 */
	return (strstr(name, ".htr.") || strstr(name, ".rtrace.")) && last[1] &&
	       !last[1 + strspn(last + 1, "0123456789")];
}

/* Adds a part for each stream of a file. */
static int add_file(struct merge *merge, const char *path, struct error *err)
{
	struct inputs inputs;
	int rc = inputs_expand(&inputs, &path, 1, &merge->options, err);

	for (size_t i = 0; rc == 0 && i < inputs.count; i++) {
		struct part *part = memory_zalloc(1, sizeof(*part)), **place;

		if (part)
			part->path = memory_text(inputs.items[i]);
		place = part && part->path ? ARRAY_ADD(&merge->parts) : NULL;
		if (place) {
			*place = part;
			continue;
		}
		if (part)
			free(part->path);
		free(part);
		rc = error_system(err, ENOMEM, "merge");
	}
	inputs_free(&inputs);
	return rc;
}

static int add_directory(struct merge *merge, const char *path, struct error *err)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, alphasort), rc = 0;
	size_t before = merge->parts.count;

	if (count < 0)
		return error_system(err, errno, "%s", path);
	for (int i = 0; i < count; i++) {
		char *file = NULL;

		if (rc == 0 && is_trace_name(names[i]->d_name)) {
			file = memory_format("%s/%s", path, names[i]->d_name);
			rc = file ? add_file(merge, file, err) : error_system(err, ENOMEM, "merge");
			free(file);
		}
		free(names[i]);
	}
	free(names);
	if (rc == 0 && merge->parts.count == before)
		rc = error_set(err, ENOENT, "%s: the directory contains no traces", path);
	return rc;
}

/* ---- one part ---- */

/*
 * Sets part->clock to the merge's clock, if the part has the merge's session or `clock` is nearly
 * equal to the merge's clock; otherwise to `clock`. Thus a step of the realtime clock does not
 * reorder events. The clock of the first part becomes the merge's clock.
 */
static void learn_clock(struct merge *merge, struct part *part, uint64_t clock)
{
	const uint64_t *session = part->trace->process->session;
	uint64_t away = clock > merge->clock ? clock - merge->clock : merge->clock - clock;

	if (!merge->has_clock) {
		merge->has_clock = true;
		merge->clock = clock;
		memcpy(merge->session, session, sizeof(merge->session));
	}
	part->clock =
		away < SAME_CLOCK_NS || (part->trace->process->has_tails &&
					 !memcmp(session, merge->session, sizeof(merge->session)))
			? merge->clock
			: clock;
	part->has_clock = true;
}

/* Reads the part's next event. Returns 1, 0 at the end of the part, or a negative errno. */
static int part_advance(struct merge *merge, struct part *part, struct error *err)
{
	int rc = trace_next(part->trace, &part->event, err);
	const struct event *event = part->event;
	struct instant_base base;

	if (rc <= 0)
		return rc;
	if (event->kind == EVENT_STREAM)
		part->has_clock = false;
	if (!part->has_clock && part->trace->process->has_process &&
	    trace_base(part->trace, event, &base))
		learn_clock(merge, part, base.realtime_ns);
	if (part->has_clock && event_is_call(event) && event->time_ns + part->clock > part->key)
		part->key = event->time_ns + part->clock;
	return rc;
}

static int open_part(struct merge *merge, struct part *part, struct error *err)
{
	int rc = trace_open(&part->trace, part->path, &merge->options, err);

	part->is_open = rc == 0;
	if (rc == 0)
		part->trace->window.run_start = merge->run_start;
	return rc;
}

/*
 * Opens a part and finds the start time of its process. A regular file is closed again, and
 * reopened when the merge reaches that time.
 */
static int look_at(struct merge *merge, struct part *part, struct error *err)
{
	const struct trace_process *process;
	const struct event *event;
	struct stat facts;
	int rc = open_part(merge, part, err);

	if (rc || fstat(part->trace->fd, &facts) != 0 || !S_ISREG(facts.st_mode) ||
	    !strcmp(part->path, "-"))
		return rc;
	do
		rc = trace_next(part->trace, &event, err);
	while (rc > 0 && !part->trace->process->has_process && !event_is_call(event));
	process = part->trace->process;
	if (rc > 0)
		part->start = process->has_tails ? process->start_ns + process->realtime_ns
						 : process->seconds * 1000000000ull +
							   process->microseconds * 1000ull;
	trace_close(part->trace);
	part->trace = NULL;
	part->is_open = false;
	return rc < 0 ? rc : 0;
}

/* Finds the start time of all parts and removes the parts that cannot be read. */
static int look_at_all(struct merge *merge, struct error *err)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < merge->parts.count; i++) {
		struct part *part = merge->parts.items[i];

		rc = rc ? rc : look_at(merge, part, err);
		if (may_leave_out(merge, rc)) {
			merge->options.failed(merge->options.user, part->path, err);
			rc = 0;
		} else {
			merge->parts.items[kept++] = part;
			if (rc && err)
				error_prefix(err, "%s", part->path);
			continue;
		}
		trace_close(part->trace);
		free(part->path);
		free(part);
	}
	merge->parts.count = kept;
	if (rc == 0 && kept == 0)
		return error_set(err, ENODATA, "none of the inputs could be read");
	return rc;
}

static int by_start(const void *one, const void *two)
{
	const struct part *a = *(struct part *const *)one, *b = *(struct part *const *)two;

	return ORDER(a->start, b->start) ?: ORDER(a->number, b->number);
}

/* ---- the heap of parts ---- */

static bool is_before(const struct part *one, const struct part *two)
{
	return one->key != two->key ? one->key < two->key : one->number < two->number;
}

static void sink_part(struct merge *merge)
{
	struct part **heap = merge->live.items, *part = heap[0];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < merge->live.count && is_before(heap[child + 1], heap[child]))
			child++;
		if (child >= merge->live.count || is_before(part, heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = part;
}

static int put_live(struct merge *merge, struct part *part, struct error *err)
{
	struct part **place = ARRAY_ADD(&merge->live), **heap = merge->live.items;
	size_t i = merge->live.count - 1;

	if (!place)
		return error_system(err, ENOMEM, "merge");
	for (; i && is_before(part, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = part;
	return 0;
}

/* ---- the merged trace ---- */

static void add_tally(struct trace_tally *sum, const struct trace_tally *tally)
{
	if (!sum->damages && tally->damages) {
		sum->damage_offset = tally->damage_offset;
		memcpy(sum->damage_text, tally->damage_text, sizeof(sum->damage_text));
	}
	if (!sum->unknown_packets)
		memcpy(sum->unknown_tag, tally->unknown_tag, sizeof(sum->unknown_tag));
	sum->bytes += tally->bytes;
	sum->packets += tally->packets;
	sum->calls += tally->calls;
	sum->notes += tally->notes;
	sum->unknown_packets += tally->unknown_packets;
	sum->unknown_bytes += tally->unknown_bytes;
	sum->misplaced += tally->misplaced;
	sum->damages += tally->damages;
	sum->damaged_bytes += tally->damaged_bytes;
	sum->is_truncated |= tally->is_truncated;
	sum->lost += tally->lost;
	sum->lost_notes += tally->lost_notes;
	sum->has_ended = tally->has_ended;
}

/*
 * Reads the next event of `part`, which is the top of the heap. If that fails, reports the part and
 * treats it as ended. Returns 0 or a negative errno.
 */
static int go_on_with(struct trace *trace, struct part *part, struct error *err)
{
	struct merge *merge = trace->reader;
	int rc = part_advance(merge, part, err);

	if (rc > 0) {
		sink_part(merge);
		return 0;
	}
	if (rc && !may_leave_out(merge, rc))
		return err ? error_prefix(err, "%s", part->path) : rc;
	if (rc)
		merge->options.failed(merge->options.user, part->path, err);
	/* frees the part's reader, but not the objects that its events point to */
	add_tally(&trace->tally, trace_tally(part->trace));
	trace_shed(part->trace);
	merge->live.items[0] = merge->live.items[--merge->live.count];
	sink_part(merge);
	return 0;
}

/* Opens all parts that start before the earliest pending event; without one, the next part. */
static int begin_parts(struct trace *trace, struct error *err)
{
	struct merge *merge = trace->reader;

	while (merge->waiting < merge->parts.count &&
	       (!merge->live.count ||
		merge->parts.items[merge->waiting]->start <= merge->live.items[0]->key)) {
		struct part *part = merge->parts.items[merge->waiting++];
		int rc = part->is_open ? 0 : open_part(merge, part, err);

		if (rc == 0)
			rc = part_advance(merge, part, err);
		if (rc > 0)
			rc = put_live(merge, part, err);
		else if (may_leave_out(merge, rc)) {
			merge->options.failed(merge->options.user, part->path, err);
			rc = 0;
		}
		if (rc < 0)
			return err ? error_prefix(err, "%s", part->path) : rc;
	}
	return 0;
}

const struct trace_mapping *merge_mapping(const struct trace *trace,
					  const struct trace_mapping *mapping)
{
	const struct merge *merge = trace->reader;
	const struct part *part = merge->current;

	return mapping && mapping->id < part->mappings.count ? part->mappings.items[mapping->id]
							     : NULL;
}

/* The average progress of the parts; a finished part counts as 1000. */
int merge_progress(const struct trace *trace)
{
	const struct merge *merge = trace->reader;
	int64_t sum = (int64_t)(merge->waiting - merge->live.count) * 1000;

	for (size_t i = 0; i < merge->live.count; i++) {
		int part = trace_progress(merge->live.items[i]->trace);

		sum += part > 0 ? part : 0;
	}
	return (int)(sum / (int64_t)merge->parts.count);
}

/*
 * Replaces the objects that the event points to by the same objects of the merged trace. Returns
 * false if no memory is left.
 */
static bool translate_call(struct trace *trace, struct part *part)
{
	struct merge *merge = trace->reader;
	struct registry *registry = &trace->registry;
	struct event *event = &trace->event;
	const void **place;
	bool is_new;

	place = ARRAY_AT(&part->functions, event->function->id);
	if (place && !*place)
		*place =
			registry_function(registry, event->function->name, event->function->length);
	event->function = place ? *place : NULL;
	event->resource = merge_resource(trace, part, event->resource, &is_new);
	event->index = ++merge->index;
	if (!event->backtrace)
		return event->function && event->resource;
	place = ARRAY_AT(&part->backtraces, event->backtrace->id);
	if (place && !*place)
		*place = registry_adopt_backtrace(registry, event->backtrace);
	event->backtrace = place ? *place : NULL;
	return event->function && event->resource && event->backtrace;
}

/*
 * Converts the part's event to an event of the merged trace. Returns 1, 0 if the event repeats a
 * known fact and is not returned, or a negative errno.
 */
static int translate_event(struct trace *trace, struct part *part, struct error *err)
{
	struct merge *merge = trace->reader;
	struct event *event = &trace->event;
	bool is_new = true, is_good = true;

	*event = *part->event;
	if (event_is_call(event)) {
		is_good = translate_call(trace, part);
	} else if (event->kind == EVENT_STREAM) {
		is_good = trace_add_section(trace, part->trace->process) == 0;
	} else if (event->kind == EVENT_RESOURCE) {
		event->resource = merge_resource(trace, part, event->resource, &is_new);
		is_good = event->resource;
	} else if (event->kind == EVENT_MAPPING) {
		const void **place = ARRAY_AT(&part->mappings, event->mapping->id);

		if (place && !*place) {
			struct trace_mapping *copy =
				registry_adopt_mapping(&trace->registry, event->mapping);

			if (copy && copy->since)
				copy->since = merge->index;
			*place = copy;
		}
		event->mapping = place ? *place : NULL;
		is_good = event->mapping;
	}
	trace->part = part->trace;
	merge->last = merge->current = part;
	return is_good ? is_new || trace->wants_repeats : trace_no_memory(trace, err);
}

static int next_merged(struct trace *trace, const struct event **event, struct error *err)
{
	struct merge *merge = trace->reader;
	int rc = 0;

	*event = &trace->event;
	while (rc == 0) {
		if (merge->last && merge->live.count && merge->live.items[0] == merge->last)
			rc = go_on_with(trace, merge->last, err);
		merge->last = NULL;
		if (rc == 0)
			rc = begin_parts(trace, err);
		if (rc)
			return rc;
		if (!merge->live.count)
			return 0;
		rc = translate_event(trace, merge->live.items[0], err);
	}
	return rc;
}

static void close_merged(struct trace *trace)
{
	struct merge *merge = trace->reader;

	if (!merge)
		return;
	for (size_t i = 0; i < merge->parts.count; i++) {
		struct part *part = merge->parts.items[i];

		trace_close(part->trace);
		free(part->functions.items);
		free(part->backtraces.items);
		free(part->resources.items);
		free(part->mappings.items);
		free(part->path);
		free(part);
	}
	free(merge->parts.items);
	free(merge->live.items);
	free(merge->classes.items);
	free(merge);
}

int trace_merge_open(struct trace **result, const char *const *paths, size_t count,
		     const struct trace_options *options, struct error *err)
{
	static const struct trace_options no_options;
	struct trace *trace = trace_create(options ? options : &no_options);
	struct merge *merge = trace ? memory_zalloc(1, sizeof(*merge)) : NULL;
	int rc = 0;

	if (!merge) {
		free(trace);
		return error_system(err, ENOMEM, "merge");
	}
	merge->options = options ? *options : no_options;
	merge->options.progress = NULL;
	trace->reader = merge;
	trace->next = next_merged;
	trace->close = close_merged;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct stat facts;

		rc = stat(paths[i], &facts) == 0 && S_ISDIR(facts.st_mode)
			     ? add_directory(merge, paths[i], err)
			     : add_file(merge, paths[i], err);
	}
	if (rc == 0)
		rc = look_at_all(merge, err);
	if (rc) {
		trace_close(trace);
		return rc;
	}
	for (size_t i = 0; i < merge->parts.count; i++)
		merge->parts.items[i]->number = i;
	ARRAY_SORT(&merge->parts, by_start);
	for (size_t i = 0; i < merge->parts.count; i++) {
		struct part *part = merge->parts.items[i];

		part->number = i;
		part->key = part->start;
		if (!merge->run_start)
			merge->run_start = part->start;
		if (part->is_open)
			part->trace->window.run_start = merge->run_start;
	}
	*result = trace;
	return 0;
}

const struct trace *trace_merge_part(const struct trace *trace, size_t i, const char **path)
{
	const struct merge *merge = trace->reader;

	if (i >= merge->parts.count)
		return NULL;
	*path = merge->parts.items[i]->path;
	return merge->parts.items[i]->trace;
}
