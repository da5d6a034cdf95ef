/* SPDX-License-Identifier: MIT */
#ifndef LIVE_LOOK_H
#define LIVE_LOOK_H

/* The state of a running process at one moment: its threads, their waits, and deadlocks. */

#include "base/error.h"
#include "base/out.h"
#include "live/await.h"
#include "live/file_locks.h"
#include "live/running.h"
#include "naming/naming.h"

struct look {
	struct live_process process;
	struct await *awaits;		      /* indexed by thread */
	const struct trace_node **backtraces; /* indexed by thread */
	const struct trace_node **python;     /* lines of Python, indexed by thread; NULL: none */
	bool *holds_gil;		      /* indexed by thread */
	struct address_space space;
	struct naming *naming;
	struct naming_files files;
	bool *is_in_ring; /* indexed by thread; true if the thread is in a deadlock cycle */
	size_t rings;	  /* number of deadlock cycles */
	/*
	 * threads that seem to wait for each other, if some inferred owners are right
	 * (live/look.c). is_inferred: indexed by thread; inferred: number of such threads. None of
	 * these threads is in a cycle of is_in_ring.
	 */
	bool *is_inferred;
	size_t inferred;
	struct file_ring file_ring; /* deadlock cycle of single-threaded processes; count 0: none */
};

/*
 * Examines a process. stops: threads may be stopped for a moment (live/running.h), and the
 * descriptors of all processes are read; otherwise some backtraces are incomplete and cycles across
 * processes are not found. Returns 0 or a negative errno; call look_free() in any case.
 */
int look_take(struct look *look, int pid, bool stops, struct error *err);
void look_free(struct look *look);

/*
 * Whether the process has the control page of a run mapped, so that it is traced. A pid from a
 * trace may come from another pid namespace and so belong to an untraced process here.
 */
bool look_is_traced(const struct look *look);

/* Whether the thread waits for a lock that is held. The holder may be unknown. */
bool look_is_held_up(const struct await *await);

/* Whether the holder of the lock has ended, so that the lock will never be released. */
bool look_is_orphaned(const struct await *await);

/* Returns the number of threads whose wait satisfies is_one(). */
size_t look_count(const struct look *look, bool (*is_one)(const struct await *await));

/* Returns the owner of the lock if it is a thread of this process, else NULL. */
const struct live_thread *look_owner(const struct look *look, const struct await *await);

/*
 * Writes, for example: thread 7 "name" waits for mutex 0x1234, held by thread 8 "other", asleep for
 * 3.1 s
 */
void look_put_thread(struct out *out, const struct look *look, size_t i);

/* Writes the lines of Python and the backtrace of thread i, each indented by four spaces. */
void look_put_backtrace(struct out *out, const struct look *look, size_t i);

#endif
