/* SPDX-License-Identifier: MIT */
#ifndef ENTRY_H
#define ENTRY_H

/* One module of a trace: its identity, the facts about its files, and its unanswered addresses. */

#include "resolver/mappings.h"
#include "resolver/worker.h"

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

#endif
