/* SPDX-License-Identifier: MIT */
#ifndef WAITS_UNLOCKS_H
#define WAITS_UNLOCKS_H

/*
 * Mutexes and spin locks that were given back by a thread that did not have them: another had, or
 * the call itself refused (EPERM). Of reader-writer locks nothing is said: several have one. The
 * same at the same places is one, and counted, in all processes of a run.
 */

#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "naming/atlas.h"

struct unlock {
	uint64_t count;
	/* the first time */
	uint64_t object, time_ns;
	uint32_t pid, thread, holder;		/* holder 0: nobody had it */
	const struct trace_node *taken, *given; /* taken: NULL if nobody had it */
};

struct unlocks {
	struct atlas *atlas;
	struct ledger *ledger;
	ARRAY_OF(struct unlock) list;
};

void unlocks_init(struct unlocks *unlocks, struct atlas *atlas, struct ledger *ledger);
void unlocks_free(struct unlocks *unlocks);

/* What the ledger tells of: a lock that another thread gives back. */
void unlocks_move(struct unlocks *unlocks, const struct ledger_move *move);

/* A call in the order of the stream, of whatever class: one that was refused. Likewise. */
void unlocks_event(struct unlocks *unlocks, const struct event *event);

#endif
