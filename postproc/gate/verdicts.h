/* SPDX-License-Identifier: MIT */
#ifndef GATE_VERDICTS_H
#define GATE_VERDICTS_H

/*
 * The verdicts on limits, each with the call sites that break it, for programs that show messages
 * at a line of source: editors, forges, and readers of test results. checker.h fills them;
 * tables_print_gcc() and its neighbours print them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/limits.h"
#include "base/array.h"
#include "base/out.h"
#include "base/pool.h"
#include "naming/naming.h"

enum verdict { VERDICT_BROKEN, VERDICT_UNKNOWN, VERDICT_KEPT, VERDICTS };

/* A row of a report that counts for a limit. */
struct verdict_site {
	const struct trace_node *backtrace; /* NULL: the row has none */
	const char *key; /* limit, class and functions, as in a baseline: equal in another build */
	uint64_t number; /* in the unit of the limit, without what the baseline covers */
	uint64_t known;	 /* what the baseline covers */
	/* of memory: both amounts that the row has; 0: unknown */
	uint64_t blocks, bytes;
	bool is_changed; /* its line is in a file of --changed */
};

struct limit_verdict {
	const struct limit *limit;
	enum verdict verdict;
	uint64_t value;	 /* in the unit of the limit, without what the baseline covers */
	uint64_t error;	 /* maximum error of `value`; 0: it is exact */
	uint64_t known;	 /* what the baseline covers */
	const char *why; /* why it is unknown, or "" */
	ARRAY_OF(struct verdict_site) sites;
};

/* In the order of --fail-on. All zero at first. */
struct verdicts {
	struct pool pool;
	struct limit_verdict items[LIMITS_MAX];
	size_t count;
};

/* How lines of source are chosen and written. */
struct source_style {
	/* directories of the user's source (--source-root); empty: any code but libraries */
	const char *const *roots;
	size_t root_count;
	const char *here;	    /* the current directory, to shorten paths; NULL: unknown */
	const char *const *changed; /* paths of changed files (--changed) */
	size_t changed_count;
};

/* A line of source, in a backtrace. */
struct source_line {
	char path[1024]; /* relative to the root or to the current directory if it is beneath it */
	unsigned line;
	size_t frame; /* index of its symbol */
};

#define VERDICT_FRAMES_MAX 192

/* What printers need for a site: all its symbols, and the line to show. */
struct verdict_place {
	struct naming_symbol symbols[VERDICT_FRAMES_MAX];
	size_t count;
	bool has_line; /* false: no frame is in the user's source, or lines are unknown */
	struct source_line line;
};

void verdicts_free(struct verdicts *verdicts);

/* Finds the innermost frame in the user's source. `site` may be NULL. */
void verdict_find(struct naming *naming, const struct source_style *style,
		  const struct verdict_site *site, struct verdict_place *place);

/*
 * Whether the symbol has a line in the user's source; if so, fills *line but for its frame.
 * Runtimes of languages, system libraries, and code that starts a program do not count.
 */
bool source_line(const struct source_style *style, const struct naming_symbol *symbol,
		 struct source_line *line);

/*
 * Sorts the sites of each verdict: first those in changed files, then the largest.
 */
void verdicts_sort(struct verdicts *verdicts, struct naming *naming,
		   const struct source_style *style);

/*
 * Writes a sentence about a verdict: "blocks live at exit: 4 (738 B); limit leak>0". site: writes
 * about this site; NULL: about the limit.
 */
void verdict_say(const struct limit_verdict *verdict, const struct verdict_site *site, char *text,
		 size_t size);

/* Appends the functions of a site: "; copy_name leaky.c:16 <- read_settings leaky.c:24". */
void verdict_say_site(struct naming *naming, const struct verdict_site *site, char *text,
		      size_t size);

/* A number that is the same for a site in another build of the program. */
uint64_t verdict_fingerprint(const struct verdict_site *site);

#endif
