/* SPDX-License-Identifier: MIT */
#ifndef PATHS_H
#define PATHS_H

/*
 * Backtraces as the functions that they lead through, whatever their addresses: two builds of a
 * program, and two calls in one function, have the same path. What starts every program is left
 * out, of what the language's runtime does within itself only the function that the program
 * called is there, and where a function is entered again, the path goes on from its first entry.
 */

#include <stddef.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"
#include "naming/naming.h"

/* A function of a module. Equal ones are the same pointer. */
struct path_function {
	struct naming_symbol symbol; /* its line is set if all that was met has the same */
	const char *program;	     /* file name of the module; "": the program itself */
	uint32_t number;	     /* from 0, as they were met */
	size_t place;		     /* in the path that is being made */
};

struct paths {
	struct naming *naming;
	struct pool pool;
	struct table functions;
	ARRAY_OF(struct path_function *) list; /* by number */
	struct naming_symbol *symbols;
	struct path_function **path;
};

/* Returns 0 or -ENOMEM. */
int paths_init(struct paths *paths, struct naming *naming);
void paths_free(struct paths *paths);

/*
 * The path of a backtrace, outermost first, in paths->path until
 * the next one is made. called: the function that stands for a backtrace of no frames. Returns how
 * many functions, at least one; 0: no memory.
 */
size_t paths_make(struct paths *paths, const struct trace_node *backtrace, const char *called);

/* The function with a name alone, in no module. NULL: no memory. */
struct path_function *paths_function(struct paths *paths, const char *name);

#endif
