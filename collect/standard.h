/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_STANDARD_H
#define COLLECT_STANDARD_H

/* Names of the standard descriptors, which most programs of a run inherit from the launcher. */

#include "arena.h"

/*
 * Writes the names of this process's standard descriptors to the control page. A program still
 * checks that a name leads to its own descriptor.
 */
void standard_find(struct control_page *control);

#endif
