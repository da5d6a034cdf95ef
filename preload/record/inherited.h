/* SPDX-License-Identifier: MIT */
#ifndef INHERITED_H
#define INHERITED_H

/*
 * What was open when the program began: inherited, and no leak of its own. Asked for in every
 * process, so as little as possible of it from /proc, whose entries the kernel makes for each look.
 */

#include <stdbool.h>
#include <stdint.h>

struct inherited {
	uint32_t fd;
	bool has_size; /* a regular file */
	uint64_t size;
	const char *path; /* as /proc/self/fd has it; "" if nobody says */
};

/* Each in ascending order. At the start of a process alone: takes 10 KiB of the stack. */
void inherited_tell(void (*tell)(void *context, const struct inherited *inherited), void *context);

#endif
