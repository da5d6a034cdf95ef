/* SPDX-License-Identifier: MIT */
#ifndef START_H
#define START_H

/*
 * Starts tracing of a process: finds the control page (or makes it together with a collector),
 * makes an arena, and arms hooks. Called by our constructor, or by the first hooked call before it.
 */

#include <stdbool.h>

#include "hooks.h"

struct late_order;

/* In a running program: does everything but record. Returns false if memory is missing. */
bool start_attached(const struct late_order *order);

/* Starts recording. */
void start_recording(void);

/* Starts the library if that has not begun yet. Returns whether the hook may record now. */
bool start_wake(enum hook_number hook);

#endif
