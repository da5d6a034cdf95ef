/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_SITES_H
#define ACCOUNT_SITES_H

/*
 * The call sites at which a process acquired objects, one for each class, function and backtrace. A
 * site is found by the id of its backtrace: an array access per event, without a hash.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "trace/event.h"

struct site {
	const struct backtrace *backtrace; /* NULL: no backtrace was taken */
	const struct function *function;
	const struct resource_class *resource;
	uint32_t next; /* next site of the same backtrace; 0: none */
	uint8_t class;
	bool is_part;	/* its objects are parts of other objects (a stream's descriptor) */
	uint64_t index; /* index of the last call at this site */
};

struct sites {
	ARRAY_OF(struct site) list; /* the first index is 1 */
	uint32_t *first; /* first[id of a backtrace + 1]: index of its first site in `list`;
			    first[0]: sites without a backtrace */
	size_t first_count;
};

void sites_free(struct sites *sites);

/* Forgets all sites, so that the struct can store those of another process. */
void sites_clear(struct sites *sites);

/*
 * Keeps all sites, but sites_of() will no longer find them. Must be called before the first event
 * of another trace, which has its own numbers for backtraces.
 */
void sites_seal(struct sites *sites);

/*
 * Returns the index of the site of an event, which is added if it is new. Invalidates pointers to
 * sites.
 */
uint32_t sites_of(struct sites *sites, uint8_t class, const struct event *event);

/*
 * Like sites_of(), but inline for the frequent case that the backtrace's first site is the right
 * site.
 */
static inline uint32_t sites_of_again(struct sites *sites, uint8_t class, const struct event *event)
{
	size_t id = event->backtrace ? (size_t)event->backtrace->id + 1 : 0;
	uint32_t index = id < sites->first_count ? sites->first[id] : 0;
	struct site *site;

	/* index 0: no site, or no list yet */
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
