/* SPDX-License-Identifier: MIT */
#include "scan/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/ledger.h"
#include "base/array.h"
#include "notes.h"
#include "trace/trace.h"

void live_free(struct live *live)
{
	free(live->blocks.items);
	free(live->mappings.items);
	free(live->handles.items);
	*live = (struct live){ 0 };
}

/* ---- notes ---- */

static bool says(const struct event *event, const char *name, const char *value)
{
	const char *found = event_argument(event, name);

	return found && !strcmp(found, value);
}

static bool is_cut(const struct event *event, unsigned cut)
{
	const char *number = event_argument(event, "number");

	return !strcmp(event->function->name, NOTE_SCAN) && says(event, "state", "cut") && number &&
	       strtoul(number, NULL, 10) == cut;
}

static int take_cut(struct live *live, const struct event *event)
{
	const char *lost = event_argument(event, "lost");

	if (lost && strcmp(lost, "0") != 0)
		live->doubt = "events were lost";
	return 1;
}

/* "memory,fd" has memory; a list of single functions may leave some out. */
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

/* Returns 1 at the cut, 0, or a negative errno. */
static int take_note(struct live *live, const struct event *event, unsigned cut, struct error *err)
{
	const char *name = event->function->name, *value;

	if (is_cut(event, cut))
		return take_cut(live, event);
	if (!strcmp(name, NOTE_RECORDING) && says(event, "state", "off")) {
		live->doubt = "recording was paused";
	} else if (!strcmp(name, NOTE_SETTINGS)) {
		value = event_argument(event, "events");
		if (value && !lists_memory(value))
			return error_set(err, ENODATA, "its memory is not recorded (--events)");
	} else if (!strcmp(name, NOTE_ATTACHED)) {
		live->doubt = "the program had run before it was recorded";
	} else if (!strcmp(name, NOTE_BYPASS)) {
		live->doubt = "a module calls past the library";
	}
	return 0;
}

/* ---- what is held ---- */

static int add_block(struct live *live, const struct ledger_held *held)
{
	struct graph_block *block = ARRAY_ADD(&live->blocks);

	if (!block)
		return -ENOMEM;
	*block = (struct graph_block){ held->object, held->size, held->item->index };
	return 0;
}

static int add_mapping(struct live *live, const struct ledger_held *held, const struct site *site)
{
	const struct backtrace *backtrace = site->backtrace;
	struct live_mapping *mapping = ARRAY_ADD(&live->mappings);

	if (!mapping)
		return -ENOMEM;
	*mapping = (struct live_mapping){
		held->object,
		held->size > UINT64_MAX - held->object ? UINT64_MAX : held->object + held->size,
		backtrace && backtrace->count ? backtrace->node->address : 0,
	};
	return 0;
}

static int add_handle(struct live *live, enum resource class, const struct ledger_held *held)
{
	struct live_handle *handle = ARRAY_ADD(&live->handles);

	if (!handle)
		return -ENOMEM;
	*handle = (struct live_handle){ class, held->object, false };
	return 0;
}

static int take_held(struct live *live, struct ledger *ledger)
{
	struct ledger_held held;
	size_t at = 0;
	int rc = ledger_settle(ledger, NULL);

	while (rc == 0 && ledger_held(ledger, &at, &held)) {
		enum resource known = ledger_class(ledger, held.class)->known;

		/* nobody has memory at 0, and nobody above what a program can have */
		if (!held.object || held.object > ADDRESS_MAX || held.is_part)
			continue;
		if (known == RESOURCE_MEMORY)
			rc = add_block(live, &held);
		else if (known == RESOURCE_MAPPING)
			rc = add_mapping(live, &held, sites_at(ledger_sites(ledger), held.site));
		else if (known == RESOURCE_FILE || known == RESOURCE_DIRECTORY ||
			 known == RESOURCE_THREAD)
			rc = add_handle(live, known, &held);
	}
	return rc;
}

/* Returns 1 at the cut, 0 if the stream ends before it, or a negative errno. */
static int read_events(struct live *live, struct trace *trace, struct ledger *ledger, unsigned cut,
		       struct error *err)
{
	const struct event *event;
	int rc;

	while ((rc = trace_next(trace, &event, err)) == 1) {
		if (event->kind == EVENT_NOTE)
			rc = take_note(live, event, cut, err);
		else
			rc = 0;
		if (rc)
			return rc;
		rc = ledger_event(ledger, event, err);
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
	const struct trace_options options = { .no_wait = true,
					       .progress = on_progress,
					       .user = (void *)(uintptr_t)reading };
	struct ledger *ledger = NULL;
	struct trace *trace;
	int rc = trace_open(&trace, reading->path, &options, err);

	*live = (struct live){ 0 };
	/* what has just begun may not be there yet, or not look like a trace */
	if (rc)
		return rc == -ENOMEM ? rc : -EAGAIN;
	rc = ledger_create(&ledger, false, err);
	if (rc == 0)
		rc = read_events(live, trace, ledger, reading->cut, err);
	if (rc == 0)
		rc = -EAGAIN;
	else if (rc == 1)
		rc = take_held(live, ledger) ? error_system(err, ENOMEM, "what is held") : 0;
	if (rc)
		live_free(live);
	ledger_destroy(ledger);
	trace_close(trace);
	return rc;
}
