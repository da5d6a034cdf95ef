/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_STOPPING_H
#define PROCESS_STOPPING_H

/*
 * The rule for all components that stop threads of a program by ptrace: the program must not notice
 * the stop. A stop interrupts the system call in which a thread sleeps. The kernel repeats most
 * calls. Some calls end with EINTR; some continue by restart_syscall(2), for which a seccomp filter
 * may kill the program; some would sleep too long. Therefore a tracer examines a thread before the
 * stop, and does not stop it if stopping_objection() returns a reason. It corrects the thread's
 * registers before the thread continues.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc.h"
#include "process/registers.h"

/* The effect of a stop on the thread's system call and on the call's time limit. */
enum stopping_effect {
	/* no effect: the thread is in no call, or in a call that the kernel repeats */
	STOPPING_NONE,
	/* the kernel repeats the call, after it has written the remaining time to memory */
	STOPPING_REWRITTEN,
	/* the call can be repeated unchanged: it has no limit, or an absolute limit */
	STOPPING_AGAIN,
	/* the call can be repeated with the remaining time, which is in a register */
	STOPPING_REMAINING,
	/*
	 * only the kernel knows when the sleep ends; it continues the sleep by restart_syscall(2),
	 * unless a seccomp filter forbids that
	 */
	STOPPING_KEPT,
	STOPPING_TIMED, /* the time limit would start again, or the call would end */
	/* the call would transfer only a part of the data */
	STOPPING_PARTIAL,
	STOPPING_UNKNOWN, /* there is no rule for this call */
};

struct stopping {
	pid_t pid, tid;
	char state; /* state in proc_pid_stat(5): R, S, D, T ... */
	/* the call in which the thread sleeps; number -1: no call */
	struct proc_call call;
	enum stopping_effect effect;
	bool is_filtered;   /* a seccomp filter may forbid restart_syscall(2) */
	bool is_young;	    /* the call has slept less than 2 ms; its limit may start again */
	bool is_fresh;	    /* the interrupted call began after stopping_look() */
	uint64_t looked_ns; /* time of stopping_look(), in CLOCK_MONOTONIC */
	/* for how long the thread had slept at looked_ns; 0: unknown or not needed */
	uint64_t asleep_ns;
	/* number of voluntary context switches at looked_ns */
	uint64_t switches;
	uint64_t blocked;    /* signals that the thread blocks */
	uint64_t stopped_ns; /* when the thread stopped */
};

/* Examines a thread through /proc, without stopping it. Fills *stopping. */
void stopping_look(struct stopping *stopping, pid_t pid, pid_t tid);

/*
 * Returns why the thread must not be stopped, as a text that describes its sleep, or NULL if it may
 * be stopped.
 */
const char *stopping_objection(const struct stopping *stopping);

/*
 * Whether the stopped thread is in a system call (aarch64: whether it is in the call that
 * stopping_look() found).
 */
bool stopping_is_in_call(const struct stopping *stopping, const registers_native *registers);

/*
 * Finds out whether the thread was stopped in the call that stopping_look() found, and when. Must
 * be called as soon as the thread has stopped, before its registers are used.
 */
void stopping_stopped(struct stopping *stopping, const registers_native *registers);

/* How the tracer used the thread during the stop. */
enum stopping_use {
	STOPPING_READ, /* the tracer only read the thread */
	/* the thread made calls for the tracer; the kernel still knows the thread's own call */
	STOPPING_BORROWED,
	STOPPING_DISTURBED, /* the kernel no longer knows the thread's own call */
};

/*
 * Changes the registers that the thread had when it stopped, so that the thread continues as if it
 * had not been stopped. Returns whether it changed them; the caller must then set the thread's
 * registers while PTRACE_INTERRUPT stops the thread.
 */
bool stopping_settle(const struct stopping *stopping, registers_native *registers,
		     enum stopping_use use);

/*
 * If the kernel has written the remaining time to memory of the program, subtracts the duration of
 * the stop from this time. Must be called once, with the corrected registers, before the thread
 * continues.
 */
void stopping_shorten(const struct stopping *stopping, const registers_native *registers);

#endif
