/* SPDX-License-Identifier: MIT */
#ifndef WRITER_H
#define WRITER_H

/*
 * What prints. A writer is a fold over the events that select has left: begin once for each
 * stream, event for each event, end once. writers.def lists them. Computing is the business of
 * views: with -l and -c the calls go to views, and the writer gets what came of them at the end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/out.h"
#include "trace/trace.h"

struct leaks;
struct compress;
struct heap_range;

/* What the views know. Members that were not asked for are NULL. heap is filled as events come. */
struct writer_views {
	const struct heap_range *heap;
	const struct leaks *leaks;	 /* -l: complete when end is called */
	const struct compress *compress; /* -c: likewise; with -l of the leaks alone */
};

struct writer_options {
	struct out *out;	   /* where a text goes; NULL for formats that are directories */
	const char *directory;	   /* -o; NULL: none */
	bool force;		   /* -f: write over existing files */
	bool is_merged;		   /* events are of several processes, see trace/merge.h */
	bool is_single_renumbered; /* -R: if one class is left, it gets the number 1 */
	int64_t depth;		   /* -b; -1: not given */
	const struct writer_views *views;
	const char *swap_dialect;   /* --swap-dialect; NULL: not given */
	const char *etrace_framing; /* --etrace-framing, likewise */
	const char *etrace_thread_names; /* --etrace-thread-names, likewise */
	const char *scaler_ids;	    /* --scaler-ids, likewise */
	const char *scaler_tree;    /* --scaler-tree, likewise */
};

struct writer {
	const char *name; /* of --format */
	const char *description;
	bool is_directory; /* writes files of its own, needs -o DIR; not for -l, -c, -r */
	/* trace: for trace_mapping_at() and the like. Returns 0 or a negative errno. */
	int (*begin)(void **state, const struct trace *trace, const struct writer_options *options,
		     struct error *err);
	/* Returns 0 or a negative errno. With -l or -c no calls come, but all other events. */
	int (*event)(void *state, const struct event *event, struct error *err);
	/* Prints the rest; frees nothing. */
	int (*end)(void *state, struct error *err);
	/* Always called once begin has returned 0, after an error, too. */
	void (*destroy)(void *state);
};

/* The writer of that name, or NULL. */
const struct writer *writer_find(const char *name);

/* True if it writes a trace anew, and so wants to hear all that the stream says. */
bool writer_is_stream(const struct writer *writer);

/* What the names of its files end in, without the dot. */
const char *writer_suffix(const struct writer *writer);

/* What it cannot say of a trace that holdtrace did not record, as a sentence; NULL: nothing. */
const char *writer_missing(const struct writer *writer);

/* True if it can tell the processes of a merged trace apart. */
bool writer_takes_merged(const struct writer *writer);

/* The index-th writer, or NULL. */
const struct writer *writer_at(unsigned index);

#endif
