/* SPDX-License-Identifier: MIT */
#ifndef PATHS_H
#define PATHS_H

/*
 * A path is a backtrace as a list of functions, without addresses. So two builds of a program, and
 * two calls in one function, have the same path. A path does not contain the functions that start
 * every program. From the language's runtime, it contains only the function that the program
 * called. Recursion is removed: if a function calls itself, directly or through others, the path
 * continues after the function's first occurrence.
 */

#include <stddef.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/naming.h"

/* A function of a module. Each function is stored once, so functions can be compared by pointer. */
struct path_function {
	struct naming_symbol symbol; /* its `line` is 0 unless all occurrences have the same line */
	const char *program;	     /* file name of the module; "": the program itself */
	uint32_t number;	     /* number from 0, in the order of occurrence */
	size_t place;		     /* its index in the path that paths_make() builds */
};

struct paths {
	struct naming *naming;
	struct pool pool;
	struct hash_table functions;
	ARRAY_OF(struct path_function *) list; /* indexed by number */
	struct naming_symbol *symbols;
	struct path_function **path;
};

void paths_init(struct paths *paths, struct naming *naming);
void paths_free(struct paths *paths);

/*
 * Makes the path of a backtrace in paths->path, outermost function first; the next call overwrites
 * it. If the backtrace is empty, the path consists of one function with the name `called`. Returns
 * the number of functions, at least 1.
 */
size_t paths_make(struct paths *paths, const struct trace_node *backtrace, const char *called);

/* Returns the function with this name that belongs to no module. */
struct path_function *paths_function(struct paths *paths, const char *name);

#endif
