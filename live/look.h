/* SPDX-License-Identifier: MIT */
#ifndef LIVE_LOOK_H
#define LIVE_LOOK_H

/* The state of a running process at one moment: its threads, their waits, and deadlocks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/out.h"
#include "naming/address_space.h"
#include "naming/naming.h"
#include "process/frames.h"
#include "process/proc.h"
#include "process/subject.h"

/* ---- the process ---- */

/*
 * Reads the state of a running process from /proc and through ptrace, without loading anything into
 * the process. A thread is stopped only if its stack cannot be walked from the program counter and
 * the stack pointer that /proc shows, and only if it is safe to stop (process/stopping.h). Threads
 * are stopped one at a time, each only while its registers are read. The process controls its
 * names, memory and stacks, so this code does not trust them.
 */

#define LIVE_THREADS_MAX 4096
#define LIVE_FRAMES_MAX	 64
#define LIVE_NAME_MAX	 64

struct live_thread {
	int tid;     /* thread id in our pid namespace */
	int own_tid; /* thread id in the pid namespace of the process */
	char name[LIVE_NAME_MAX];
	char state;	       /* state in proc_pid_stat(5): R S D T Z ... */
	struct proc_call call; /* the system call in which the thread sleeps */
	uint64_t asleep_ns;    /* time since the thread last ran; 0: unknown */
	uint64_t switches;     /* number of context switches */

	struct frames_thread start; /* registers and stack where the backtrace starts */

	uint64_t frames[LIVE_FRAMES_MAX]; /* program counters, innermost first */
	unsigned frame_count;
	bool is_whole; /* the walk reached the outermost frame */
	/* why the thread was not stopped to read its registers; NULL: no objection */
	const char *objection;
};

struct live_process {
	struct subject subject;
	char name[LIVE_NAME_MAX];
	char *program; /* path of the executable inside the root directory of the process; NULL:
			  unknown */
	char *root; /* path to the root directory of the process, "/proc/PID/root"; NULL: same root
		       directory as ours */
	bool has_our_numbers;	 /* the process is in our pid namespace */
	uint64_t python_runtime; /* address of _PyRuntime of CPython; 0: none */
	int python_minor;	 /* version of that CPython: 3.minor */
	bool is_glibc;		 /* the process uses glibc, so its locks have glibc's layout */
	struct live_thread *threads;
	size_t thread_count;
	size_t left_out; /* number of threads beyond LIVE_THREADS_MAX, which are left out */
};

/* Reads the state of a process. Returns 0, -ESRCH, or -EACCES with advice in err. */
int live_look(struct live_process *process, int pid, struct error *err);
void live_free(struct live_process *process);

/*
 * Copies the stacks of sleeping threads whose backtraces are incomplete. stops: also stop each of
 * these threads to read its registers, and skip threads that must not be stopped. Returns the
 * number of copied stacks.
 */
size_t live_read_stacks(struct live_process *process, bool stops);

/*
 * Walks the copied stacks with the unwinding rules of the mapped files, and sets the threads'
 * frames. The files may be hostile, so a sandboxed child process reads them. If the child fails for
 * a thread, only the thread's innermost frame is known. Returns 0 or a negative errno.
 */
int live_unwind(struct live_process *process, struct error *err);

/* Reads a thread's state and number of context switches. */
void live_read_status(int pid, struct live_thread *thread);

/*
 * Whether a thread still sleeps in the same system call and has not run since live_read_status()
 * read its context switches.
 */
bool live_is_unmoved(int pid, const struct live_thread *thread);

/* ---- waits ---- */

/*
 * Finds what a sleeping thread waits for, and which thread or process can wake it. Looks at the
 * system call, at the function that made the call, and at the memory of the lock, in the layout of
 * glibc and the kernel.
 */

enum await_kind {
#define AWAIT(kind, ...) AWAIT_##kind,
#include "live/await.def"
#undef AWAIT
};

#define AWAIT_MAY_HOLD_MAX 4u

struct await {
	enum await_kind kind;
	const char *futex; /* AWAIT_FUTEX: what the futex is used for (naming/waiters.h) */
	bool has_limit;	   /* AWAIT_FUTEX: the wait has a time limit */
	uint64_t address; /* address of the lock, or of the futex if the lock is unknown; 0: none */
	int owner;	  /* thread id in the process's pid namespace; 0: no owner or unknown */
	bool has_ended;	  /* the owner thread has ended */
	bool is_elsewhere; /* the owner is in another process that is in another pid namespace */
	/*
	 * the owner's process, if it is not this process; for a file lock, the process that holds
	 * it; 0: none or unknown
	 */
	int owner_pid;
	char owner_name[LIVE_NAME_MAX]; /* name of the process that holds a file's lock */
	uint32_t readers;		/* number of threads that hold a read-write lock */
	/*
	 * thread ids of threads that may hold the lock (live/look.c). may_hold_count also counts
	 * threads that do not fit into the array.
	 */
	int may_hold[AWAIT_MAY_HOLD_MAX];
	size_t may_hold_count;
	int fd; /* descriptor; -1: none */
	/* path of the file that fd refers to; AWAIT_OPEN: the path that the program passed */
	char path[256];
};

/*
 * Describes the wait of a thread. names: names of the functions on its stack, innermost first; NULL
 * for an unknown name. Does not find the owner of a file's lock (see live/file_locks.c).
 */
void await_find(struct await *await, const struct live_process *process,
		const struct live_thread *thread, const char *const *names, size_t count);

/* A kind of wait as a word, "mutex", "child" ...; and as text, "waits for mutex", "sleeps" ... */
const char *await_word(enum await_kind kind);
const char *await_text(enum await_kind kind);

/*
 * Finds the deadlock cycle that begins with threads[start]. Each thread of the cycle waits for a
 * lock of the next thread, and the last thread for a lock of the first. Writes the threads' indexes
 * to `ring`. Returns the length of the cycle, or 0 if the thread is not in a cycle.
 */
size_t await_ring(const struct live_process *process, const struct await *awaits, size_t start,
		  size_t *ring, size_t max);

/* ---- file locks ---- */

/*
 * Finds the processes that hold file locks. proc_locks(5) lists all locks, but names no process for
 * a lock of an open file description (F_OFD_SETLKW). For flock(2) it names only the process that
 * locked the file, which may have passed the open file on to other processes. To find all holders,
 * this code reads the descriptors (/proc/PID/fdinfo) of all processes that this user may read.
 */

#define FILE_RING_MAX 16

/*
 * Sets the owner in each wait for a file lock. scans: read the descriptors of all processes in
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
 * Finds the deadlock cycle that process `pid` is in. Returns false if there is none, or if
 * something outside the cycle may still release a lock: another thread of a process, another
 * process that shares the open file, or a timeout, which is assumed if a process catches SIGALRM.
 * If two calls return the same cycle, none of its processes has run between the calls.
 */
bool file_ring_find(struct file_ring *ring, int pid);

/* ---- threads of Python ---- */

/*
 * Reads the memory of a running process with CPython 3.9 or later. Finds which thread holds a GIL
 * (global interpreter lock), which threads wait for a GIL, and which Python functions and lines the
 * threads execute. The frames of a running thread may change while they are read; the lines of that
 * thread are then from different moments.
 */

#define LIVE_PYTHON_FRAMES_MAX 64

/*
 * Adds the Python functions to the address map as modules, as a trace does. The arrays are indexed
 * by thread: `awaits` gets the holder of the GIL that the thread waits for, `frames` the Python
 * lines (NULL: none), and `holds` whether the thread holds a GIL.
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
	 * threads that wait for each other if the owners that live/look.c infers are right.
	 * is_inferred: indexed by thread; inferred: number of these threads. A thread in is_in_ring
	 * is never in is_inferred.
	 */
	bool *is_inferred;
	size_t inferred;
	struct file_ring file_ring; /* deadlock cycle of single-threaded processes; count 0: none */
};

/*
 * Examines a process. stops: stop threads for a moment if necessary (live_read_stacks()), and read
 * the descriptors of all processes. Without `stops`, some backtraces are incomplete, and cycles of
 * several processes are not found. Returns 0 or a negative errno; call look_free() in any case.
 */
int look_take(struct look *look, int pid, bool stops, struct error *err);
void look_free(struct look *look);

/*
 * Whether the process is traced: it maps the control page (the settings of a run). A pid from a
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
