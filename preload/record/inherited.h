/* SPDX-License-Identifier: MIT */
#ifndef INHERITED_H
#define INHERITED_H

/*
 * Descriptors that were open when the program began: inherited, and not leaks of its own. Every
 * process looks for them, so it uses /proc as little as possible: the kernel creates the entries of
 * /proc on each look.
 */

#include <stdbool.h>
#include <stdint.h>

struct inherited {
	uint32_t fd;
	bool has_size; /* a regular file */
	uint64_t size;
	const char *path; /* as in /proc/self/fd; "" if unknown */
};

/* Reports each, in ascending order. At the start of a process only: needs 10 KiB of the stack. */
void inherited_tell(void (*tell)(void *context, const struct inherited *inherited), void *context);

#endif
