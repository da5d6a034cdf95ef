/* SPDX-License-Identifier: MIT */
#ifndef HOSTS_STACK_H
#define HOSTS_STACK_H

/* For programs whose stack is looked through: what is used, and what calls before left behind. */

#include <string.h>

#define NOINLINE __attribute__((noinline))

static inline void use(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

NOINLINE static void wipe_stack(void)
{
	char bytes[65536];

	memset(bytes, 0, sizeof(bytes));
	use(bytes);
}

#endif
