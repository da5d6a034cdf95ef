/* SPDX-License-Identifier: MIT */
#ifndef SCAN_STOP_H
#define SCAN_STOP_H

/*
 * Stops all threads of a process, and lets them continue as if they had not been stopped: signals
 * are delivered, and no system call returns early. If this program dies in between, the kernel lets
 * the threads continue (ptrace(2)), so nothing has to be undone.
 */

#include "scan/moment.h"

/*
 * Waits at most one second until all threads may be stopped without harm (process/stopping.h).
 * Returns 0, or -EBUSY with a text that names the thread that may not be stopped. Not needed for a
 * process that is about to end, because its time limits no longer matter.
 */
int stop_await_consent(const struct process *process, struct error *err);

/*
 * Stops all threads, including those that start in the meantime, and reads their registers. Returns
 * 0, -EPERM, -ESRCH, or -EBUSY if a thread does not stop in time.
 */
int stop_begin(struct process *process, struct error *err);

/* Lets all threads continue. */
void stop_end(struct process *process);

#endif
