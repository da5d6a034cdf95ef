/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_CALLEES_H
#define VIEWS_CALLEES_H

/*
 * The functions that were called, grouped by the file that called them, with numbers that do not
 * depend on the run. The executable is file 0, other files are numbered in order of their mapping,
 * and the functions of a file by name. These numbers are known only at the end; until then a
 * function is identified by its symbol, an index.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "trace/event.h"

struct callee_file {
	const char *path; /* "": unknown */
	uint32_t number;  /* in order of appearance; after callees_finish(), 0 is the executable */
	uint32_t first, count; /* its functions in `sorted`; set by callees_finish() */
};

/* A function and the file that called it. */
struct callee {
	const char *name;
	struct callee_file *file;
	uint32_t number; /* in its file, from 0; set by callees_finish() */
	uint32_t symbol;
};

struct callees {
	struct pool pool;
	struct hash_table paths, symbols;
	ARRAY_OF(struct callee_file *) files;	 /* by number */
	ARRAY_OF(struct callee *) list;		 /* by symbol */
	ARRAY_OF(struct callee_file *) mappings; /* index: id of the mapping */
	struct callee **sorted; /* by number of the file, then by name; set by callees_finish() */
	struct callee_file *first_mapped;
	const char *executable; /* NULL: unknown */
};

void callees_init(struct callees *callees);
void callees_free(struct callees *callees);

/* Adds a mapped file. */
void callees_map(struct callees *callees, const struct trace_mapping *mapping);

/* Sets the executable's path. */
void callees_set_executable(struct callees *callees, const char *path);

/*
 * Adds a function called from the mapping, which may be NULL (unknown). Returns its symbol, an
 * index of `list`.
 */
uint32_t callees_add(struct callees *callees, const struct trace_mapping *mapping,
		     const char *name);

/* As callees_add(), but for the file with that path; "" if the file is unknown. */
uint32_t callees_add_path(struct callees *callees, const char *path, const char *name);

/*
 * Assigns the numbers. fallback: name of file 0 if neither the executable nor a mapping is known.
 */
void callees_finish(struct callees *callees, const char *fallback);

/* The function with that name in a file, or NULL. Requires callees_finish(). */
const struct callee *callees_find(const struct callees *callees, const struct callee_file *file,
				  const char *name);

#endif
