/* SPDX-License-Identifier: MIT */
#ifndef LIVE_LOOK_H
#define LIVE_LOOK_H

/* The state of a running process at one moment: its threads, their waits, and deadlocks. */

#include "base/error.h"
#include "base/out.h"
#include "live/await.h"
#include "live/running.h"
#include "naming/address_space.h"
#include "naming/naming.h"

/* ---- file locks ---- */

/*
 * Finds the processes that hold file locks. proc_locks(5) lists all locks. But for a lock of an
 * open file description (F_OFD_SETLKW) the list names no process, and for flock(2) only the process
 * that locked the file, which may have passed the open file on. All holders are found through the
 * descriptors (/proc/PID/fdinfo) of the processes that this user may read.
 */

#define FILE_RING_MAX 16

/*
 * Sets the owners in the waits for file locks. scans: reads the descriptors of all processes in
 * addition to proc_locks(5).
 */
void file_locks_find_owners(const struct live_process *process, struct await *awaits, bool scans);

/*
 * A deadlock cycle of processes. Each process waits for the next one, and the last process for the
 * first.
 */
struct file_ring {
	int pids[FILE_RING_MAX];
	uint64_t switches[FILE_RING_MAX]; /* context switches of each process's thread */
	size_t count;
};

/*
 * Finds the cycle that begins with a process. Returns false if the process is not in a cycle, or if
 * one of the cycle's locks may still be released: by another thread of a process, by another
 * process that has the open file, or because of a timeout, which is assumed if a process catches
 * SIGALRM. If two calls return the same cycle, none of its processes has run between the calls.
 */
bool file_ring_find(struct file_ring *ring, int pid);

/* ---- threads of Python ---- */

/*
 * Reads, from the memory of a running process with CPython 3.9 or later, which thread holds a GIL
 * (global interpreter lock), which threads wait for it, and the Python functions and lines that the
 * threads are at. The frames of a thread that runs may change while they are read; its lines are
 * then those of different moments.
 */

#define LIVE_PYTHON_FRAMES_MAX 64

/*
 * Adds the functions to the address map as modules, as a trace does. indexed by thread: awaits,
 * which get the holder of a GIL; frames, which get the lines, NULL: none; holds, whether the thread
 * holds a GIL.
 */
void live_python_read(const struct live_process *process, struct address_space *space,
		      struct await *awaits, const struct trace_node **frames, bool *holds);

/* ---- a look ---- */

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
