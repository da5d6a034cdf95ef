/* SPDX-License-Identifier: MIT */
#include "naming/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

/*
 * maximum number of functions in a path, including inlined ones; functions further out are left out
 */
#define PATH_MAX_FUNCTIONS 2048u

void paths_init(struct paths *paths, struct naming *naming)
{
	*paths = (struct paths){ .naming = naming };
	hash_table_init(&paths->functions);
	paths->symbols = memory_zalloc(PATH_MAX_FUNCTIONS, sizeof(*paths->symbols));
	paths->path = memory_zalloc(PATH_MAX_FUNCTIONS, sizeof(struct path_function *));
}

void paths_free(struct paths *paths)
{
	free(paths->symbols);
	free(paths->path);
	free(paths->list.items);
	hash_table_free(&paths->functions);
	pool_free(&paths->pool);
}

/* ---- functions ---- */

/*
 * Whether two functions are equal. Compares their names and programs or, if they have no names,
 * their addresses. Addresses are equal only within the same build of a program.
 */
static bool is_function(const void *item, const void *key)
{
	const struct path_function *known = item, *wanted = key;
	const char *name = known->symbol.function;

	if (!name || !wanted->symbol.function)
		return name == wanted->symbol.function &&
		       known->symbol.address == wanted->symbol.address;
	return !strcmp(name, wanted->symbol.function) && !strcmp(known->program, wanted->program);
}

/* Returns the stored function that equals `wanted`, or stores a copy. */
static struct path_function *find_or_keep(struct paths *paths, const struct path_function *wanted)
{
	const char *name = wanted->symbol.function, *program = wanted->program;
	uint64_t seed = paths->functions.seed;
	uint64_t hash = name ? hash_two(seed, hash_bytes(seed, name, strlen(name)),
					hash_bytes(seed, program, strlen(program)))
			     : hash_two(seed, wanted->symbol.address, 0);
	struct path_function *function =
		hash_table_find(&paths->functions, hash, is_function, wanted);

	if (function) {
		if (function->symbol.line != wanted->symbol.line)
			function->symbol.line = 0;
		return function;
	}
	function = pool_alloc(&paths->pool, sizeof(*function));
	*ARRAY_ADD(&paths->list) = function;
	hash_table_add(&paths->functions, hash, function);
	*function = *wanted;
	function->number = (uint32_t)paths->list.count - 1;
	return function;
}

struct path_function *paths_function(struct paths *paths, const char *name)
{
	const struct path_function wanted = { .symbol.function = pool_copy(&paths->pool, name),
					      .program = "" };

	return find_or_keep(paths, &wanted);
}

/* ---- paths ---- */

size_t paths_make(struct paths *paths, const struct trace_node *backtrace, const char *called)
{
	size_t count = 0, first = 0, symbols = 0;

	if (backtrace && backtrace->count && paths->naming)
		symbols = naming_symbols(paths->naming, backtrace, paths->symbols,
					 PATH_MAX_FUNCTIONS);
	while (symbols && paths->symbols[symbols - 1].is_start)
		symbols--;
	/*
	 * start at the runtime function that the program called; if all frames belong to the
	 * runtime, start at the outermost frame
	 */
	while (first < symbols && paths->symbols[first].is_runtime)
		first++;
	first -= first > 0;
	for (size_t i = symbols; i > first; i--) {
		const struct naming_symbol *symbol = &paths->symbols[i - 1];
		const struct path_function wanted = {
			.symbol = *symbol,
			.program = naming_program(paths->naming, symbol->module),
		};
		struct path_function *function = find_or_keep(paths, &wanted);

		/*
		 * the function is already in the path (recursion): continue after its first
		 * occurrence
		 */
		if (function->place < count && paths->path[function->place] == function)
			count = function->place;
		function->place = count;
		paths->path[count++] = function;
	}
	if (!count)
		paths->path[count++] = paths_function(paths, called);
	return count;
}
