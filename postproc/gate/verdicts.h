/* SPDX-License-Identifier: MIT */
#ifndef GATE_VERDICTS_H
#define GATE_VERDICTS_H

/*
 * The verdicts on limits, each with the call sites that break the limit, for programs that show
 * messages at a line of source: editors, forges, and readers of test results. checker.h makes the
 * verdicts; tables_print_gcc() and similar functions print them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/limits.h"
#include "base/array.h"
#include "base/out.h"
#include "base/pool.h"
#include "naming/naming.h"

struct summary_process;
struct tables_job;

enum verdict { VERDICT_BROKEN, VERDICT_UNKNOWN, VERDICT_KEPT, VERDICTS };

/* A row of a report that counts towards a limit. */
struct verdict_site {
	const struct trace_node *backtrace; /* call site; NULL: unknown */
	/* limit, class and functions, as in a baseline; the same in other builds of the program */
	const char *key;
	uint64_t number; /* the row's value in the limit's unit, without `known` */
	uint64_t known;	 /* the part of the value that the baseline covers */
	/* for memory: number of blocks and bytes of the row; 0: unknown */
	uint64_t blocks, bytes;
	int64_t fd;	   /* number of the descriptor; -1: unknown, or several descriptors */
	const char *place; /* class, shown line and functions, set by verdicts_sort() */
	bool is_changed;   /* whether the shown line is in a file of --changed */
};

enum verdict_join { JOIN_SUM, JOIN_LARGEST, JOIN_NONE };

struct limit_verdict {
	const struct limit *limit;
	enum verdict_join join; /* how to join the numbers of sites that are shown as one */
	enum verdict verdict;
	uint64_t value;	 /* the whole value in the limit's unit, without `known` */
	uint64_t error;	 /* maximum error of `value`; 0: it is exact */
	uint64_t known;	 /* the part of the value that the baseline covers */
	const char *why; /* why the verdict is unknown, or "" */
	ARRAY_OF(struct verdict_site) sites;
};

/* The verdicts, in the order of the limits in --fail-on. Initialise it with zeros. */
struct verdicts {
	struct pool pool;
	struct limit_verdict items[LIMITS_MAX];
	size_t count;
	uint64_t suppressed; /* number of call sites that suppressions removed */
};

/* Which lines of source are shown, and how their paths are written. */
struct source_style {
	/* directories of the user's source (--source-root); empty: any code except libraries */
	const char *const *roots;
	size_t root_count;
	const char *here;	    /* the current directory, to shorten paths; NULL: unknown */
	const char *const *changed; /* paths of changed files (--changed) */
	size_t changed_count;
};

/* The source line of a frame in a backtrace. */
struct source_line {
	/* the path, relative if it is below a root or the current directory */
	char path[1024];
	unsigned line;
	size_t frame; /* index of the frame's symbol */
};

#define VERDICT_FRAMES_MAX 192
#define VERDICT_TEXT_MAX   1536

/* An error to be printed: about a call site that breaks a limit, or about the limit itself. */
struct verdict_error {
	const struct tables_job *job;
	const struct limit_verdict *verdict;
	const struct verdict_site *site; /* NULL: the error is about the limit */
	size_t index, total;		 /* number of the error, from 0, and number of errors */
	/*
	 * "blocks live at exit: 4 (738 B); limit leak>0; copy_name leaky.c:16 <- main leaky.c:24"
	 */
	char text[VERDICT_TEXT_MAX];
	size_t sentence; /* length of `text` up to the functions */
	struct naming_symbol symbols[VERDICT_FRAMES_MAX];
	size_t count;
	bool has_line; /* false: no frame is in the user's source, or lines are unknown */
	struct source_line line;
};

typedef void verdict_print(void *writer, const struct verdict_error *error);

void verdicts_free(struct verdicts *verdicts);

/*
 * Whether the symbol has a line in the user's source, that is, not in a language runtime, a system
 * library, or code that starts a program. If so, fills *line, except for the member `frame`.
 */
bool source_line(const struct source_style *style, const struct naming_symbol *symbol,
		 struct source_line *line);

/*
 * In each verdict, joins sites that differ only in callers that no format shows, then sorts the
 * sites: first those in changed files, and from the largest to the smallest.
 */
void verdicts_sort(struct verdicts *verdicts, struct naming *naming,
		   const struct source_style *style);

/*
 * Calls print() for each error. Errors are: each call site that breaks a limit, up to --top of
 * them; each unknown limit; each broken limit that has no call sites, or more than --top. only: the
 * verdict whose errors are printed; NULL: all verdicts. Returns the number of errors.
 */
size_t verdicts_errors(const struct tables_job *job, const struct limit_verdict *only,
		       verdict_print *print, void *writer);

/* Writes a sentence about a site or, if `site` is NULL, about the limit. */
void verdict_say(const struct limit_verdict *verdict, const struct verdict_site *site, char *text,
		 size_t size);

/* Returns the first process of the run or, if there is none, a process whose members are 0. */
const struct summary_process *verdict_process(const struct tables_job *job);

/* Returns a number for a site. The number is the same in other builds of the program. */
uint64_t verdict_fingerprint(const struct verdict_site *site);

#endif
