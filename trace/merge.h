/* SPDX-License-Identifier: MIT */
#ifndef MERGE_H
#define MERGE_H

/*
 * Reads the traces of several processes as one, ordered by time. The result is read by trace_next()
 * like any other trace, with these differences:
 *
 * - event->process is the process of the event and changes from event to event. EVENT_STREAM only
 *   says that a process appears: nothing starts anew. Its section is its number in the merged
 *   trace; trace_section() finds it.
 * - Objects, contexts and times belong to their process: a view adds the section to the key of an
 *   object, and comparisons of times add event->process->realtime_ns.
 * - Indices count the merged calls. Functions and classes of resources are shared by all processes
 *   (each registers its own), and all ids are those of the merged trace; a class may have another
 *   ordinal than in its file. trace_mapping_at() uses the process of the last event.
 *
 * A file is open only while its process lives, so thousands of processes need few descriptors and
 * little memory.
 */

#include "trace/trace.h"

/*
 * paths: files, "-", or directories, which mean all traces in them (*.htr, *.rtrace,
 * *.rtrace.zst). A file that cannot be read is reported to options->failed and left out; without
 * that function, or if all files fail, it is an error. memory_max applies to each file. since and
 * until count from the start of the first process. Returns as trace_open().
 */
int trace_merge_open(struct trace **trace, const char *const *paths, size_t count,
		     const struct trace_options *options, struct error *err);

/* The i-th opened file, with its own facts; NULL after the last. */
const struct trace *trace_merge_part(const struct trace *trace, size_t i, const char **path);

#endif
