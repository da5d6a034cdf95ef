/* SPDX-License-Identifier: MIT */
#include "naming/waiters.h"

#include "terms.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/* number of innermost functions, including inlined ones, that are examined */
#define FRAMES_MAX 16u

static const struct {
	enum waiter_kind kind;
	const char *pattern;
} rows[] = {
#define WAITER(kind, pattern) { WAITER_##kind, pattern },
#include "naming/waiters.def"
};

static const struct {
	enum waiter_kind kind;
	const char *file, *callee;
} unnamed[] = {
#define UNNAMED(kind, file, callee) { WAITER_##kind, file, callee },
#include "naming/waiters.def"
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static size_t row_of(const char *function)
{
	size_t row = 0;

	while (row < ROWS && fnmatch(rows[row].pattern, function, FNM_NOESCAPE))
		row++;
	return row;
}

enum waiter_kind waiters_find(const char *function)
{
	size_t row = row_of(function);

	return row < ROWS ? rows[row].kind : WAITER_NONE;
}

/*
 * Returns what kind of object a function without a name waits for. callee: name of the function
 * that it calls; "" means syscall().
 */
static enum waiter_kind kind_of_unnamed(const struct naming_symbol *symbol, const char *callee)
{
	const char *slash = symbol->module ? strrchr(symbol->module, '/') : NULL;

	for (size_t i = 0; slash && !symbol->function && i < sizeof(unnamed) / sizeof(*unnamed);
	     i++)
		if (!fnmatch(unnamed[i].file, slash + 1, FNM_NOESCAPE) &&
		    !fnmatch(unnamed[i].callee, callee, FNM_NOESCAPE))
			return unnamed[i].kind;
	return WAITER_NONE;
}

/*
 * Returns the kind of object behind a wait for a Python lock, by the innermost Python function. A
 * condition, or the join of a thread, waits for a lock, too, but counts as a condition.
 */
static enum waiter_kind kind_of_python(const struct naming_symbol *symbols, size_t count)
{
	static const char *const joins[] = { "Condition.wait", "wait", "_shutdown",
					     "Thread._wait_for_tstate_lock",
					     "_wait_for_tstate_lock" };
	const struct naming_symbol *symbol = symbols, *end = symbols + count;
	const char *slash;

	while (symbol < end && (!symbol->module || strcmp(symbol->module, PYTHON_MODULE) != 0))
		symbol++;
	if (symbol == end)
		return WAITER_NONE;
	slash = symbol->file ? strrchr(symbol->file, '/') : NULL;
	if (symbol->is_runtime && slash && !strcmp(slash, "/threading.py"))
		for (size_t i = 0; i < sizeof(joins) / sizeof(*joins); i++)
			if (!strcmp(symbol->function, joins[i]))
				return WAITER_CONDITION;
	return WAITER_MUTEX;
}

const char *waiters_kind(struct naming *naming, const struct trace_node *backtrace)
{
	static const char *const words[] = {
		[WAITER_NONE] = "futex",	  [WAITER_MUTEX] = "mutex",
		[WAITER_RWLOCK] = "rwlock",	  [WAITER_CONDITION] = "condition",
		[WAITER_SEMAPHORE] = "semaphore", [WAITER_BARRIER] = "barrier",
		[WAITER_PARK] = "park",
	};
	struct naming_symbol symbols[FRAMES_MAX];
	size_t first = ROWS, count = 0;
	enum waiter_kind found;

	if (naming)
		count = naming_symbols(naming, backtrace, symbols, FRAMES_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *callee = i ? symbols[i - 1].function : "";
		enum waiter_kind kind = kind_of_unnamed(&symbols[i], callee ? callee : "?");
		size_t row = symbols[i].function ? row_of(symbols[i].function) : ROWS;

		if (kind)
			return words[kind];
		/*
		 * a row has matched: the program's functions further out only call the function
		 * that waits
		 */
		if (first < ROWS && symbols[i].function && !symbols[i].is_runtime)
			break;
		first = row < first ? row : first;
	}
	found = first < ROWS ? rows[first].kind : WAITER_NONE;
	return words[found == WAITER_PYTHON ? kind_of_python(symbols, count) : found];
}

bool waiters_is_lock(const char *kind)
{
	return !strcmp(kind, "mutex") || !strcmp(kind, "rwlock") || !strcmp(kind, "futex");
}
