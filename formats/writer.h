/* SPDX-License-Identifier: MIT */
#ifndef WRITER_H
#define WRITER_H

/*
 * The interface of output formats, which formats.def lists. A writer is called in this order:
 * begin() at the start of each stream, event() for each selected event, end() once. Writers print;
 * views (leaks for the option -l, compress for -c) compute. With -l or -c, calls go to the views
 * and not to event(); end() then prints the results of the views.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/out.h"
#include "trace/trace.h"

struct tables_job;
struct leaks;
struct compress;
struct heap_range;

/*
 * The results of the views; NULL for a view that was not requested. heap is updated at each event.
 */
struct writer_views {
	const struct heap_range *heap;
	const struct leaks *leaks; /* set with the option -l; complete when end() is called */
	/* set with the option -c; if -l is also given, `compress` contains only leaks */
	const struct compress *compress;
};

struct writer_options {
	struct out *out;	   /* the output; NULL for formats that write directories */
	const char *directory;	   /* argument of -o; NULL: the option was not given */
	bool force;		   /* -f: overwrite existing files */
	bool is_merged;		   /* the events come from several processes (see trace/merge.h) */
	bool is_single_renumbered; /* -R: if only one class occurs, its number is 1 */
	bool is_reordered;	   /* all facts (mappings, classes ...) precede the calls */
	int64_t depth;		   /* argument of -b; -1: the option was not given */
	const struct writer_views *views;
	const char *words; /* words after the format's name, see format_has_word(); NULL: none */
};

enum format_kind { FORMAT_STREAM, FORMAT_DIALECT, FORMAT_SCREEN, FORMAT_TABLES, FORMAT_VIEWER };

/* The flags are explained in formats.def. */
enum format_flag {
	FORMAT_MERGED = 1 << 0,
	FORMAT_DIRECTORY = 1 << 1, /* requires -o DIR and excludes -l, -c and -r */
	FORMAT_REPEATS = 1 << 2,
	FORMAT_TREES = 1 << 3,
	FORMAT_PEOPLE = 1 << 4,
	FORMAT_PAGE = 1 << 5,
	FORMAT_BINARY = 1 << 6,
	FORMAT_ONE = 1 << 7,
	FORMAT_MODEL = 1 << 8,
	FORMAT_VERDICTS = 1 << 9,
};

struct writer {
	const char *name; /* name of the format for --format */
	const char *description, *readers, *suffix, *missing;
	enum format_kind kind;
	unsigned flags; /* bits of enum format_flag */
	/* TABLES: prints the tables of a report (postproc/print/tables.h). */
	void (*print)(const struct tables_job *job);
	/*
	 * The functions below are set for STREAM and DIALECT. An int result is 0 or a negative
	 * errno.
	 */
	/* Begins a stream. trace: for lookups such as trace_mapping_at(). */
	int (*begin)(void **state, const struct trace *trace, const struct writer_options *options,
		     struct error *err);
	/* Processes an event; with -l or -c, this event is never a call. */
	int (*event)(void *state, const struct event *event, struct error *err);
	/* Writes the rest of the output. Does not free the state. */
	int (*end)(void *state, struct error *err);
	/* Frees the state. Called if begin() returned 0, also after errors. */
	void (*destroy)(void *state);
};

/* Whether the format shows a report about a whole run, instead of the events of one stream. */
static inline bool format_is_of_report(const struct writer *format)
{
	return format->kind == FORMAT_TABLES || format->kind == FORMAT_VIEWER;
}

/* Returns the format with this name, or NULL. */
const struct writer *writer_find(const char *name);

/* Returns the index-th format for events, or NULL. The first is the default. */
const struct writer *writer_at(unsigned index);

/* Returns the index-th format for reports, or NULL. The first is the default. */
const struct writer *tables_at(unsigned index);

/* Returns the index-th row of formats.def, or NULL. */
const struct writer *format_at(unsigned index);

/* A word that may follow the name of a format: a row of formats.def. */
struct format_word {
	enum format_kind kind;
	const char *format, *word, *text;
};

/* Returns the index-th word of the format, or NULL. */
const struct format_word *format_word_at(const struct writer *format, unsigned index);

/* True if `words`, such as "cas,no-thread-names", contain `word`. `words` may be NULL. */
bool format_has_word(const char *words, const char *word);

/*
 * Returns 0, or -EINVAL if one of the words is not a word of the format. If one of the words is a
 * SIZE, sets *size to its value.
 */
int format_check_words(const struct writer *format, const char *words, uint64_t *size,
		       struct error *err);

#endif
