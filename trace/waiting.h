/* SPDX-License-Identifier: MIT */
#ifndef WAITING_H
#define WAITING_H

/*
 * Calls that were blocked when a snapshot was taken (~waiting). If the stream has no later events
 * of their threads, and no end, they are assumed to be still blocked: after the last event they are
 * returned as the ~open notes that an end would contain.
 */

#include "trace/event.h"
#include "trace/registry.h"

#define WAITING_MAX 4096u

struct waiting {
	struct waiting_call *items;
	size_t count, capacity;
	size_t told; /* number returned so far */
};

void waiting_free(struct waiting *waiting);

/* Adds a ~waiting note. Returns 0 or -ENOMEM. */
int waiting_add(struct waiting *waiting, const struct event *note);

/* Drops the calls that another event shows to be over. */
void waiting_forget(struct waiting *waiting, const struct event *event);

/*
 * After the last event of a stream: sets *event to the next call that is still blocked. Returns 1,
 * 0 without an event, or -ENOMEM.
 */
int waiting_next(struct waiting *waiting, struct registry *registry, const struct event **event);

#endif
