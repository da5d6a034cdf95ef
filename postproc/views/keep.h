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
	uint64_t index, object, size;
	const struct function *function;
	const struct resource_class *resource;
	const struct backtrace *backtrace; /* may be NULL */
	struct wire_value *arguments;	   /* one block with the texts behind; NULL: none */
	uint32_t argument_count;
	uint32_t context, time_ms;
	uint32_t thread;
	enum call_type type;
};

/* Copies what is kept of a call; its arguments only if with_arguments. Returns 0 or -ENOMEM. */
int keep_call(struct kept *kept, const struct event *event, bool with_arguments);

/* Gives the arguments back. */
void keep_release(struct kept *kept);

/* The call as an event again (without its tail, but for the thread). */
void keep_event(const struct kept *kept, const struct trace_process *process, struct event *event);

#endif
