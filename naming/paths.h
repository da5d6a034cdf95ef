/* SPDX-License-Identifier: MIT */
#ifndef PATHS_H
#define PATHS_H

/*
 * Backtraces as lists of functions, without addresses: two builds of a program, and two calls in
 * one function, have the same path. A path leaves out the functions that start every program, and
 * of the language's runtime keeps only the function that the program called. Where a function is
 * entered again, the path continues from its first entry.
 */

#include <stddef.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/naming.h"

/* A function of a module. Equal ones are the same pointer. */
struct path_function {
	struct naming_symbol symbol; /* line: 0 unless all occurrences have the same */
	const char *program;	     /* file name of the module; "": the program itself */
	uint32_t number;	     /* from 0, in the order of occurrence */
	size_t place;		     /* index in the path that is being made */
};

struct paths {
	struct naming *naming;
	struct pool pool;
	struct hash_table functions;
	ARRAY_OF(struct path_function *) list; /* by number */
	struct naming_symbol *symbols;
	struct path_function **path;
};

/* Returns 0 or -ENOMEM. */
int paths_init(struct paths *paths, struct naming *naming);
void paths_free(struct paths *paths);

/*
 * The path of a backtrace, outermost function first, in paths->path until the next call. called:
 * the name of the one function of an empty backtrace. Returns the number of functions, at least
 * one; 0: no memory.
 */
size_t paths_make(struct paths *paths, const struct trace_node *backtrace, const char *called);

/* The function with this name and no module. NULL: no memory. */
struct path_function *paths_function(struct paths *paths, const char *name);

#endif
