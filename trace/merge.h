/* SPDX-License-Identifier: MIT */
#ifndef MERGE_H
#define MERGE_H

/*
 * Reads the traces of several processes as one, ordered by time. The result is read by trace_next()
 * like any other trace, with these differences:
 *
 * - event->process is the process of the event and changes from event to event. EVENT_STREAM only
 *   announces a process: indices, classes and mappings do not start anew. The section of a process
 *   is its number in the merged trace; trace_section() finds the process by this number.
 * - Objects, contexts and times belong to their process. Code that looks up an object adds the
 *   section to its key; code that compares times adds event->process->realtime_ns.
 * - Indices count the merged calls. All ids are those of the merged trace. Functions and classes of
 *   resources that several processes registered are merged into one; a class may therefore have
 *   another ordinal than in its file. trace_mapping_at() uses the process of the last event.
 *
 * A file is open only while its process lives, so thousands of processes need few descriptors and
 * little memory.
 */

#include "trace/trace.h"

/*
 * paths: files, "-", or directories; a directory means all traces in it (*.htr, *.rtrace,
 * *.rtrace.zst). A file that cannot be read is reported to options->failed and left out; if
 * options->failed is NULL, such a file makes the function fail. The function also fails if no file
 * can be read. memory_max applies to each file separately. `since` and `until` are relative to the
 * start of the first process. Returns the same as trace_open().
 */
int trace_merge_open(struct trace **trace, const char *const *paths, size_t count,
		     const struct trace_options *options, struct error *err);

/* The trace of the i-th opened file, with its own process and tally; NULL after the last file. */
const struct trace *trace_merge_part(const struct trace *trace, size_t i, const char **path);

#endif
