/* SPDX-License-Identifier: MIT */
#ifndef SIGNALS_H
#define SIGNALS_H

/*
 * Handles signals while the program runs. Signals that the terminal or kill(1) sends to the process
 * group reach the program directly. Signals that are sent only to the launcher are forwarded.
 */

#include <signal.h>
#include <sys/types.h>

/*
 * Called in a child that serves the launcher: blocks all signals, and replaces the process's name
 * and arguments. Otherwise pkill(1) would find the child by those of the launcher, and would send
 * the signal to both.
 */
void signals_hide(const char *name);

/* Blocks signals until signals_wait(). Call it before the program is started. */
void signals_hold(void);

/*
 * Called in the child before it executes the program: restores the signal actions and the mask with
 * which the launcher was started.
 */
void signals_give_back(void);

/*
 * Forwards signals until the program has ended, but does not reap it. mark: "USR1" or "USR2", the
 * signal that puts a mark into the trace and is not forwarded; NULL: none. Returns the program's
 * status in the format of waitpid(), or 0 if the kernel has discarded the status. Afterwards,
 * signals are no longer forwarded.
 */
int signals_wait(pid_t program, const char *mark);

#endif
