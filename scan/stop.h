/* SPDX-License-Identifier: MIT */
#ifndef SCAN_STOP_H
#define SCAN_STOP_H

/*
 * Stops all threads of a process and lets them go on as if nothing had been: no signal is lost, no
 * call of the kernel returns early. Whoever dies while others are stopped by him lets them go: that
 * is the kernel's care (ptrace(2)), which is why nothing here needs undoing.
 */

#include "scan/moment.h"

/*
 * Waits until all threads may be stopped without harm (process/stopping.h), for a second at most.
 * Returns 0, or -EBUSY with the thread that may not. A process at its end needs no such care: its
 * limits of time do not matter any more.
 */
int stop_await_consent(const struct process *process, struct error *err);

/*
 * Stops what there is and what comes meanwhile, and fills in the threads with their registers.
 * Returns 0, -EPERM, -ESRCH, or -EBUSY if a thread cannot be stopped in time.
 */
int stop_begin(struct process *process, struct error *err);

/* All go on. */
void stop_end(struct process *process);

#endif
