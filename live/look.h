/* SPDX-License-Identifier: MIT */
#ifndef LIVE_LOOK_H
#define LIVE_LOOK_H

/* A look at a running process: its threads, what each waits for, who waits for whom in a ring. */

#include "base/error.h"
#include "base/out.h"
#include "live/await.h"
#include "live/file_locks.h"
#include "live/running.h"
#include "naming/naming.h"

struct look {
	struct live_process process;
	struct await *awaits;		      /* by thread */
	const struct trace_node **backtraces; /* by thread */
	struct atlas atlas;
	struct naming *naming;
	struct naming_files files;
	bool *is_in_ring;	    /* by thread */
	size_t rings;		    /* in which nobody moves */
	struct file_ring file_ring; /* of processes, that of its only thread; count 0: none */
};

/*
 * stops: threads may be stopped for a moment, as process.h says, and the descriptors of all
 * processes be read; else some backtraces are short, and rings across processes are not found.
 * Returns 0 or a negative errno; look_free() in any case.
 */
int look_take(struct look *look, int pid, bool stops, struct error *err);
void look_free(struct look *look);

/* Whether it is traced: a number in a trace may be another process's, in another pid namespace. */
bool look_is_traced(const struct look *look);

/* It waits for a lock that somebody has: what a person looks for first. */
bool look_is_held_up(const struct await *await);

/* Whoever has what it waits for has ended: nobody will give it back. */
bool look_is_orphaned(const struct await *await);

/* How many threads wait so. */
size_t look_count(const struct look *look, bool (*is_one)(const struct await *await));

/* The thread of this process that has it, or NULL. */
const struct live_thread *look_owner(const struct look *look, const struct await *await);

/* thread 7 "name" waits for mutex 0x1234, held by thread 8 "other", asleep for 3.1 s */
void look_put_thread(struct out *out, const struct look *look, size_t i);

/* The lines of its backtrace, indented by four blanks. */
void look_put_backtrace(struct out *out, const struct look *look, size_t i);

#endif
