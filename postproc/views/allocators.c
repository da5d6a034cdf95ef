/* SPDX-License-Identifier: MIT */
#include "postproc/views/allocators.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "hook_table.h"

#define PLACES_MAX 256u /* that are looked at */
#define FRAMES_MAX 32u	/* from the call outwards */

static const struct {
	const char *name, *pattern;
} rows[] = {
#define ALLOCATOR(name, pattern) { name, pattern },
#include "postproc/views/allocators.def"
#undef ALLOCATOR
};

int allocators_event(struct summary *summary, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	const struct trace_node *place, **added;

	if (!hook || hook->resource != RESOURCE_MAPPING || event->type != CALL_TYPE_ALLOC ||
	    event->depth || summary->inner.places.count >= PLACES_MAX)
		return 0;
	place = atlas_backtrace(&summary->atlas, event->backtrace, event->index);
	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < summary->inner.places.count; i++)
		if (summary->inner.places.items[i] == place)
			return 0;
	added = ARRAY_ADD(&summary->inner.places);
	if (!added)
		return -ENOMEM;
	*added = place;
	return 0;
}

static bool is_allocators(struct summary *summary, const struct naming_symbol *symbol)
{
	for (size_t i = 0; symbol->function && i < sizeof(rows) / sizeof(*rows); i++) {
		if (fnmatch(rows[i].pattern, symbol->function, 0) != 0)
			continue;
		summary->inner.name = rows[i].name;
		summary->inner.module = symbol->module;
		return true;
	}
	return false;
}

void allocators_find(struct summary *summary, struct naming *naming)
{
	struct naming_symbol symbols[FRAMES_MAX];

	for (size_t i = 0; naming && i < summary->inner.places.count; i++)
		naming_expect(naming, summary->inner.places.items[i]);
	for (size_t i = 0; naming && i < summary->inner.places.count; i++) {
		size_t count =
			naming_symbols(naming, summary->inner.places.items[i], symbols, FRAMES_MAX);

		for (size_t k = 0; k < count; k++)
			if (is_allocators(summary, &symbols[k]))
				return;
	}
}
