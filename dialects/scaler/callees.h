/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_CALLEES_H
#define VIEWS_CALLEES_H

/*
 * Functions by the file that called them, numbered independently of the run: files in order of
 * their mapping, with the executable as 0, functions of a file by name. The numbers are known only
 * at the end; until then functions are identified by symbols.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "trace/event.h"

struct callee_file {
	const char *path;      /* "": unknown */
	uint32_t number;       /* in order of appearance; at the end, 0 is the executable */
	uint32_t first, count; /* its functions in `sorted`; set at the end */
};

/* A function and the file that called it. */
struct callee {
	const char *name;
	struct callee_file *file;
	uint32_t number; /* in its file, from 0; set at the end */
	uint32_t symbol;
};

struct callees {
	struct pool pool;
	struct hash_table paths, symbols;
	ARRAY_OF(struct callee_file *) files;	 /* by number */
	ARRAY_OF(struct callee *) list;		 /* by symbol */
	ARRAY_OF(struct callee_file *) mappings; /* by id of the mapping */
	struct callee **sorted; /* set at the end: by number of the file, then by name */
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

/* As callees_add(), with the path of the file, "" if it is unknown. */
uint32_t callees_add_path(struct callees *callees, const char *path, const char *name);

/*
 * Assigns the numbers. fallback: name of file 0 if neither the executable nor a mapping is known.
 */
void callees_finish(struct callees *callees, const char *fallback);

/* The function with that name in a file, or NULL; after callees_finish(). */
const struct callee *callees_find(const struct callees *callees, const struct callee_file *file,
				  const char *name);

#endif
