/* SPDX-License-Identifier: MIT */
#ifndef SIGNALS_H
#define SIGNALS_H

/*
 * Handles signals while the program runs. A signal that the terminal or kill(1) sends to the
 * process group reaches the program directly. A signal that was sent only to the launcher is
 * forwarded.
 */

#include <signal.h>
#include <sys/types.h>

/* Holds signals until signals_wait(). Call it before the program is started. */
void signals_hold(void);

/*
 * In the child, before it executes the program: restores the signal actions and the mask that the
 * launcher started with.
 */
void signals_give_back(void);

/*
 * Forwards signals until the program has ended, but does not reap it. Returns its status in the
 * format of waitpid(), or 0 if the kernel did not keep the status. After this, signals are no
 * longer forwarded.
 */
int signals_wait(pid_t program);

#endif
