/* SPDX-License-Identifier: MIT */
#ifndef SIGNALS_H
#define SIGNALS_H

/*
 * Signals while the program runs. A signal that the terminal or kill(1) sends to the process group
 * reaches the program by itself; one that is sent to the launcher alone is forwarded to it.
 */

#include <signal.h>
#include <sys/types.h>

/* Before the program is started: from here on signals wait for signals_wait(). */
void signals_hold(void);

/* In a child, before it executes the program: all is as the launcher found it. */
void signals_give_back(void);

/*
 * Forwards signals until the program has ended, and leaves the child to be waited for. Returns the
 * status as waitpid() has it; 0 where the kernel did not keep it. Later signals have no effect.
 */
int signals_wait(pid_t program);

#endif
