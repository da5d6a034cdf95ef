/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_DETACH_H
#define COLLECT_DETACH_H

/*
 * The collector starts as a child of the traced program or of its launcher. These functions make it
 * a process of its own, which keeps nothing of its parent: neither the terminal nor limits nor
 * descriptors.
 */

#include <stdbool.h>
#include <stddef.h>

/* To be called first, before anything is opened. */
void detach_begin(void);

/* Whether SIGTERM has come since the last call. It interrupts no system call. */
bool detach_asked_to_end(void);

/* Standard error if it is a regular file, so that no reader waits for it to be closed; else -1. */
int detach_error_file(void);

/*
 * To be called when everything is open: closes every descriptor but these (-1: none), and opens
 * /dev/null as 0, 1 and 2 where these are not among them. Sorts keep.
 */
void detach_end(int *keep, size_t count);

#endif
