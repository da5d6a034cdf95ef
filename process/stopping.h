/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_STOPPING_H
#define PROCESS_STOPPING_H

/*
 * The rule for all components that stop threads of a program by ptrace: the program must not
 * notice. A stop interrupts the system call in which a thread sleeps. The kernel repeats most
 * calls; some end with EINTR; some continue by restart_syscall(2), which a seccomp filter may
 * answer by killing the program; some would sleep too long. So a thread is examined before it is
 * stopped, is not stopped if there is an objection, and its registers are settled before it
 * continues.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc.h"
#include "process/registers.h"

/* What a stop does to the system call, with its time limit taken into account. */
enum stopping_effect {
	STOPPING_NONE,	    /* the thread is in no call, or in one that the kernel repeats */
	STOPPING_REWRITTEN, /* the kernel repeats it, after writing the remaining time to memory */
	STOPPING_AGAIN,	    /* can be repeated unchanged: it has no limit, or ends at a time of
			     * day */
	STOPPING_REMAINING, /* can be repeated with the remaining time, which is in a register */
	STOPPING_KEPT,	    /* only the kernel knows the end; it continues the sleep if it may */
	STOPPING_TIMED,	    /* its time would start anew, or end */
	STOPPING_PARTIAL,   /* it would transfer only a part */
	STOPPING_UNKNOWN,   /* a call without a known rule */
};

struct stopping {
	pid_t pid, tid;
	char state;	       /* of proc_pid_stat(5): R S D T ... */
	struct proc_call call; /* in which the thread sleeps; number -1: none */
	enum stopping_effect effect;
	bool is_filtered;    /* a seccomp filter may forbid restart_syscall(2) */
	bool is_young;	     /* the call has just started, and may start anew */
	bool is_fresh;	     /* the interrupted call started after stopping_look() */
	uint64_t looked_ns;  /* time of stopping_look() (CLOCK_MONOTONIC) */
	uint64_t asleep_ns;  /* duration of the sleep by then; 0: unknown or not needed */
	uint64_t switches;   /* voluntary context switches by then */
	uint64_t blocked;    /* blocked signals */
	uint64_t stopped_ns; /* when the thread stopped */
};

/* Examines a thread, by /proc and its memory, without stopping it. */
void stopping_look(struct stopping *stopping, pid_t pid, pid_t tid);

/* Why the thread may not be stopped, as a text that names its sleep. NULL: it may be stopped. */
const char *stopping_objection(const struct stopping *stopping);

/* Whether the stopped thread is in a system call (aarch64: in the one that was found before). */
bool stopping_is_in_call(const struct stopping *stopping, const registers_native *registers);

/* Call it as soon as the thread has stopped, before its registers are used. */
void stopping_stopped(struct stopping *stopping, const registers_native *registers);

/* What the tracer did with the thread during the stop. */
enum stopping_use {
	STOPPING_READ,	    /* only read it */
	STOPPING_BORROWED,  /* the thread made calls for us; the kernel still knows its own */
	STOPPING_DISTURBED, /* the kernel has forgotten the thread's own call */
};

/*
 * Changes the registers, as they were when the thread stopped, so that it continues as if it had
 * not been stopped. To be set in a stop of PTRACE_INTERRUPT. Returns whether they were changed.
 */
bool stopping_settle(const struct stopping *stopping, registers_native *registers,
		     enum stopping_use use);

/*
 * Subtracts the duration of the stop from the remaining time, where the kernel has written that to
 * the program's memory. Call it once, with settled registers, before the thread continues.
 */
void stopping_shorten(const struct stopping *stopping, const registers_native *registers);

#endif
