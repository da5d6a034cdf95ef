/* SPDX-License-Identifier: MIT */
#ifndef WAITING_H
#define WAITING_H

/*
 * Calls that were under way when a snapshot was taken (~waiting). Where the stream says nothing
 * more of their threads, and has no end, they still are, as far as anybody knows: after its last
 * event they are handed out as what an end would have said of them (~open).
 */

#include "trace/event.h"
#include "trace/registry.h"

#define WAITING_MAX 4096u

struct waiting {
	struct waiting_call *items;
	size_t count, capacity;
	size_t told; /* were handed out */
};

void waiting_free(struct waiting *waiting);

/* A ~waiting note. Returns 0 or -ENOMEM. */
int waiting_add(struct waiting *waiting, const struct event *note);

/* An event that is none: some calls are over. */
void waiting_forget(struct waiting *waiting, const struct event *event);

/*
 * After the last event of a stream: the next call that is still under way, in *event. Returns 1, 0
 * if there is none, or -ENOMEM.
 */
int waiting_next(struct waiting *waiting, struct registry *registry, const struct event **event);

#endif
