/* SPDX-License-Identifier: MIT */
#ifndef KEEP_H
#define KEEP_H

/*
 * Compact copies of calls, for views that need the calls later. A copy points to functions, classes
 * and backtraces, which live as long as the trace.
 */

#include <stdint.h>

#include "trace/event.h"

struct kept {
	uint64_t index, object, size, time_ns;
	const struct function *function;
	const struct resource_class *resource;
	const struct backtrace *backtrace; /* NULL: the call has none */
	struct wire_value *arguments;	   /* one block with their texts; NULL: none */
	uint32_t context, time_ms;
	uint32_t thread;
	uint32_t section; /* section of its process, see trace_section() */
	uint32_t count;	  /* a number for use by the view; initially 1 */
	uint16_t argument_count;
	uint8_t type; /* enum call_type */
};

/*
 * Copies the arguments of a call into one block, which the caller frees with free(). The list ends
 * with an argument whose name is NULL.
 */
struct wire_value *keep_arguments(const struct event *event);

/*
 * Makes an event from the copy of a call. Of the members that come from the packet's tail, only the
 * thread is set.
 */
void keep_event(const struct kept *kept, const struct trace_process *process, struct event *event);

#endif
