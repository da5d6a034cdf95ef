/* SPDX-License-Identifier: MIT */
#ifndef KEEP_H
#define KEEP_H

/*
 * Calls that a view keeps beyond their event, as small as can be: functions, classes and
 * backtraces are the trace's and live as long as it does.
 */

#include <stdint.h>

#include "trace/event.h"

struct kept {
	uint64_t index, object, size, time_ns;
	const struct function *function;
	const struct resource_class *resource;
	const struct backtrace *backtrace; /* may be NULL */
	struct wire_value *arguments;	   /* one block with the texts behind; NULL: none */
	uint32_t context, time_ms;
	uint32_t thread;
	uint32_t section; /* of its process, see trace_section() */
	uint32_t count;	  /* for the view's use; 1 at first */
	uint16_t argument_count;
	uint8_t type; /* enum call_type */
};

/*
 * The arguments of a call in one block, for free(); behind the last one stands one without a name.
 * NULL: no memory.
 */
struct wire_value *keep_arguments(const struct event *event);

/* The call as an event again (without its tail, but for the thread). */
void keep_event(const struct kept *kept, const struct trace_process *process, struct event *event);

#endif
