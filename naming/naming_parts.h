/* SPDX-License-Identifier: MIT */
#ifndef NAMING_PARTS_H
#define NAMING_PARTS_H

/* Types that the files of this component share. No other component includes it. */

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/naming.h"

/* A function at an address, and the properties of its frame. */
struct naming_frame {
	struct naming_symbol symbol;
	const struct space_module *module; /* NULL: no module */
	/* set by naming_classify(), like symbol.is_runtime: */
	bool is_c_library; /* the C library's; its names without a leading underscore are public */
	bool is_own;	   /* of the library that records, which has no name if it was loaded by an
			    * attach */
	bool is_start;	   /* this frame alone shows that it starts the program or thread */
	bool is_library;   /* of a system library: not the program's own code */
};

/* The functions at an address: one, and the calls inlined there. */
struct naming_found {
	uint64_t address;
	uint32_t count;
	struct naming_frame frames[];
};

struct naming_counts {
	uint64_t shown, unnamed;
};

struct naming {
	const struct address_space *space;
	struct resolve *resolve;
	/* frames of each mapped module of the address map */
	ARRAY_OF(struct naming_counts) modules;
	struct pool pool;
	struct hash_table found; /* struct naming_found, by address */
	uint32_t ids;		 /* ids given so far */
	/*
	 * one bit for each node of the address map: naming_expect() was called for it and its
	 * callers
	 */
	ARRAY_OF(uint64_t) expected;
};

/* Sets the properties of a frame whose file, function and module are set. */
void naming_classify(const struct naming *naming, struct naming_frame *frame);

void naming_count(struct naming *naming, const struct naming_frame *frame);

/*
 * Looks up a backtrace from the innermost frame. Fills at most max frames and returns how many.
 * *end: how many remain without the functions that start the program or thread. *main: the frame
 * that must be main, or the number returned.
 */
size_t naming_look_up(struct naming *naming, const struct trace_node *backtrace,
		      const struct naming_frame **frames, size_t max, size_t *end, size_t *main);

/* The part of the path after the last slash. */
const char *naming_base_name(const char *path);

#endif
