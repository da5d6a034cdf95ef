/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_DETACH_H
#define COLLECT_DETACH_H

/*
 * The collector starts as a child of the traced program or of its launcher. These functions detach
 * it: it keeps neither the terminal nor the limits nor the descriptors of its parent.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Leaves the terminal, raises the limits and ignores signals. Must be called before the collector
 * opens anything.
 */
void detach_begin(void);

/* Whether SIGTERM has arrived since the last call. The signal interrupts no system call. */
bool detach_asked_to_end(void);

/*
 * Returns standard error if it is a regular file, which no reader waits to see closed; otherwise
 * -1.
 */
int detach_error_file(void);

/*
 * Closes every descriptor except those in `keep` (-1: none), and opens /dev/null as 0, 1 and 2
 * unless `keep` contains these numbers. Sorts `keep`. Must be called when everything is open.
 */
void detach_end(int *keep, size_t count);

#endif
