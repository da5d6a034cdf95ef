/* SPDX-License-Identifier: MIT */
#ifndef BARE_H
#define BARE_H

/*
 * The library without the launcher: it makes the control page and starts the collector. It leaves
 * no child, descriptor or signal in the traced program.
 */

#include "arena.h"

/* Returns the control page with a running collector, or NULL if the process is not to be traced. */
const struct control_page *bare_start(char **environment, const char *name);

#endif
