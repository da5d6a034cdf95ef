/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_LASTING_H
#define TOTALS_LASTING_H

/*
 * Shared memory and semaphores that still exist after the run: a process of the run created them,
 * and no process of the run removed them. Processes are read one after the other, so the times
 * decide whether an object was removed after it was created.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "trace/event.h"

struct lasting_item {
	const char *what;	/* "shared memory", "segment", "semaphore" or "semaphores" */
	const char *name;	/* NULL: the object has only a number */
	uint64_t number, bytes; /* id of the object, and size of a segment */
	/* times of the last calls that created and that removed the object; 0: none */
	uint64_t created_ns, removed_ns;
};

struct lasting {
	struct map index; /* key: hash of the name, or number; value: index + 1 */
	struct pool pool;
	ARRAY_OF(struct lasting_item) items;
};

void lasting_init(struct lasting *lasting);
void lasting_free(struct lasting *lasting);

/* Processes a call of any process. */
void lasting_event(struct lasting *lasting, const struct event *event);

static inline bool lasting_stays(const struct lasting_item *item)
{
	return item->created_ns && item->removed_ns < item->created_ns;
}

#endif
