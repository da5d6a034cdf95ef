/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SUPPRESS_H
#define REPORT_SUPPRESS_H

/*
 * Live objects that leaks does not report: patterns in LeakSanitizer's syntax, from files and built
 * in (suppressions.def). Each counts what it leaves out, and the report says so.
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
	SUPPRESS_ANY,	      /* the function, file or module of any frame: LeakSanitizer's rule */
	SUPPRESS_INNERMOST,   /* the module of the innermost frame */
	SUPPRESS_ONLY,	      /* the modules of all frames, each one of the words of the pattern */
	SUPPRESS_INITIALIZER, /* likewise, but only for the frames that the loader called */
};

struct suppress_pattern {
	enum suppress_kind kind;
	const char *text, *about;
	uint64_t sites, count, bytes; /* what it left out; the caller counts */
};

struct suppress {
	struct pool pool;
	ARRAY_OF(struct suppress_pattern) patterns;
	/*
	 * Which patterns match a symbol, by its id: a bit for each, and one that says that they
	 * were compared.
	 */
	uint64_t *matches;
	struct naming_symbol last; /* the last symbol without an id */
	size_t symbols, words;	   /* space for that many symbols; words of each */
};

/*
 * Fills a zeroed struct with the built-in patterns, unless the options exclude them, and those of
 * files. Returns 0 or a negative errno: -ENOENT and the like, or -EBADMSG (not a suppression).
 */
int suppress_fill(struct suppress *suppress, const struct report_options *options,
		  struct error *err);

/* The first pattern that matches a backtrace, or NULL. naming may be NULL: then none does. */
struct suppress_pattern *suppress_find(struct suppress *suppress, struct naming *naming,
				       const struct trace_node *backtrace);

/* How much of the live objects of a run is left out. */
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
 * LeakSanitizer's rule: the pattern matches anywhere in the text; * matches any text, ^ and $ the
 * beginning and the end.
 */
bool suppress_matches(const char *pattern, const char *text);

#endif
