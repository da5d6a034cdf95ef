/* SPDX-License-Identifier: MIT */
#ifndef WORKERS_H
#define WORKERS_H

/*
 * The worker pool: child processes that look addresses up, one for each module, several at a time.
 * If a child dies, its module is read once more without debug information, for its symbol table
 * alone; if that fails, too, the module is given up.
 */

#include "base/array.h"
#include "base/hash_table.h"
#include "resolver/entry.h"

/* Idle children that are kept for further addresses. */
#define WORKERS_KEPT_MAX 16

struct workers {
	struct resolve_options options;
	unsigned machine;
	struct hash_table answers;	/* struct answer, by entry and address */
	ARRAY_OF(struct entry *) line;	/* modules with unanswered addresses */
	ARRAY_OF(struct entry *) staff; /* modules with a child, oldest first */
};

void workers_init(struct workers *workers, const struct resolve_options *options);
void workers_free(struct workers *workers);

/* Queues the address. */
void workers_ask(struct workers *workers, struct resolve_ask *ask);

/* Answers all queued addresses. Where that is not possible, answer stays NULL. */
void workers_wait(struct workers *workers);

/* Stores an answer, which the pool then owns. A second answer for the same address is freed. */
void workers_add_answer(struct workers *workers, const struct entry *entry, struct answer *answer);

#endif
