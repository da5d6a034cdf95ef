/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_UNLOCKS_H
#define VIEWS_UNLOCKS_H

/*
 * Mutexes and spin locks that were given back by a thread that did not have them: another had, or
 * the call itself refused (EPERM). Of reader-writer locks nothing is said: several have one. The
 * same at the same places is one, and counted, in all processes of a run.
 */

#include <stddef.h>
#include <stdint.h>

#include "naming/atlas.h"
#include "postproc/views/held.h"
#include "postproc/views/sites.h"

struct unlock {
	uint64_t count;
	/* the first time */
	uint64_t object, time_ns;
	uint32_t pid, thread, holder;		     /* holder 0: nobody had it */
	const struct atlas_backtrace *taken, *given; /* taken: NULL if nobody had it */
};

struct unlocks {
	struct atlas *atlas;
	struct held_table held; /* by object: thread, site, count */
	struct sites sites;
	struct {
		struct unlock *items;
		size_t count, capacity;
	} list;
};

void unlocks_init(struct unlocks *unlocks, struct atlas *atlas);
void unlocks_free(struct unlocks *unlocks);

/* A call in the order of the stream, of whatever class. Returns 0 or -ENOMEM. */
int unlocks_event(struct unlocks *unlocks, const struct event *event);

/* Another process: nothing is held. */
void unlocks_clear(struct unlocks *unlocks);

#endif
