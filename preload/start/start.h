/* SPDX-License-Identifier: MIT */
#ifndef START_H
#define START_H

/*
 * Starts the tracing of a process: finds the control page, or makes it and a collector; makes an
 * arena; and arms hooks. Called by our constructor, or by the first hooked call if that is earlier.
 */

#include <stdbool.h>

#include "hooks.h"

struct late_order;

/*
 * Does everything in a running program except start recording. Returns false if there is not enough
 * memory.
 */
bool start_attached(const struct late_order *order);

/* Starts recording. */
void start_recording(void);

/* Starts the library, unless its start has begun. Returns whether the hook may record now. */
bool start_wake(enum hook_number hook);

#endif
