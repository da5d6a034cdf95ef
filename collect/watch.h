/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_WATCH_H
#define COLLECT_WATCH_H

/*
 * Whether a traced process is still there, and how it ended: by pidfd, by what /proc says of it,
 * and by whether it still has the board mapped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/shared.h"
#include "collect/untraced.h"

enum watch_end {
	WATCH_ALIVE,
	WATCH_EXITED,	/* status: exit status */
	WATCH_KILLED,	/* status: signal */
	WATCH_EXEC,	/* another image took its place; status: 1 if it does not record */
	WATCH_LEFT,	/* it was running when the collector was asked to end */
	WATCH_DETACHED, /* it goes on without us */
	WATCH_GONE,	/* nobody knows how */
};

/* What became of an image that executed another: status of WATCH_EXEC. */
enum watch_exec {
	WATCH_EXEC_TRACED,
	WATCH_EXEC_UNTRACED,
	WATCH_EXEC_LEFT_OUT,
};

struct watch {
	int32_t pid;	    /* as it calls itself */
	int32_t our_pid;    /* as we call it; 0: not found yet */
	int pidfd;	    /* -1: none */
	bool foreign;	    /* lives in another pid namespace */
	uint64_t next_ns;   /* when to look for its mapping again */
	uint64_t missed_ns; /* since when it has the board no more; 0: it has */
	enum watch_end end;
	int status;
	enum untraced why; /* WATCH_EXEC_UNTRACED */
};

/* A pidfd of a process of our own namespace; -1 if it is gone or the kernel has none. */
int watch_open(int32_t pid);

/* What is known of a process that begins. */
struct watch_start {
	int32_t pid;	 /* as it calls itself */
	int32_t our_pid; /* as the kernel says; 0: it was not asked */
	bool foreign;	 /* then: there are signs (its parent's) of another pid namespace */
	int pidfd;	 /* one that was opened earlier, which the watch then owns, or -1 */
};

void watch_begin(struct watch *watch, const struct shared *shared, const struct watch_start *start);

/*
 * Whether it has ended; watch->end then says how. now_ns: CLOCK_MONOTONIC. Without closely, only
 * what costs one system call is asked.
 */
bool watch_has_ended(struct watch *watch, const struct shared *shared, uint64_t now_ns,
		     bool closely);

/* It has ended, and its parent has still to wait for it. */
bool watch_is_zombie(const struct watch *watch);

/* Whether its descriptor says that it is dead. */
bool watch_has_died(const struct watch *watch);

/* Whether it is dead for certain; then watch->end says how. */
bool watch_is_dead(struct watch *watch);

/*
 * Whether a thread of the process waits for a processor or for a page, or was stopped; *ran_ns: for
 * how long it has run in its life. False, too, if nobody knows.
 */
bool watch_starves(const struct watch *watch, int32_t thread, uint64_t *ran_ns);

/* Takes an end that somebody else saw. status: as wait(2) has it. */
void watch_learn(struct watch *watch, int status);

/*
 * Whether it lives in another network and under other users than we do: a program that it executes
 * there sees neither our socket's name nor our descriptors.
 */
bool watch_is_elsewhere(const struct watch *watch);

/* It has executed a program that --follow did not choose. */
void watch_left_out(struct watch *watch);

void watch_stop(struct watch *watch);

#endif
