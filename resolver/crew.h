/* SPDX-License-Identifier: MIT */
#ifndef CREW_H
#define CREW_H

/*
 * The children that look addresses up, one for each module, some at a time. A child that dies takes
 * the rest of its module's debug information with it: the module is read once more for its symbol
 * table alone, and given up if that fails, too.
 */

#include "base/array.h"
#include "base/table.h"
#include "resolver/entry.h"

/* Children that are kept for the next question. */
#define CREW_KEPT_MAX 16

struct crew {
	struct resolve_options options;
	unsigned machine;
	struct table answers;		/* struct answer, by entry and address */
	ARRAY_OF(struct entry *) line;	/* with questions */
	ARRAY_OF(struct entry *) staff; /* with a child, as they came */
};

void crew_init(struct crew *crew, const struct resolve_options *options);
void crew_free(struct crew *crew);

/* Puts the question in line. */
void crew_ask(struct crew *crew, struct resolve_ask *ask);

/* Answers all that is in line. What cannot be answered keeps answer NULL. */
void crew_wait(struct crew *crew);

/* Takes an answer in. Frees it if it is there or without memory. */
void crew_add_answer(struct crew *crew, const struct entry *entry, struct answer *answer);

#endif
