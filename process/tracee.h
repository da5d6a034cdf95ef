/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_TRACEE_H
#define PROCESS_TRACEE_H

/*
 * Stops a thread by ptrace, reads it, and lets it continue as if it had not been stopped: the
 * thread gets all signals, and its system calls do not return early (process/stopping.h). If the
 * tracer dies, the kernel lets the thread continue (ptrace(2)), and nothing has to be undone.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/stopping.h"

struct tracee {
	pid_t tid;		    /* 0: the thread has ended */
	struct stopping stopping;   /* the call in which the thread sleeps */
	registers_native registers; /* the registers at the moment of the stop */
	uint64_t pc, sp, tls;
	/* the thread is in a system call, so its vector registers have no meaning */
	bool is_in_call;
	bool is_stopped;
	int signal; /* the signal that the thread gets when it continues; 0: none */
};

/* Tells a thread to stop. stopping: filled by stopping_look(). Returns 0 or a negative errno. */
int tracee_ask(struct tracee *tracee, const struct stopping *stopping);

/*
 * Waits until the thread has stopped, and reads its registers. Returns 0, also if the thread has
 * ended (then tid is 0); -EBUSY if it does not stop in time; -ENOSYS if the registers of this
 * processor are unknown; or another negative errno.
 */
int tracee_await(struct tracee *tracee);

/*
 * Reads the vector registers as 64-bit words. Returns the number of words; 0 if the registers have
 * no meaning.
 */
unsigned tracee_vectors(const struct tracee *tracee, uint64_t *words, unsigned max);

/* Lets the thread continue. */
void tracee_release(struct tracee *tracee);

/*
 * Calls `work`, which stops and releases threads, in a new thread, and waits for its end. Programs
 * that continue to run need this: a tracer cannot release a thread that did not stop in time
 * (-EBUSY), but the kernel releases it when the tracer (here the new thread) ends. Returns 0, or a
 * negative errno if no thread can be created.
 */
int tracee_apart(void *(*work)(void *), void *argument);

#endif
