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
#include "resolver/mappings.h"
#include "resolver/message.h"
#include "resolver/worker.h"

/* ---- a module of the trace: its identity, the facts about its files, its unanswered addresses
 * ---- */

/* One address under one mapping. */
struct resolve_ask {
	const struct place *place; /* NULL: no mapping covers the address */
	uint64_t address;	   /* in memory; the address that is looked up */
	uint64_t found;		   /* the same address as the file counts */
	const struct answer *answer;
	struct resolve_ask *next; /* next unanswered address of the same module */
};

/* The same path with another build-id is another entry. */
struct entry {
	char *path;	 /* as in the trace */
	char *file_path; /* where the file is opened */
	uint8_t build_id[FILES_BUILD_ID_MAX];
	unsigned build_id_size; /* in the trace; 0: the trace has none */
	struct facts facts;
	char *advice; /* what the user can do; made when it is first asked for */
	char *broken; /* how its children failed, or NULL */
	bool is_symbols_only, is_given_up;
	bool is_misfit; /* the mapping in the trace cannot be one of this file */

	struct resolve_ask *asks; /* not answered yet */
	struct worker worker;
	uint64_t *batch; /* addresses that the child is looking up */
	size_t batch_count;
	unsigned restarts;
	unsigned wants;	  /* files that the child asked for */
	bool is_cached;	  /* the cache was read */
	bool is_employed; /* a child was started for it */
	bool is_open;	  /* its child has sent the facts */
	bool is_working;  /* its child must not be ended now */

	uint64_t asked, unresolved, unlined, events;
	uint64_t backtrace; /* the last backtrace counted in events */
};

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
