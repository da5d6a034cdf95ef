/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_DESCRIPTORS_H
#define TOTALS_DESCRIPTORS_H

/*
 * The descriptors of one process, by number: what each stands for, who opened it, and, of one that
 * is closed, who closed it last. What was used or closed when it was not open is told of. Memory
 * grows with the numbers that a process used, and they are used again and again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

/* Where something was done. What is pointed to lives as long as the trace. */
struct descriptor_step {
	const struct backtrace *backtrace; /* NULL: not known */
	const struct function *function;   /* NULL: the step is not known at all */
	uint64_t index, time_ns;
	uint32_t thread;
};

struct descriptor {
	uint64_t number;
	bool is_open;
	bool is_inherited; /* it was open at the start, and the step opened is not known */
	const char *kind;
	char *what;	    /* path, peer or what else is known of it, or NULL */
	const char *stream; /* "FILE" or "DIR" that stands before it, or NULL */
	uint64_t stream_object;
	struct descriptor_step opened, closed;
};

struct descriptors {
	struct map by_number; /* index + 1 */
	ARRAY_OF(struct descriptor) list;
	uint64_t open; /* now */
};

enum descriptor_misuse {
	DESCRIPTOR_GOOD,
	DESCRIPTOR_CLOSED_TWICE, /* close() of one that was closed before */
	DESCRIPTOR_USED_CLOSED,	 /* another call with one that was closed before */
	DESCRIPTOR_GONE,	 /* nobody was seen to close it, yet it is not open */
};

void descriptors_init(struct descriptors *descriptors);

/* All are forgotten: another process. */
void descriptors_clear(struct descriptors *descriptors);

/* A note: ~fd tells of one that is inherited. */
void descriptors_note(struct descriptors *descriptors, const struct event *event);

/*
 * A call. *misuse: what it did wrong, and *of: the descriptor as it was before.
 */
void descriptors_event(struct descriptors *descriptors, const struct event *event,
		       enum descriptor_misuse *misuse, struct descriptor **of);

/* The descriptor with that number, open or closed; NULL: it was never seen. */
struct descriptor *descriptors_find(const struct descriptors *descriptors, uint64_t number);

#endif
