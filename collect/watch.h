/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_WATCH_H
#define COLLECT_WATCH_H

/*
 * Finds out whether a traced process still runs, and how it ended. Uses its pidfd, /proc, and the
 * fact that a traced process has the control page mapped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/shared.h"

/* The reasons why a process was not traced after an exec, although it is alive. */

enum untraced {
#define UNTRACED(name, word, sentence) UNTRACED_##name,
#include "base/untraced.def"
#undef UNTRACED
};

extern const char *const untraced_words[];

enum watch_end {
	WATCH_ALIVE,
	WATCH_EXITED, /* status: the process's exit status */
	WATCH_KILLED, /* status: the signal that killed the process */
	/* the process executed a new image; status: enum watch_exec */
	WATCH_EXEC,
	/* the process was still running when the collector was asked to end */
	WATCH_LEFT,
	WATCH_DETACHED, /* the process continues without being recorded */
	/* the process has ended; it is unknown how */
	WATCH_GONE,
};

/* Whether the next image of a process is traced: the status of WATCH_EXEC. */
enum watch_exec {
	WATCH_EXEC_TRACED,
	WATCH_EXEC_UNTRACED,
	WATCH_EXEC_LEFT_OUT,
};

struct watch {
	int32_t pid; /* the pid in the namespace of the process */
	/* the pid in the collector's namespace; 0: not found yet */
	int32_t our_pid;
	int pidfd;    /* pidfd of the process; -1: none */
	bool foreign; /* the process is in another pid namespace */
	/* when to check next whether the process maps the control page */
	uint64_t next_ns;
	long search_at; /* where in /proc the search for the process continues */
	/* when the process was first found not to map the control page; 0: it maps the page */
	uint64_t missed_ns;
	enum watch_end end;
	int status;
	/* why the next image is not traced, for WATCH_EXEC_UNTRACED */
	enum untraced why;
};

/* Opens a pidfd by a pid in the collector's namespace. Returns -1 if there is no such process. */
int watch_open(int32_t pid);

/* The caller's information about a process when the watch begins. */
struct watch_start {
	int32_t pid; /* the pid in the namespace of the process */
	/* the pid in the collector's namespace, from the kernel; 0: the kernel was not asked */
	int32_t our_pid;
	/* if our_pid is 0: the parent, and probably the process, is in another pid namespace */
	bool foreign;
	/* an open pidfd, of which the watch takes ownership; -1: the watch opens a pidfd itself */
	int pidfd;
};

/*
 * Begins to watch a process. may_search: whether the function may search all processes for a pid
 * that only the process itself has reported, which takes long. If the function does not find the
 * process, our_pid is 0, and the process may be found later.
 */
void watch_begin(struct watch *watch, const struct shared *shared, const struct watch_start *start,
		 bool may_search);

/*
 * Whether the process has ended, or has executed another program. If so, sets watch->end. now_ns:
 * CLOCK_MONOTONIC. closely: whether to check the mappings of the process, too, which takes several
 * system calls.
 */
bool watch_has_ended(struct watch *watch, const struct shared *shared, uint64_t now_ns,
		     bool closely);

/* Whether the process has ended, and its parent has not waited for it yet. */
bool watch_is_zombie(const struct watch *watch);

/* Whether the pidfd reports that the process is dead. False without a pidfd. */
bool watch_has_died(const struct watch *watch);

/* Whether the process is known to be dead. If so, sets watch->end. */
bool watch_is_dead(struct watch *watch);

/*
 * Whether the thread runs, waits for a processor or a page, or is stopped; false if its state
 * cannot be read. *ran_ns: the time for which the thread has run since its start.
 */
bool watch_starves(const struct watch *watch, int32_t thread, uint64_t *ran_ns);

/* Sets how the process ended, as reported by its parent. status: the status from wait(2). */
void watch_learn(struct watch *watch, int status);

/*
 * Whether the process is in another network namespace and in another user namespace. A program that
 * it executes there finds neither the collector's socket nor its descriptors.
 */
bool watch_is_elsewhere(const struct watch *watch);

/* Records that the process has executed a program that --follow excludes. */
void watch_left_out(struct watch *watch);

void watch_stop(struct watch *watch);

#endif
