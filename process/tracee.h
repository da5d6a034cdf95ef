/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_TRACEE_H
#define PROCESS_TRACEE_H

/*
 * A thread that is stopped by ptrace to be read, and then continues as if it had not been stopped:
 * it gets all signals, and no system call returns early (process/stopping.h). If the tracer dies,
 * the kernel lets the thread continue (ptrace(2)), so nothing must be undone.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/stopping.h"

struct tracee {
	pid_t tid;		    /* 0: the thread has ended */
	struct stopping stopping;   /* the call in which it sleeps */
	registers_native registers; /* at the moment of the stop */
	uint64_t pc, sp, tls;
	bool is_in_call; /* it is in a system call, where vector registers have no meaning */
	bool is_stopped;
	int signal; /* to be delivered to it */
};

/* Asks a thread to stop, after stopping_look(). Returns 0 or a negative errno. */
int tracee_ask(struct tracee *tracee, const struct stopping *stopping);

/*
 * Waits until the thread has stopped, and reads its registers. Returns 0, also if it has ended
 * instead; -EBUSY: it does not stop in time; -ENOSYS: unknown registers on this processor.
 */
int tracee_await(struct tracee *tracee);

/* Reads the words of its vector registers, if they have a meaning; returns how many. */
unsigned tracee_vectors(const struct tracee *tracee, uint64_t *words, unsigned max);

/* Lets the thread continue. */
void tracee_release(struct tracee *tracee);

#endif
