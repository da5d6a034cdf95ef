/* SPDX-License-Identifier: MIT */
#ifndef WAITING_H
#define WAITING_H

/*
 * Calls that were blocked when a snapshot was taken (~waiting notes). If the stream has no end and
 * no later event shows that such a call or its thread has ended, the call is assumed to be still
 * blocked. After the last event of the stream, it is returned as the ~open note that the end would
 * have contained.
 */

#include "trace/event.h"
#include "trace/registry.h"

#define WAITING_MAX 4096u

struct waiting {
	struct waiting_call *items;
	size_t count, capacity;
	size_t told; /* number of calls returned so far */
};

void waiting_free(struct waiting *waiting);

/* Adds a ~waiting note. Returns 0 or -ENOMEM. */
int waiting_add(struct waiting *waiting, const struct event *note);

/* Drops the calls that have ended according to `event`. */
void waiting_forget(struct waiting *waiting, const struct event *event);

/*
 * After the last event of a stream, sets *event to the ~open note of the next call that is still
 * blocked. Returns 1, 0 if there is none, or -ENOMEM.
 */
int waiting_next(struct waiting *waiting, struct registry *registry, const struct event **event);

#endif
