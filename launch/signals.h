/* SPDX-License-Identifier: MIT */
#ifndef SIGNALS_H
#define SIGNALS_H

/*
 * Signals while the program runs. A signal that the terminal or kill(1) sends to the process group
 * reaches the program by itself; a signal to the launcher alone is forwarded.
 */

#include <signal.h>
#include <sys/types.h>

/* Call before the program is started: from then on signals are held for signals_wait(). */
void signals_hold(void);

/* In a child, before it executes the program: restores the signal state that the launcher found. */
void signals_give_back(void);

/*
 * Forwards signals until the program has ended, but does not reap it. Returns its status as
 * waitpid() would; 0 if the kernel did not keep it. Later signals have no effect.
 */
int signals_wait(pid_t program);

#endif
