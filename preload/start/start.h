/* SPDX-License-Identifier: MIT */
#ifndef START_H
#define START_H

/*
 * How a process comes to be traced: the board (found, or made together with a collector), memory of
 * its own, and which hooks record. By our constructor, or by the first hooked call before it.
 */

#include <stdbool.h>

#include "hooks.h"

/* Starts the library if nobody has yet. True if the hook may record now. */
bool start_wake(enum hook_number hook);

#endif
