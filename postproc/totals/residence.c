/* SPDX-License-Identifier: MIT */
#include "residence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"

#define ADDRESS_MOST (1ull << 57)

static const char *const kinds[RESIDENCE_KINDS] = {
	[RESIDENCE_HEAP] = "heap",     [RESIDENCE_ANONYMOUS] = "anonymous",
	[RESIDENCE_STACK] = "stack",   [RESIDENCE_FILE] = "file",
	[RESIDENCE_SHARED] = "shared", [RESIDENCE_OWN] = "holdtrace",
	[RESIDENCE_KERNEL] = "kernel",
};

void residence_clear(struct residence *residence)
{
	residence->mappings.count = residence->runs.count = 0;
	residence->number = residence->resident = 0;
	residence->is_damaged = false;
	pool_reset(&residence->pool);
}

void residence_free(struct residence *residence)
{
	free(residence->mappings.items);
	free(residence->runs.items);
	pool_free(&residence->pool);
}

size_t residence_after(const struct residence *residence, uint64_t address)
{
	return ARRAY_SEARCH(residence->runs.count, at, residence->runs.items[at].to <= address);
}

/* Adds a mapping. Returns false if it is invalid, or not above all earlier mappings. */
static bool take_mapping(struct residence *residence, const struct event *event)
{
	const char *kind = event_argument(event, "kind"), *path = event_argument(event, "path");
	struct residence_mapping mapping = { .from = event_number(event, "from"),
					     .to = event_number(event, "to"),
					     .resident = event_number(event, "resident"),
					     .swapped = event_number(event, "swapped") };
	size_t count = residence->mappings.count, size = mapping.to - mapping.from;

	while (kind && mapping.kind < RESIDENCE_KINDS && strcmp(kind, kinds[mapping.kind]) != 0)
		mapping.kind++;
	if (!kind || mapping.kind == RESIDENCE_KINDS || mapping.from >= mapping.to ||
	    mapping.to > ADDRESS_MOST || (mapping.from | mapping.to) % RESIDENCE_PAGE ||
	    mapping.resident > size || mapping.swapped > size || residence->runs.count ||
	    (count && residence->mappings.items[count - 1].to > mapping.from))
		return false;
	mapping.path = path ? pool_text(&residence->pool, path, strlen(path)) : NULL;
	*ARRAY_ADD(&residence->mappings) = mapping;
	return true;
}

/*
 * Splits a run of pages at the bounds of mappings, and adds the parts. Ignores pages outside the
 * known mappings. Returns false if the run begins before the end of the previous one.
 */
static bool add_run(struct residence *residence, uint64_t from, uint64_t to, char state)
{
	size_t count = residence->runs.count;
	uint32_t i = (uint32_t)ARRAY_SEARCH(residence->mappings.count, at,
					    residence->mappings.items[at].to <= from);

	if (count && residence->runs.items[count - 1].to > from)
		return false;
	for (; i < residence->mappings.count && residence->mappings.items[i].from < to; i++) {
		const struct residence_mapping *mapping = &residence->mappings.items[i];

		*ARRAY_ADD(&residence->runs) = (struct residence_run){
			.from = from > mapping->from ? from : mapping->from,
			.to = to < mapping->to ? to : mapping->to,
			.mapping = i,
			.state = state,
		};
	}
	return true;
}

/* Parses the text of a note ~pages: "p12-3s2". */
static bool take_pages(struct residence *residence, uint64_t at, const char *text)
{
	if (at % RESIDENCE_PAGE || at >= ADDRESS_MOST)
		return false;
	while (*text) {
		char state = *text++, *end;
		uint64_t count = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 1;

		if (!strchr("psz-", state) || !count ||
		    count > (ADDRESS_MOST - at) / RESIDENCE_PAGE)
			return false;
		if (state != '-' && !add_run(residence, at, at + count * RESIDENCE_PAGE, state))
			return false;
		at += count * RESIDENCE_PAGE;
		text += strspn(text, "0123456789");
	}
	return true;
}

bool residence_note(struct residence *residence, const struct event *event)
{
	const char *name = event->function->name, *state;
	bool is_mapping = !strcmp(name, NOTE_RESIDENT);
	uint64_t number;

	if (!is_mapping && strcmp(name, NOTE_PAGES) != 0)
		return false;
	number = event_number(event, "number");
	if (number != residence->number) {
		residence_clear(residence);
		residence->number = number;
	}
	state = is_mapping ? event_argument(event, "state") : NULL;
	if (state) {
		residence->resident = event_number(event, "resident");
		residence->pause_ns = event_number(event, "pause");
		return number && !residence->is_damaged && !strcmp(state, "done");
	}
	if (is_mapping)
		residence->is_damaged |= !take_mapping(residence, event);
	for (uint32_t i = 0; !is_mapping && i < event->argument_count; i++)
		if (!strncmp(event->arguments[i].name, "0x", 2))
			residence->is_damaged |=
				!take_pages(residence, strtoull(event->arguments[i].name, NULL, 16),
					    event->arguments[i].value);
	return false;
}
