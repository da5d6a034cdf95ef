/* SPDX-License-Identifier: MIT */
#ifndef KEEP_H
#define KEEP_H

/*
 * Calls that a view keeps after their event, in as little memory as possible: functions, classes
 * and backtraces belong to the trace and live as long as the trace does.
 */

#include <stdint.h>

#include "trace/event.h"

struct kept {
	uint64_t index, object, size, time_ns;
	const struct function *function;
	const struct resource_class *resource;
	const struct backtrace *backtrace; /* may be NULL */
	struct wire_value *arguments;	   /* one block with its texts; NULL: none */
	uint32_t context, time_ms;
	uint32_t thread;
	uint32_t section; /* of its process, see trace_section() */
	uint32_t count;	  /* for the view's use; 1 at first */
	uint16_t argument_count;
	uint8_t type; /* enum call_type */
};

/*
 * Copies the arguments of a call into one block, which the caller frees with free(). An argument
 * without a name follows the last one. NULL: no memory.
 */
struct wire_value *keep_arguments(const struct event *event);

/* Makes an event of the call again. Of the fields of the packet's tail only the thread is set. */
void keep_event(const struct kept *kept, const struct trace_process *process, struct event *event);

#endif
