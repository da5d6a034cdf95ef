/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_SITES_H
#define ACCOUNT_SITES_H

/*
 * The places of one process that gained something: one for each class, function and backtrace.
 * Found by the number of the backtrace, so that an event costs a look and no hash.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "trace/event.h"

struct site {
	const struct backtrace *backtrace; /* NULL: none was taken */
	const struct function *function;
	const struct resource_class *resource;
	uint32_t next; /* of the same backtrace; 0: none */
	uint8_t class;
	bool is_part;	/* its objects belong to others: the descriptor of a stream */
	uint64_t index; /* of the last call */
};

struct sites {
	ARRAY_OF(struct site) list; /* from 1 */
	uint32_t *first; /* by number of backtrace + 1 (0: none): index into list, 0: none */
	size_t first_count;
};

void sites_free(struct sites *sites);

/* Forgets all sites: another process. */
void sites_clear(struct sites *sites);

/* Keeps all sites, of which none is found again: what follows is of another trace. */
void sites_seal(struct sites *sites);

/*
 * Index of the site of an event, made if need be; 0: no memory. Pointers to sites from before are
 * void.
 */
uint32_t sites_of(struct sites *sites, uint8_t class, const struct event *event);

/* The same, where the last one of its backtrace is it. */
static inline uint32_t sites_of_again(struct sites *sites, uint8_t class, const struct event *event)
{
	size_t id = event->backtrace ? (size_t)event->backtrace->id + 1 : 0;
	uint32_t index = id < sites->first_count ? sites->first[id] : 0;
	struct site *site;

	/* before the first one there is no list */
	if (!index)
		return sites_of(sites, class, event);
	site = &sites->list.items[index];
	if (site->function != event->function || site->resource != event->resource ||
	    site->class != class)
		return sites_of(sites, class, event);
	site->index = event->index;
	return index;
}

static inline struct site *sites_at(const struct sites *sites, uint32_t index)
{
	return &sites->list.items[index];
}

#endif
