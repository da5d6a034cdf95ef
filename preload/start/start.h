/* SPDX-License-Identifier: MIT */
#ifndef START_H
#define START_H

/*
 * Starts the tracing of a process: finds the control page, or creates a control page and starts a
 * collector; creates an arena; and arms the hooks. Called by our constructor, or by the first
 * hooked call if that is earlier.
 */

#include <stdbool.h>

#include "arena.h"

struct late_order;

/* Prepares a running program, but records nothing yet. Returns false if memory runs out. */
bool start_attached(const struct late_order *order);

/* Arms the hooks: calls are recorded from now on. */
void start_recording(void);

/* Starts the library if it has not started. Returns whether the hook may record its call. */
bool start_wake(enum hook_number hook);

/* ---- the control page (attach.c) ---- */

/*
 * Maps the control page and closes its descriptor. The mapping keeps a shared flock on the file, by
 * which the collector detects that the last process has ended. name: the program's name in the
 * trace. Returns NULL if the process is not traced.
 */
const struct control_page *attach_control(char **environment, const char *name);

/* Whether the run began with this program, according to the environment. */
bool attach_is_first(void);

#endif
