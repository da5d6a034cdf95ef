/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_MISUSES_H
#define TOTALS_MISUSES_H

/*
 * Misuses of descriptors in all processes of a run. Equal misuses with equal backtraces are one
 * entry with a count, so memory grows with the number of distinct backtraces.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/address_space.h"
#include "descriptors.h"

enum { MISUSE_OPENED, MISUSE_CLOSED, MISUSE_AGAIN, MISUSE_STEPS };

struct misuse_step {
	const char *what;
	const struct trace_node *backtrace; /* NULL: not known */
	uint64_t time_ns;
	uint32_t thread;
};

struct misuse {
	enum descriptor_misuse kind;
	uint64_t count;
	/* the first time */
	uint64_t number;
	uint32_t pid;
	const char *what; /* description of the descriptor, or NULL */
	struct misuse_step steps[MISUSE_STEPS];
};

struct misuses {
	struct address_space *space;
	struct pool pool;
	struct hash_table by_place;
	ARRAY_OF(struct misuse *) list;
};

void misuses_init(struct misuses *misuses, struct address_space *space);
void misuses_free(struct misuses *misuses);

/* The event misused that descriptor. */
void misuses_add(struct misuses *misuses, const struct event *event, enum descriptor_misuse kind,
		 const struct descriptor *descriptor);

/* The most frequent first. */
void misuses_sort(struct misuses *misuses);

#endif
