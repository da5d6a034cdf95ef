/* SPDX-License-Identifier: MIT */
#ifndef CREW_H
#define CREW_H

/*
 * The worker pool: child processes that look addresses up, one for each module, several at a time.
 * If a child dies, its module is read once more without debug information, for its symbol table
 * alone; if that fails, too, the module is given up.
 */

#include "base/array.h"
#include "base/table.h"
#include "resolver/entry.h"

/* Idle children that are kept for further addresses. */
#define CREW_KEPT_MAX 16

struct crew {
	struct resolve_options options;
	unsigned machine;
	struct table answers;		/* struct answer, by entry and address */
	ARRAY_OF(struct entry *) line;	/* modules with unanswered addresses */
	ARRAY_OF(struct entry *) staff; /* modules with a child, oldest first */
};

void crew_init(struct crew *crew, const struct resolve_options *options);
void crew_free(struct crew *crew);

/* Queues the address. */
void crew_ask(struct crew *crew, struct resolve_ask *ask);

/* Answers all queued addresses. Where that is not possible, answer stays NULL. */
void crew_wait(struct crew *crew);

/* Stores an answer, which the pool then owns. A second answer for the same address is freed. */
void crew_add_answer(struct crew *crew, const struct entry *entry, struct answer *answer);

#endif
