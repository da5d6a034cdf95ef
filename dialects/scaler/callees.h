/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_CALLEES_H
#define VIEWS_CALLEES_H

/*
 * The called functions, grouped by the calling file, and their numbers, which are the same in each
 * run. The executable is file 0; other files are numbered in the order of their mappings, and the
 * functions of a file in the order of their names. The numbers are known only at the end; until
 * then, a function is identified by its symbol, an index in `list`.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "trace/event.h"

struct callee_file {
	const char *path; /* path of the file; "": unknown */
	/* number in the order of appearance; after callees_finish(), the executable has number 0 */
	uint32_t number;
	/*
	 * index of its first function in `sorted`, and number of its functions; set by
	 * callees_finish()
	 */
	uint32_t first, count;
};

/* A function and the file that called it. */
struct callee {
	const char *name;
	struct callee_file *file;
	uint32_t number; /* number in its file, from 0; set by callees_finish() */
	uint32_t symbol;
};

struct callees {
	struct pool pool;
	struct hash_table paths, symbols;
	ARRAY_OF(struct callee_file *) files;	 /* indexed by number */
	ARRAY_OF(struct callee *) list;		 /* indexed by symbol */
	ARRAY_OF(struct callee_file *) mappings; /* indexed by id of the mapping */
	/* sorted by number of the file, then by name; set by callees_finish() */
	struct callee **sorted;
	struct callee_file *first_mapped;
	const char *executable; /* path of the executable; NULL: unknown */
};

void callees_init(struct callees *callees);
void callees_free(struct callees *callees);

void callees_map(struct callees *callees, const struct trace_mapping *mapping);

void callees_set_executable(struct callees *callees, const char *path);

/*
 * Adds a function that was called from `mapping` (NULL: unknown). Returns the function's symbol, an
 * index in `list`.
 */
uint32_t callees_add(struct callees *callees, const struct trace_mapping *mapping,
		     const char *name);

/* Like callees_add(), for calls from the file `path`; "" if the file is unknown. */
uint32_t callees_add_path(struct callees *callees, const char *path, const char *name);

/*
 * Numbers files and functions. fallback: name of file 0 if no executable and no mapping is known.
 */
void callees_finish(struct callees *callees, const char *fallback);

/*
 * Returns the function with this name among those that `file` called, or NULL. callees_finish()
 * must be called first.
 */
const struct callee *callees_find(const struct callees *callees, const struct callee_file *file,
				  const char *name);

#endif
