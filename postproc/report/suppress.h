/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SUPPRESS_H
#define REPORT_SUPPRESS_H

/*
 * Suppressions: patterns for live objects that the report `leaks` does not list. The patterns are
 * read from files in LeakSanitizer's syntax, or built in (suppressions.def). The report says how
 * much each pattern has suppressed.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/naming.h"

struct report_options;
struct summary;

/* The texts of a backtrace that a pattern is compared with. */
enum suppress_kind {
	/* the function, file and module of each frame; one match is enough, as in LeakSanitizer */
	SUPPRESS_ANY,
	SUPPRESS_INNERMOST, /* the module of the innermost frame */
	SUPPRESS_ONLY,	    /* the modules of all frames; each must match */
	/* the modules of the frames that the loader called; each must match */
	SUPPRESS_INITIALIZER,
};

struct suppress_pattern {
	enum suppress_kind kind;
	const char *text, *about;
	/*
	 * numbers of suppressed call sites and objects, and the objects' bytes; the caller of
	 * suppress_find() adds to them
	 */
	uint64_t sites, count, bytes;
};

struct suppress {
	struct pool pool;
	ARRAY_OF(struct suppress_pattern) patterns;
	/*
	 * Indexed by id of a symbol: a bit for each pattern, set if the pattern matches, and one
	 * bit that is set once the patterns were compared with the symbol.
	 */
	uint64_t *matches;
	struct naming_symbol last; /* the latest symbol without an id */
	/* `matches` has space for `symbols` symbols, with `words` words for each */
	size_t symbols, words;
};

/*
 * Fills a zeroed struct with the patterns of files and, unless --suppress=none is given, the
 * built-in patterns. Returns 0, -EBADMSG (a line is not a suppression), or another negative errno.
 */
int suppress_fill(struct suppress *suppress, const struct report_options *options,
		  struct error *err);

/*
 * Returns the first pattern that matches a backtrace, or NULL. If `naming` is NULL, no pattern
 * matches.
 */
struct suppress_pattern *suppress_find(struct suppress *suppress, struct naming *naming,
				       const struct trace_node *backtrace);

/* How many of the run's live objects the patterns suppress. */
struct suppress_sums {
	uint64_t sites, bytes;
	bool is_all;
};
void suppress_sum(struct suppress *suppress, struct naming *naming, const struct summary *summary,
		  struct suppress_sums *sums);

/* Returns the pattern with this index; NULL: the index is too large. */
const struct suppress_pattern *suppress_at(const struct suppress *suppress, size_t index);

void suppress_free(struct suppress *suppress);

/*
 * Matches as LeakSanitizer does: the pattern may match any part of the text. * matches any text, ^
 * the beginning and $ the end.
 */
bool suppress_matches(const char *pattern, const char *text);

#endif
