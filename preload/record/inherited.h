/* SPDX-License-Identifier: MIT */
#ifndef INHERITED_H
#define INHERITED_H

/*
 * Descriptors that were open when the program began: it inherited them, so they are not its leaks.
 * Every process looks for them, so this code uses /proc as little as possible: the kernel creates
 * an entry of /proc when it is looked up.
 */

#include <stdbool.h>
#include <stdint.h>

struct inherited {
	uint32_t fd;
	bool has_size; /* the descriptor refers to a regular file */
	uint64_t size;
	const char *path; /* the path in /proc/self/fd; "" if unknown */
};

/* Calls tell() for each. Only at the start of a process: it needs 10 KiB of the stack. */
void inherited_tell(void (*tell)(void *context, const struct inherited *inherited), void *context);

#endif
