/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_BEFORE_H
#define ACCOUNT_BEFORE_H

/*
 * What a process had mapped when it was attached to, as ~mapped notes say it, and how much of that
 * calls have given back since.
 */

#include <stdbool.h>
#include <stdint.h>

#include "account/mapped.h"
#include "before_kinds.h"
#include "trace/event.h"

struct before_sum {
	uint64_t ranges, bytes; /* then */
	uint64_t lost;		/* of these bytes: given back since */
};

struct before {
	struct before_sum sums[BEFORE_KINDS];
	uint64_t calls;	      /* that gave some of it back */
	struct mapped mapped; /* what is left of it */
};

/* A ~mapped note. Returns 0 or -ENOMEM. */
int before_add(struct before *before, const struct event *note);

/* It is mapped no more, or by somebody else (is_loss false: no call gave it back). Returns 0 or
 * -ENOMEM. */
int before_cut(struct before *before, uint64_t start, uint64_t end, bool is_loss);

void before_add_up(struct before_sum *sum, const struct before_sum *part);

/* What a program maps for itself: neither heap nor arenas nor stacks. */
struct before_sum before_mappings(const struct before_sum *sums);

/* What libc's allocator has mapped; large blocks have mappings of their own. */
struct before_sum before_heap(const struct before_sum *sums);

void before_free(struct before *before);

#endif
