/* SPDX-License-Identifier: MIT */
/* The size filter, and which releases belong to kept acquisitions. */
#include "select_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *take_size(const char *text, uint64_t *size)
{
	static const char units[] = "kMGT";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno)
		return NULL;
	unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	if (!unit)
		return end;
	for (const char *step = units; step <= unit; step++)
		if (__builtin_mul_overflow(*size, 1024ull, size))
			return NULL;
	return end + 1;
}

int select_size_parse(struct select_size *part, const char *text, struct error *err)
{
	const char *at = text;

	if (!text)
		return 0;
	part->is_set = true;
	part->to = UINT64_MAX;
	if (strncmp(at, "..", 2) != 0)
		at = take_size(at, &part->from);
	if (at && !*at && at != text)
		part->to = part->from;
	else if (at && !strncmp(at, "..", 2) && strcmp(text, "..") != 0)
		at = at[2] ? take_size(at + 2, &part->to) : at + 2;
	if (at && !*at && at != text && part->from <= part->to)
		return 0;
	return error_set(err, EINVAL,
			 "--size=%s: expected bytes: 100, 100..4k, 1M.. or ..64 (k, M, G: 1024)",
			 text);
}

/* ---- held objects ---- */

static struct ledger *ledger_of(struct select_held *part, const struct event *event)
{
	uint32_t section = event->process->section;
	struct ledger **place;

	if (part->current && part->section == section)
		return part->current;
	if (!part->by_section.seed)
		map_init(&part->by_section);
	if (!map_get(&part->by_section, 0, section)) {
		place = ARRAY_ADD(&part->ledgers);
		ledger_create(place, false, NULL);
		map_set(&part->by_section, 0, section, (uint32_t)part->ledgers.count);
	}
	part->section = section;
	part->current = part->ledgers.items[map_get(&part->by_section, 0, section) - 1];
	return part->current;
}

void select_held_gains(struct select_held *part, const struct event *event, bool is_kept)
{
	struct ledger *ledger = ledger_of(part, event);
	struct event loss = *event;

	/* An acquisition that is not selected replaces a selected one of the same object. */
	loss.type = CALL_TYPE_FREE;
	if (is_kept)
		ledger_event(ledger, event, NULL);
	else if (!(event->resource->flags & 1) && ledger_loses(ledger, event))
		ledger_event(ledger, &loss, NULL);
}

bool select_held_loses(struct select_held *part, const struct event *event)
{
	struct ledger *ledger = ledger_of(part, event);

	if (!ledger_loses(ledger, event))
		return false;
	ledger_event(ledger, event, NULL);
	return true;
}

void select_held_free(struct select_held *part)
{
	for (size_t i = 0; i < part->ledgers.count; i++)
		ledger_destroy(part->ledgers.items[i]);
	free(part->ledgers.items);
	map_clear(&part->by_section);
}
