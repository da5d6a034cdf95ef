/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_DETACH_H
#define COLLECT_DETACH_H

/*
 * The collector is born of the program that is traced, or of its launcher: this makes it a process
 * of its own, which keeps nothing of theirs, neither terminal nor limits nor descriptors.
 */

#include <stdbool.h>
#include <stddef.h>

/* First of all: before anything is opened. */
void detach_begin(void);

/* Whether SIGTERM has come since this was asked last. No system call is interrupted by it. */
bool detach_asked_to_end(void);

/* Standard error if it is a file, which nobody waits for the end of; else -1. */
int detach_error_file(void);

/*
 * When all is open: closes every descriptor but these (-1: none) and has /dev/null stand where 0, 1
 * and 2 are none of them. Sorts them.
 */
void detach_end(int *keep, size_t count);

#endif
