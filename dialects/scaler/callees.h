/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_CALLEES_H
#define VIEWS_CALLEES_H

/*
 * Which functions were called from which file, numbered so that another run of the same program
 * gets the same numbers: files in order of their mapping with the executable as 0, functions of a
 * file by name. The numbers are only known at the end; until then there are symbols.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"
#include "trace/event.h"

struct callee_file {
	const char *path;      /* "": not known */
	uint32_t number;       /* by appearance; at the end the executable's is 0 */
	uint32_t first, count; /* its functions in `sorted`; at the end */
};

/* A function as it was called from a file. */
struct callee {
	const char *name;
	struct callee_file *file;
	uint32_t number; /* in its file, from 0; at the end */
	uint32_t symbol;
};

struct callees {
	struct pool pool;
	struct table paths, symbols;
	ARRAY_OF(struct callee_file *) files;	 /* by number */
	ARRAY_OF(struct callee *) list;		 /* by symbol */
	ARRAY_OF(struct callee_file *) mappings; /* by id of the mapping */
	struct callee **sorted; /* at the end: by number of the file, then by name */
	struct callee_file *first_mapped;
	const char *executable; /* NULL: not known */
};

void callees_init(struct callees *callees);
void callees_free(struct callees *callees);

/* A file was mapped. */
void callees_map(struct callees *callees, const struct trace_mapping *mapping);

/* The executable's path, if it is known. */
void callees_set_executable(struct callees *callees, const char *path);

/*
 * A function was called from the code of the mapping, which may be NULL (not known). Returns its
 * number until the end, an index of `list`.
 */
uint32_t callees_add(struct callees *callees, const struct trace_mapping *mapping,
		     const char *name);

/* The same with the path of the file, "" if it is not known. */
uint32_t callees_add_path(struct callees *callees, const char *path, const char *name);

/*
 * All is known: gives the numbers. fallback: name for file 0 where neither the executable nor any
 * mapping is known.
 */
void callees_finish(struct callees *callees, const char *fallback);

/* The function with that name in a file, or NULL; at the end. */
const struct callee *callees_find(const struct callees *callees, const struct callee_file *file,
				  const char *name);

#endif
