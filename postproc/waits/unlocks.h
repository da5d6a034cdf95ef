/* SPDX-License-Identifier: MIT */
#ifndef WAITS_UNLOCKS_H
#define WAITS_UNLOCKS_H

/*
 * Mutexes and spin locks released by a thread that did not hold them: another thread did, or the
 * call failed with EPERM. Reader-writer locks are left out: several threads may hold one. Equal
 * misuses at equal call sites, in all processes of a run, are one entry with a count.
 */

#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "naming/address_space.h"

struct unlock {
	uint64_t count;
	/* the first time */
	uint64_t object, time_ns;
	uint32_t pid, thread, holder;		/* holder 0: no thread held it */
	const struct trace_node *taken, *given; /* taken: NULL if no thread held it */
};

struct unlocks {
	struct address_space *space;
	struct ledger *ledger;
	ARRAY_OF(struct unlock) list;
};

void unlocks_init(struct unlocks *unlocks, struct address_space *space, struct ledger *ledger);
void unlocks_free(struct unlocks *unlocks);

/* For the ledger's moves: a lock that another thread releases. */
void unlocks_move(struct unlocks *unlocks, const struct ledger_move *move);

/* Each call in the order of the stream, of any class: finds those that failed. */
void unlocks_event(struct unlocks *unlocks, const struct event *event);

#endif
