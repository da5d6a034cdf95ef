/* SPDX-License-Identifier: MIT */
#include "scan/blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/ledger.h"
#include "base/array.h"
#include "notes.h"
#include "trace/bundle.h"
#include "trace/trace.h"
#include "wire.h"

#define PATH_SIZE 4400u
/*
 * Maximum number of calls in a parent's stream: each child's scan reads that stream, which takes
 * some seconds.
 */
#define PARENT_CALLS_MOST 10000000u
#define GENERATIONS_MOST  64u	       /* maximum number of forks in a row, without an exec */
#define COVERED_MOST	  (1ull << 30) /* larger blocks are left out: each has its own mapping */
#define REGIONS_MOST	  (1u << 20)

void live_free(struct live *live)
{
	free(live->blocks.items);
	free(live->mappings.items);
	free(live->handles.items);
	free(live->regions.items);
	map_clear(&live->region_of);
	*live = (struct live){ 0 };
}

/* ---- addresses that were ever in a block ---- */

static void cover_block(struct live *live, uint64_t address, uint64_t size)
{
	uint64_t at = address / LIVE_GRANULE;
	uint64_t end = (address + (size ? size : 1) + LIVE_GRANULE - 1) / LIVE_GRANULE;

	if (address > ADDRESS_MAX || size > COVERED_MOST)
		return;
	while (at < end && live->regions.count < REGIONS_MOST) {
		uint64_t number = at * LIVE_GRANULE / LIVE_REGION;
		struct map_entry *entry = map_put(&live->region_of, 0, number);
		uint64_t *bits;
		unsigned bit = at % (LIVE_REGION / LIVE_GRANULE);
		unsigned most = 64 - bit % 64,
			 count = end - at < most ? (unsigned)(end - at) : most;

		if (!entry->value) {
			*ARRAY_ADD(&live->regions) = (struct live_region){ 0 };
			entry->value = (uint32_t)live->regions.count;
		}
		bits = live->regions.items[entry->value - 1].bits;
		bits[bit / 64] |= (count == 64 ? ~0ull : (1ull << count) - 1) << bit % 64;
		at += count;
	}
}

bool live_was_block(const struct live *live, uint64_t address)
{
	uint32_t index = map_get(&live->region_of, 0, address / LIVE_REGION);
	unsigned bit = address / LIVE_GRANULE % (LIVE_REGION / LIVE_GRANULE);

	return index && live->regions.items[index - 1].bits[bit / 64] >> bit % 64 & 1;
}

/*
 * The streams of a process and its ancestors. The streams stay open as long as the ledger exists,
 * because the ledger's call sites point into them.
 */
struct lineage {
	struct live *live;
	const struct live_reading *reading;
	struct trace_options options;
	struct ledger *ledger;
	/* the traces of the process, its parent, its parent's parent and so on */
	struct trace *traces[GENERATIONS_MOST];
	unsigned count;
	bool is_whole; /* the oldest stream begins with the start of a program */
};

/* ---- notes ---- */

static bool note_says(const struct event *event, const char *name, const char *value)
{
	const char *found = event_argument(event, name);

	return found && !strcmp(found, value);
}

/*
 * Whether a list of --events has all memory functions: it has the word "memory" or "all". A list of
 * single functions counts as incomplete.
 */
static bool lists_memory(const char *list)
{
	for (size_t length; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (length == 6 && !strncmp(list, "memory", 6))
			return true;
		if (length == 3 && !strncmp(list, "all", 3))
			return true;
	}
	return false;
}

/*
 * Handles a note. Returns 1 if it is the cut (the point of the stream at which the process was
 * stopped), 0 for other notes, or a negative errno.
 */
static int take_note(struct lineage *lineage, const struct event *event, unsigned cut,
		     struct error *err)
{
	struct live *live = lineage->live;
	const char *name = event->function->name, *value;

	if (!strcmp(name, NOTE_SCAN) && note_says(event, "state", "cut")) {
		value = event_argument(event, "number");
		if (!value || strtoul(value, NULL, 10) != cut)
			return 0;
		value = event_argument(event, "dropped");
		if (value && strcmp(value, "0") != 0)
			live->doubt = "events were dropped";
		return 1;
	}
	if (!strcmp(name, NOTE_RECORDING) && note_says(event, "state", "off")) {
		live->doubt = "recording was paused";
	} else if (!strcmp(name, NOTE_SETTINGS)) {
		value = event_argument(event, "events");
		if (value && !lists_memory(value))
			return error_set(err, ENODATA,
					 "the process's memory calls are not recorded (--events)");
	} else if (!strcmp(name, NOTE_PROCESS)) {
		lineage->is_whole = true;
	} else if (!strcmp(name, NOTE_ATTACHED)) {
		live->doubt = "the program had run before it was recorded";
	} else if (!strcmp(name, NOTE_BYPASS)) {
		live->doubt = "a module bypasses holdtrace's library";
	}
	return 0;
}

/* ---- live objects ---- */

static int take_held(struct live *live, struct ledger *ledger)
{
	struct ledger_held held;

	for (size_t at = 0; ledger_held(ledger, &at, &held);) {
		enum resource known = ledger_class(ledger, held.class)->known;

		/* no memory is at 0 or above ADDRESS_MAX */
		if (!held.object || held.object > ADDRESS_MAX || held.is_part)
			continue;
		if (known == RESOURCE_MEMORY)
			*ARRAY_ADD(&live->blocks) = (struct graph_block){
				held.object, held.size,
				held.item->index | (held.is_of_parent ? GRAPH_OF_PARENT : 0)
			};
		else if (known == RESOURCE_MAPPING) {
			const struct backtrace *backtrace =
				sites_at(ledger_sites(ledger), held.site)->backtrace;
			uint64_t left = UINT64_MAX - held.object;

			*ARRAY_ADD(&live->mappings) = (struct live_mapping){
				held.object,
				held.object + (held.size < left ? held.size : left),
				backtrace && backtrace->count ? backtrace->node->address : 0,
			};
		} else if (!held.is_of_parent &&
			   (known == RESOURCE_FILE || known == RESOURCE_DIRECTORY ||
			    known == RESOURCE_THREAD))
			*ARRAY_ADD(&live->handles) =
				(struct live_handle){ known, held.object, false };
	}
	return 0;
}

/* ---- streams ---- */

static struct trace *open_stream(struct lineage *lineage, const char *path)
{
	struct error ignored = { 0 };
	struct trace **trace = &lineage->traces[lineage->count];

	if (lineage->count == GENERATIONS_MOST ||
	    trace_open(trace, path, &lineage->options, &ignored))
		return NULL;
	lineage->count++;
	return *trace;
}

static bool is_about_child(const struct event *event, const struct trace_process *child,
			   enum call_type type)
{
	return event->kind == EVENT_CALL && event->type == type && event->object == child->pid &&
	       event->resource->known == RESOURCE_PROCESS && !(event->flags & CALL_FAILED);
}

static int take_event(struct lineage *lineage, const struct event *event, unsigned cut,
		      struct error *err)
{
	int rc = event->kind == EVENT_NOTE ? take_note(lineage, event, cut, err) : 0;
	const char *name = event->kind == EVENT_CALL ? event->function->name : "";

	/* a pointer that the program stores in the kernel may be the only pointer to a block */
	if (lineage->reading->until_ns &&
	    (!strncmp(name, "epoll_create", 12) || !strcmp(name, "timer_create")))
		lineage->live->doubt = "a core file lacks the pointers that the kernel stores for "
				       "epoll and timers";
	if (event_is_alloc(event) && event->resource->known == RESOURCE_MEMORY)
		cover_block(lineage->live, event->object, event->size);
	if (rc == 0)
		ledger_event(lineage->ledger, event);
	return rc;
}

/*
 * Reads the objects that were live in the parent at the fork. The parent's stream records the fork
 * when the call returns, which may be after the child's start. So only events before the child's
 * start are used.
 */
static int take_parent(struct lineage *lineage, const struct trace_process *child,
		       struct error *err)
{
	const char *unknown =
		"the objects that the parent had allocated before the fork are unknown";
	char path[PATH_SIZE];
	struct trace *trace = NULL;
	struct {
		uint32_t thread;
		uint64_t time_ns;
	} frees[2] = { 0 }; /* the last frees of the two threads that freed memory most recently */
	size_t length, own;
	bool is_found = false;
	const struct event *event;
	int rc = 0;

	/* look for the parent's stream only in the file that has the child's stream */
	if (bundle_split_name(lineage->reading->path, &length, &own) &&
	    (size_t)snprintf(path, sizeof(path), "%.*s#%u", (int)length, lineage->reading->path,
			     child->parent_stream) < sizeof(path))
		trace = open_stream(lineage, path);
	while (trace && (rc = trace_next(trace, &event, err)) == 1) {
		if (event->kind == EVENT_PROCESS) {
			if (event->process->stream != child->parent_stream)
				break;
			if (event->process->parent_stream != WIRE_NO_STREAM)
				rc = take_parent(lineage, event->process, err);
		}
		/* each child's scan reads this stream, and there may be thousands of children */
		if (trace_tally(trace)->calls > PARENT_CALLS_MOST) {
			unknown = "the trace of a parent is too long to be read for each child";
			break;
		}
		/* if a fork's start was not timed, the fork may seem to start after the child */
		if (is_about_child(event, child, CALL_TYPE_ALLOC) &&
		    (event->enter_ns <= child->start_ns || event->enter_ns == event->leave_ns)) {
			is_found = true;
			/* the child may have a block that another thread freed during the fork */
			if (frees[frees[0].thread == event->thread].time_ns >= event->enter_ns)
				lineage->live->doubt =
					"another thread freed memory during the fork";
		}
		if (event_is_free(event) && event->resource->known == RESOURCE_MEMORY) {
			if (frees[0].thread != event->thread)
				frees[1] = frees[0];
			frees[0].thread = event->thread;
			frees[0].time_ns = event->time_ns;
		}
		/*
		 * an earlier process with the child's pid was reaped before this child started, so
		 * the fork that was found is not the child's
		 */
		if (is_found && is_about_child(event, child, CALL_TYPE_FREE) &&
		    event->time_ns <= child->start_ns)
			lineage->live->doubt = unknown;
		if (is_found && event->time_ns > child->start_ns)
			break;
		if (!is_found && event->time_ns <= child->start_ns)
			rc = take_event(lineage, event, 0, err);
		if (rc < 0)
			return rc;
	}
	if (!is_found)
		lineage->live->doubt = unknown;
	ledger_fork(lineage->ledger);
	return 0;
}

/*
 * Returns 1 at the cut, 0 if the stream ends before the cut, or a negative errno. For a core file,
 * the end of the stream is a cut, too.
 */
static int read_events(struct lineage *lineage, struct trace *trace, struct error *err)
{
	uint64_t until_ns = lineage->reading->until_ns;
	const struct event *event;
	int rc;

	while ((rc = trace_next(trace, &event, err)) == 1) {
		if (until_ns && event_is_call(event)) {
			if (event->time_ns > until_ns ||
			    (event->kind == EVENT_NOTE && !strcmp(event->function->name, NOTE_END)))
				return 1;
			lineage->live->next_index = event->index + 1;
		}
		rc = event->kind == EVENT_PROCESS && event->process->parent_stream != WIRE_NO_STREAM
			     ? take_parent(lineage, event->process, err)
			     : 0;
		if (rc == 0)
			rc = take_event(lineage, event, lineage->reading->cut, err);
		if (rc)
			return rc;
	}
	return rc;
}

static void on_progress(void *user, const struct trace *trace)
{
	const struct live_reading *reading = user;

	(void)trace;
	reading->beat(reading->user);
}

int live_read(struct live *live, const struct live_reading *reading, struct error *err)
{
	struct lineage lineage = { .live = live,
				   .reading = reading,
				   .options = { .no_wait = true,
						.progress = on_progress,
						.user = (void *)(uintptr_t)reading } };
	struct trace *trace;
	int rc;

	*live = (struct live){ 0 };
	map_init(&live->region_of);
	trace = open_stream(&lineage, reading->path);
	/* the file of a new stream may still be missing or incomplete, so the caller tries again */
	if (!trace)
		return -EAGAIN;
	lineage.ledger = ledger_create(false);
	rc = read_events(&lineage, trace, err);
	if (rc == 0 && reading->until_ns)
		rc = 1;
	if (rc == 1 && !lineage.is_whole)
		live->doubt = "objects from before the start of the stream are unknown";
	if (rc == 0)
		rc = -EAGAIN;
	else if (rc == 1)
		rc = take_held(live, lineage.ledger);
	if (rc)
		live_free(live);
	ledger_destroy(lineage.ledger);
	while (lineage.count)
		trace_close(lineage.traces[--lineage.count]);
	return rc;
}
