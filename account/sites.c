/* SPDX-License-Identifier: MIT */
#include "account/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"

void sites_free(struct sites *sites)
{
	free(sites->list.items);
	free(sites->first);
	*sites = (struct sites){ 0 };
}

void sites_seal(struct sites *sites)
{
	if (sites->first)
		memset(sites->first, 0, sites->first_count * sizeof(*sites->first));
}

void sites_clear(struct sites *sites)
{
	ARRAY_CLEAR(&sites->list);
	sites_seal(sites);
}

/*
 * True for the descriptor of a stream, directory or shared memory object: this descriptor is only a
 * part of the live object.
 */
static bool is_part(const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return event->resource->known == RESOURCE_FD && hook &&
	       (hook->resource == RESOURCE_FILE || hook->resource == RESOURCE_DIRECTORY ||
		hook->resource == RESOURCE_SHM_FD);
}

/* Adds a site at the head of its backtrace's list. */
static uint32_t sites_add(struct sites *sites, uint8_t class, const struct event *event, size_t id)
{
	struct site *site = ARRAY_ADD(&sites->list);

	/* Index 0 means "none". */
	if (sites->list.count == 1)
		site = ARRAY_ADD(&sites->list);
	if (sites->list.count > UINT32_MAX)
		memory_none();
	*site = (struct site){
		.backtrace = event->backtrace,
		.function = event->function,
		.resource = event->resource,
		.next = sites->first[id],
		.class = class,
		.is_part = is_part(event),
	};
	sites->first[id] = (uint32_t)(sites->list.count - 1);
	return sites->first[id];
}

uint32_t sites_of(struct sites *sites, uint8_t class, const struct event *event)
{
	bool is_known = event->backtrace && event->backtrace->id != BACKTRACE_OF_SPACE;
	size_t id = is_known ? (size_t)event->backtrace->id + 1 : 0;
	uint32_t index;

	if (id >= sites->first_count) {
		size_t count = sites->first_count ? sites->first_count : 1024;
		uint32_t *first;

		while (count <= id)
			count *= 2;
		first = memory_resize(sites->first, count * sizeof(*first));
		memset(first + sites->first_count, 0,
		       (count - sites->first_count) * sizeof(*first));
		sites->first = first;
		sites->first_count = count;
	}
	for (index = sites->first[id]; index; index = sites_at(sites, index)->next) {
		const struct site *site = sites_at(sites, index);

		if (site->backtrace == event->backtrace && site->function == event->function &&
		    site->resource == event->resource && site->class == class)
			break;
	}
	if (!index)
		index = sites_add(sites, class, event, id);
	sites_at(sites, index)->index = event->index;
	return index;
}
