/* SPDX-License-Identifier: MIT */
#include "naming/waiters.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#define FRAMES_MAX 16u /* innermost functions, also inlined ones */

static const struct {
	enum waiter_kind kind;
	const char *pattern;
} rows[] = {
#define WAITER(kind, pattern) { WAITER_##kind, pattern },
#include "naming/waiters.def"
#undef WAITER
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

	if (naming)
		count = naming_symbols(naming, backtrace, symbols, FRAMES_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t row = symbols[i].function ? row_of(symbols[i].function) : ROWS;

		first = row < first ? row : first;
	}
	return words[first < ROWS ? rows[first].kind : WAITER_NONE];
}

bool waiters_is_lock(const char *kind)
{
	return !strcmp(kind, "mutex") || !strcmp(kind, "rwlock") || !strcmp(kind, "futex");
}
