/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_BEFORE_H
#define ACCOUNT_BEFORE_H

/*
 * What a process had mapped at the attach, as its ~mapped notes list it, and how many of these
 * bytes calls have unmapped or freed since.
 */

#include <stdbool.h>
#include <stdint.h>

#include "account/mapped.h"
#include "before_kinds.h"
#include "trace/event.h"

struct before_sum {
	uint64_t ranges, bytes; /* at the attach */
	uint64_t lost;		/* bytes of these that calls have unmapped or freed since */
};

struct before {
	struct before_sum sums[BEFORE_KINDS];
	uint64_t calls;	      /* that unmapped or freed a part of it */
	struct mapped mapped; /* ranges that are still mapped; item: enum before_kind */
};

/* Adds the range of a ~mapped note. Returns 0 or -ENOMEM. */
int before_add(struct before *before, const struct event *note);

/*
 * Removes a range that was unmapped (is_loss), or that a new mapping replaced (not is_loss: no call
 * unmapped the old one). Returns 0 or -ENOMEM.
 */
int before_cut(struct before *before, uint64_t start, uint64_t end, bool is_loss);

void before_add_up(struct before_sum *sum, const struct before_sum *part);

/* The mappings that the program made for itself: neither heap nor arenas nor stacks. */
struct before_sum before_mappings(const struct before_sum *sums);

/* The memory of libc's allocator, without its large blocks, which have mappings of their own. */
struct before_sum before_heap(const struct before_sum *sums);

void before_free(struct before *before);

#endif
