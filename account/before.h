/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_BEFORE_H
#define ACCOUNT_BEFORE_H

/*
 * The ranges that a process had mapped when the recording attached to it, as its ~mapped notes list
 * them, and how many of their bytes have been unmapped or freed since.
 */

#include <stdbool.h>
#include <stdint.h>

#include "account/mapped.h"
#include "before_kinds.h"
#include "trace/event.h"

struct before_sum {
	uint64_t ranges, bytes; /* number and total size of the ranges at the attach */
	uint64_t lost;		/* bytes of these ranges that calls have unmapped or freed since */
};

struct before {
	struct before_sum sums[BEFORE_KINDS];
	uint64_t calls;	      /* number of calls that unmapped or freed a part of these ranges */
	struct mapped mapped; /* ranges that are still mapped; item: enum before_kind */
};

/* Adds the range of a ~mapped note. */
void before_add(struct before *before, const struct event *note);

/*
 * Removes the bytes from `start` to `end`. is_loss: true if a call unmapped or freed them; false if
 * a new mapping replaced them.
 */
void before_cut(struct before *before, uint64_t start, uint64_t end, bool is_loss);

void before_add_up(struct before_sum *sum, const struct before_sum *part);

/* The mappings that the program made for itself: neither heap nor arenas nor stacks. */
struct before_sum before_mappings(const struct before_sum *sums);

/*
 * The heap and the arenas of libc's allocator. Its large blocks are separate mappings and not
 * included.
 */
struct before_sum before_heap(const struct before_sum *sums);

void before_free(struct before *before);

#endif
