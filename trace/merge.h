/* SPDX-License-Identifier: MIT */
#ifndef MERGE_H
#define MERGE_H

/*
 * The traces of several processes as one, in the order of time. What comes of it is a trace like
 * any other, read by trace_next(), with these differences:
 *
 * - event->process tells whose an event is, and changes from event to event. EVENT_STREAM says
 *   that a process appears, and no more: nothing starts anew. Its section is its number in the
 *   merged trace; trace_section() finds it.
 * - Objects, contexts and times are the process's own: a view keys objects by section, too, and
 *   whoever compares times adds event->process->realtime_ns.
 * - Indices count the merged calls. Functions and classes of resource are the same for all
 *   processes (each registers its own), the ids of everything are the merged trace's own; a class
 * may have another ordinal than in its file. trace_mapping_at() is about the process of the last
 * event.
 *
 * A file is open only while its process lives, so thousands of processes need neither as many
 * descriptors nor as much memory.
 */

#include "trace/trace.h"

/*
 * paths: files, "-", or directories, which stand for all traces in them (*.htr, *.rtrace,
 * *.rtrace.zst). options->failed is told of a file that cannot be read, which is then left out;
 * without it, or when all fail, that is an error. memory_max is that of each file.
 * since and until count from the start of the first process. Returns as trace_open().
 */
int trace_merge_open(struct trace **trace, const char *const *paths, size_t count,
		     const struct trace_options *options, struct error *err);

/* The files that were opened, with what each tells of itself; NULL behind the last. */
const struct trace *trace_merge_part(const struct trace *trace, size_t i, const char **path);

#endif
