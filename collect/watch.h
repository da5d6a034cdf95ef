/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_WATCH_H
#define COLLECT_WATCH_H

/*
 * Whether a traced process still runs, and how it ended: found out by its pidfd, by /proc, and by
 * whether it still has the control page mapped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/shared.h"
#include "collect/untraced.h"

enum watch_end {
	WATCH_ALIVE,
	WATCH_EXITED,	/* status: exit status */
	WATCH_KILLED,	/* status: signal */
	WATCH_EXEC,	/* another image replaced it; status: enum watch_exec */
	WATCH_LEFT,	/* it was running when the collector was asked to end */
	WATCH_DETACHED, /* it runs on without us */
	WATCH_GONE,	/* it is not known how */
};

/* What became of an image that executed another program: status of WATCH_EXEC. */
enum watch_exec {
	WATCH_EXEC_TRACED,
	WATCH_EXEC_UNTRACED,
	WATCH_EXEC_LEFT_OUT,
};

struct watch {
	int32_t pid;	    /* in its own namespace */
	int32_t our_pid;    /* in our namespace; 0: not found yet */
	int pidfd;	    /* -1: none */
	bool foreign;	    /* it lives in another pid namespace */
	uint64_t next_ns;   /* when to look for its mapping again */
	uint64_t missed_ns; /* since when it no longer maps the control page; 0: it does */
	enum watch_end end;
	int status;
	enum untraced why; /* WATCH_EXEC_UNTRACED */
};

/* A pidfd of a process of our own namespace; -1: it has ended, or the kernel has no pidfds. */
int watch_open(int32_t pid);

/* The facts about a process that begins. */
struct watch_start {
	int32_t pid;	 /* in its own namespace */
	int32_t our_pid; /* by the kernel; 0: the kernel was not asked */
	/* if our_pid is 0: signs (of its parent) that it is in another pid namespace */
	bool foreign;
	int pidfd; /* opened earlier, which the watch takes over, or -1 */
};

void watch_begin(struct watch *watch, const struct shared *shared, const struct watch_start *start);

/*
 * Whether it has ended; watch->end then says how. now_ns: CLOCK_MONOTONIC. Without closely, checks
 * only what costs one system call.
 */
bool watch_has_ended(struct watch *watch, const struct shared *shared, uint64_t now_ns,
		     bool closely);

/* It has ended, and its parent has not waited for it yet. */
bool watch_is_zombie(const struct watch *watch);

/* Whether its pidfd reports that it is dead. */
bool watch_has_died(const struct watch *watch);

/* Whether it is certainly dead; then watch->end says how. */
bool watch_is_dead(struct watch *watch);

/*
 * Whether a thread of the process waits for a processor or for a page, or was stopped. *ran_ns: for
 * how long it has run in its life. Also false if this cannot be found out.
 */
bool watch_starves(const struct watch *watch, int32_t thread, uint64_t *ran_ns);

/* Takes over how it ended, as its parent saw it. status: as of wait(2). */
void watch_learn(struct watch *watch, int status);

/*
 * Whether it lives in another network namespace and another user namespace: a program that it
 * executes there sees neither our socket's name nor our descriptors.
 */
bool watch_is_elsewhere(const struct watch *watch);

/* It has executed a program that --follow did not choose. */
void watch_left_out(struct watch *watch);

void watch_stop(struct watch *watch);

#endif
