/* SPDX-License-Identifier: MIT */
#ifndef WORKERS_H
#define WORKERS_H

/*
 * The worker pool: child processes that look up addresses, one for each module, several at a time.
 * If a child dies, another child reads the module without debug information, only for its symbol
 * table. If that fails, too, the module gets no names.
 */

#include "base/array.h"
#include "base/hash_table.h"
#include "resolver/mappings.h"
#include "resolver/worker.h"

/* ---- a module of the trace ---- */

/* A request for an address in a mapping. */
struct resolve_ask {
	const struct place *place; /* NULL: no mapping covers the address */
	uint64_t address;	   /* the address in memory that is looked up */
	bool wants_type;	   /* asks for the type that the call there allocates */
	uint64_t found; /* the same address in the file; with WORKER_TYPE if wants_type */
	const struct answer *answer;
	struct resolve_ask *next; /* next unanswered address of the same module */
};

/*
 * A module: its identity, facts about its files, and its unanswered requests. The same path with
 * another build-id is another module.
 */
struct entry {
	char *path;	 /* path in the trace */
	char *file_path; /* path at which the file is opened */
	uint8_t build_id[FILES_BUILD_ID_MAX];
	unsigned build_id_size; /* size in bytes of the build-id in the trace; 0: there is none */
	struct facts facts;
	char *advice; /* advice for the user; made when it is first requested */
	char *broken; /* why the module's children failed, or NULL */
	bool is_symbols_only, is_given_up;
	bool is_misfit; /* whether the mapping in the trace cannot be a mapping of this file */

	struct resolve_ask *asks; /* unanswered requests */
	struct worker worker;
	uint64_t *batch; /* the addresses that were sent to the child */
	size_t batch_count;
	unsigned restarts;
	unsigned wants;	  /* number of files that the module's children have requested */
	bool is_cached;	  /* whether the cache was read */
	bool is_employed; /* whether a child was started for the module */
	bool is_open;	  /* whether the child has sent the facts */
	bool is_working;  /* whether the child is working, and so must not be ended */

	uint64_t asked, unresolved, unlined, events;
	uint64_t backtrace; /* number of the last backtrace that was counted in `events` */
};

/* Limit of idle children, which are kept for further addresses. */
#define WORKERS_KEPT_MAX 16

struct workers {
	struct resolve_options options;
	unsigned machine;
	struct hash_table answers;	/* all answers (struct answer); key: entry and address */
	ARRAY_OF(struct entry *) line;	/* modules with unanswered addresses */
	ARRAY_OF(struct entry *) staff; /* modules with a child, the oldest child first */
};

void workers_init(struct workers *workers, const struct resolve_options *options);
void workers_free(struct workers *workers);

/* Queues a request. */
void workers_ask(struct workers *workers, struct resolve_ask *ask);

/* Answers all queued requests. If a request cannot be answered, its answer stays NULL. */
void workers_wait(struct workers *workers);

/* ---- the cache ---- */

/*
 * Stores answers in a directory from one run to the next, in one file for each build-id and style
 * of names. Only complete answers are stored (function, file and line), because debug information
 * that is missing now may be installed later. The files are not trusted.
 */

/* Creates the directory if it is missing. Returns 0 or a negative errno value. */
int cache_open(const char *directory, struct error *err);

/* Stores the complete answers of these modules, which must be all modules of the pool. */
void cache_save(const struct workers *workers, struct entry *const *entries, size_t count);

#endif
