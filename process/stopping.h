/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_STOPPING_H
#define PROCESS_STOPPING_H

/*
 * The rule for all that stop threads of a program by ptrace: the program must not notice. A stop
 * interrupts the system call that a thread sleeps in. Most are made again by the kernel; some end
 * with EINTR; some go on by restart_syscall(2), which a seccomp filter may answer by killing the
 * program; some would sleep too long. So a thread is looked at before it is stopped, is not stopped
 * if there is an objection, and has its registers settled before it goes on.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc.h"
#include "process/registers.h"

/* What a stop does to the call, all known of its time limit considered. */
enum stopping_effect {
	STOPPING_NONE,	    /* it sleeps in no call, or in one that the kernel makes again */
	STOPPING_REWRITTEN, /* also that, and what is left of its time is in memory by then */
	STOPPING_AGAIN,	    /* can be made again as it is: it has no limit, or a time of day */
	STOPPING_REMAINING, /* can be made again with what is left of the time, in a register */
	STOPPING_KEPT,	    /* the kernel alone knows when it ends, and goes on if it is let */
	STOPPING_TIMED,	    /* its time would begin anew, or end */
	STOPPING_PARTIAL,   /* it would end with a part of what it moves */
	STOPPING_UNKNOWN,   /* a call that nothing is known of */
};

struct stopping {
	pid_t pid, tid;
	char state;	       /* of proc_pid_stat(5): R S D T ... */
	struct proc_call call; /* that the thread sleeps in; number -1: none */
	enum stopping_effect effect;
	bool is_filtered;    /* a seccomp filter may forbid restart_syscall(2) */
	bool is_young;	     /* the call has just begun, and may begin anew */
	bool is_fresh;	     /* what it was stopped in began after the look */
	uint64_t looked_ns;  /* when (CLOCK_MONOTONIC) */
	uint64_t asleep_ns;  /* for how long by then; 0: not known, or of no interest */
	uint64_t switches;   /* how often it had gone to sleep */
	uint64_t blocked;    /* signals */
	uint64_t stopped_ns; /* when it was found stopped */
};

/* Looks at a thread, by /proc and its memory. Nothing is stopped. */
void stopping_look(struct stopping *stopping, pid_t pid, pid_t tid);

/* Why the thread may not be stopped: what it is in. NULL: it may. */
const char *stopping_objection(const struct stopping *stopping);

/* Whether the stopped thread is in a system call: the one that it was looked at in, or any. */
bool stopping_is_in_call(const struct stopping *stopping, const registers_native *registers);

/* To be called when the thread has stopped, and before anything is made of that. */
void stopping_stopped(struct stopping *stopping, const registers_native *registers);

/* What was done with the thread between. */
enum stopping_use {
	STOPPING_READ,	    /* nothing */
	STOPPING_BORROWED,  /* it has made calls of ours, and the kernel still knows of its own */
	STOPPING_DISTURBED, /* the kernel does not any more */
};

/*
 * Makes the registers, as they were when the thread stopped, such that it goes on as if nothing had
 * been; to be set in a stop of PTRACE_INTERRUPT. Returns whether they were changed.
 */
bool stopping_settle(const struct stopping *stopping, registers_native *registers,
		     enum stopping_use use);

/*
 * Takes the time for which the thread stood from what is left of its limit, where the kernel has
 * written that to the program's memory. Once, with settled registers, before it goes on.
 */
void stopping_shorten(const struct stopping *stopping, const registers_native *registers);

#endif
