/* SPDX-License-Identifier: MIT */
#ifndef LIVE_LOOK_H
#define LIVE_LOOK_H

/* The state of a running process at one moment: its threads, what each waits for, and deadlocks. */

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
	struct address_space space;
	struct naming *naming;
	struct naming_files files;
	bool *is_in_ring;	    /* by thread */
	size_t rings;		    /* deadlock cycles: none of their threads has moved */
	struct file_ring file_ring; /* cycle of processes with one thread each; count 0: none */
};

/*
 * stops: threads may be stopped for a moment (live/running.h) and the descriptors of all processes
 * read; without it some backtraces are short and cycles across processes are not found. Returns 0
 * or a negative errno; call look_free() in any case.
 */
int look_take(struct look *look, int pid, bool stops, struct error *err);
void look_free(struct look *look);

/*
 * Whether the process is traced. A pid in a trace may be from another pid namespace and name
 * another process here.
 */
bool look_is_traced(const struct look *look);

/* Whether it waits for a lock that is held. */
bool look_is_held_up(const struct await *await);

/* Whether the holder of the lock has ended, so that the lock will never be released. */
bool look_is_orphaned(const struct await *await);

/* The number of threads whose wait matches. */
size_t look_count(const struct look *look, bool (*is_one)(const struct await *await));

/* The owner, if it is a thread of this process, or NULL. */
const struct live_thread *look_owner(const struct look *look, const struct await *await);

/* thread 7 "name" waits for mutex 0x1234, held by thread 8 "other", asleep for 3.1 s */
void look_put_thread(struct out *out, const struct look *look, size_t i);

/* The lines of its backtrace, indented by four spaces. */
void look_put_backtrace(struct out *out, const struct look *look, size_t i);

#endif
