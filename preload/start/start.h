/* SPDX-License-Identifier: MIT */
#ifndef START_H
#define START_H

/*
 * How a process comes to be traced: the board (found, or made together with a collector), memory of
 * its own, and which hooks record. By our constructor, or by the first hooked call before it.
 */

#include <stdbool.h>

#include "hooks.h"

struct late_order;

/* In a program that runs: all but recording. False where there is no memory for it. */
bool start_attached(const struct late_order *order);

/* From here on calls are recorded. */
void start_recording(void);

/* Starts the library if nobody has yet. True if the hook may record now. */
bool start_wake(enum hook_number hook);

#endif
