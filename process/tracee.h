/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_TRACEE_H
#define PROCESS_TRACEE_H

/*
 * A thread that ptrace stops to be read, and that goes on as if nothing had been: no signal is
 * lost, no call of the kernel returns early (process/stopping.h). When this process dies the kernel
 * lets the thread go (ptrace(2)), so nothing here needs undoing.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/stopping.h"

struct tracee {
	pid_t tid;		    /* 0: it has ended */
	struct stopping stopping;   /* what it sleeps in */
	registers_native registers; /* as they were when it stopped */
	uint64_t pc, sp, tls;
	bool is_in_call; /* it was in a system call, so its vector registers hold nothing */
	bool is_stopped;
	int signal; /* that it was about to get */
};

/* Asks a thread, which stopping_look() has looked at, to stop. Returns 0 or a negative errno. */
int tracee_ask(struct tracee *tracee, const struct stopping *stopping);

/*
 * Waits until it stands still, and reads its registers. Returns 0, also if it has ended instead;
 * -EBUSY: it does not stop in time; -ENOSYS: the registers of this processor are not known.
 */
int tracee_await(struct tracee *tracee);

/* The words of its vector registers, if they hold anything; returns how many. */
unsigned tracee_vectors(const struct tracee *tracee, uint64_t *words, unsigned max);

/* Lets it go on. */
void tracee_release(struct tracee *tracee);

#endif
