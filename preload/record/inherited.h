/* SPDX-License-Identifier: MIT */
#ifndef INHERITED_H
#define INHERITED_H

/*
 * Descriptors that were open when the program began: it inherited them, so they are not its leaks.
 * Every traced process searches for them. The kernel creates an entry of /proc only when a process
 * looks it up, which costs time, so this code uses /proc as little as possible.
 */

#include <stdbool.h>
#include <stdint.h>

struct inherited {
	uint32_t fd;
	bool has_size; /* the descriptor refers to a regular file */
	uint64_t size;
	const char *path; /* the path in /proc/self/fd; "" if unknown */
};

/* Calls tell() for each. Call this only at the start of a process: it needs 10 KiB of stack. */
void inherited_tell(void (*tell)(void *context, const struct inherited *inherited), void *context);

#endif
