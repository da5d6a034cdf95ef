/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SUPPRESS_H
#define REPORT_SUPPRESS_H

/*
 * What is held and need not be told of: patterns in LeakSanitizer's syntax, from files and built
 * in (suppressions.def). Each counts what it leaves out, so that nothing vanishes unseen.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/naming.h"

struct report_options;
struct summary;

/* Which frames of a backtrace must match. */
enum suppress_kind {
	SUPPRESS_ANY,	      /* the function, file or module of one: LeakSanitizer's rule */
	SUPPRESS_INNERMOST,   /* the module of the innermost */
	SUPPRESS_ONLY,	      /* the modules of all, each one of the words of the pattern */
	SUPPRESS_INITIALIZER, /* likewise, but only as far as the loader, which called the others */
};

struct suppress_pattern {
	enum suppress_kind kind;
	const char *text, *about;
	uint64_t sites, count, bytes; /* that it left out; its user counts */
};

struct suppress {
	struct pool pool;
	ARRAY_OF(struct suppress_pattern) patterns;
	/* Which patterns say something of a symbol, by its id: a bit for each, and one: it is
	 * known. */
	uint64_t *verdicts;
	struct naming_symbol told; /* without id, the one that was judged last */
	size_t symbols, words;	   /* that there is room for; of each */
};

/*
 * Fills a zeroed one with what options want: what is built in, unless they want nothing, and files.
 * Returns 0 or a negative errno: -ENOENT and the like or -EBADMSG (no suppression).
 */
int suppress_fill(struct suppress *suppress, const struct report_options *options,
		  struct error *err);

/* The first pattern that matches a backtrace, or NULL. naming may be NULL: then none does. */
struct suppress_pattern *suppress_find(struct suppress *suppress, struct naming *naming,
				       const struct trace_node *backtrace);

/* How much of what a run holds patterns leave out. */
struct suppress_sums {
	uint64_t sites, bytes;
	bool is_all;
};
void suppress_sum(struct suppress *suppress, struct naming *naming, const struct summary *summary,
		  struct suppress_sums *sums);

/* The index-th pattern, or NULL. */
const struct suppress_pattern *suppress_at(const struct suppress *suppress, size_t index);

void suppress_free(struct suppress *suppress);

/*
 * LeakSanitizer's rule: the pattern is found somewhere in the text; * stands for anything, ^ and $
 * for begin and end.
 */
bool suppress_matches(const char *pattern, const char *text);

#endif
