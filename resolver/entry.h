/* SPDX-License-Identifier: MIT */
#ifndef ENTRY_H
#define ENTRY_H

/* One module of a trace: who it is, what its files said, and what is still to be asked of them. */

#include "resolver/mappings.h"
#include "resolver/worker.h"

/* One address of one place. */
struct resolve_ask {
	const struct place *place; /* NULL: in no mapping */
	uint64_t address;	   /* in memory; the one that is looked up */
	uint64_t found;		   /* in the file */
	const struct answer *answer;
	struct resolve_ask *next; /* of those in line for the same module */
};

/* The same path with another build-id is another entry. */
struct entry {
	char *path;	 /* as the trace has it */
	char *file_path; /* where it is looked for */
	uint8_t build_id[FILES_BUILD_ID_MAX];
	unsigned build_id_size; /* of the trace; 0: it had none */
	struct facts facts;
	char *advice; /* the next step; made when it is asked for */
	char *broken; /* what went wrong with the children, or NULL */
	bool is_symbols_only, is_given_up;
	bool is_misfit; /* the range of the trace is none of the file's */

	struct resolve_ask *asks; /* without an answer */
	struct worker worker;
	uint64_t *batch; /* addresses that the child was asked for */
	size_t batch_count;
	unsigned restarts;
	unsigned wants;	  /* files that were asked for */
	bool is_cached;	  /* the cache was looked at */
	bool is_employed; /* has had a child */
	bool is_open;	  /* its child has told what kind of file it is */
	bool is_working;  /* its child must stay */

	uint64_t asked, unresolved, unlined, events;
	uint64_t backtrace; /* the last one counted in events */
};

#endif
