/* SPDX-License-Identifier: MIT */
#ifndef NAMING_PARTS_H
#define NAMING_PARTS_H

/* What the files of this room share. Nobody else includes it. */

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"
#include "naming/naming.h"

/* A function at an address, and what it is beyond its name. */
struct naming_frame {
	struct naming_symbol symbol;
	const struct atlas_module *module; /* NULL: in none */
	/* by naming_classify(), as is whether the symbol is of the language's runtime: */
	bool is_c_library; /* whose names without a leading underscore are public */
	bool is_own;   /* of the library that records: no name if it came into a running program */
	bool is_start; /* by itself leads from the start of the program or thread */
	bool is_library; /* of the system's: not the program's own code */
};

/* What was found at an address: a function, and the calls that were inlined there. */
struct naming_found {
	uint64_t address;
	uint32_t count;
	struct naming_frame frames[];
};

struct naming_counts {
	uint64_t shown, unnamed;
};

struct naming {
	const struct atlas *atlas;
	struct resolve *resolve;
	/* by module of the atlas, of those that are mapped */
	ARRAY_OF(struct naming_counts) modules;
	struct pool pool;
	struct table found; /* struct naming_found, by address */
	uint32_t ids;	    /* that were given */
	/* by number of a node of the atlas, a bit: it and what called it were said to be needed */
	ARRAY_OF(uint64_t) expected;
};

/* Sees what it is: file, function and module are set. */
void naming_classify(const struct naming *naming, struct naming_frame *frame);

void naming_count(struct naming *naming, const struct naming_frame *frame);

/*
 * Looks up a backtrace from within. Fills at most max frames and returns how many; *end: how many
 * of them do not only lead from the start of the program or thread to its own code. *main: the one
 * that must be main, or what is returned.
 */
size_t naming_look_up(struct naming *naming, const struct trace_node *backtrace,
		      const struct naming_frame **frames, size_t max, size_t *end, size_t *main);

/* What stands behind the last slash. */
const char *naming_base_name(const char *path);

#endif
