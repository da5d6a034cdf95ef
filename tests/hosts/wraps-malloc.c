/* SPDX-License-Identifier: MIT */
/* A library that wraps malloc, and has a table of the program among its data. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *malloc(size_t size);
void *volatile *wrapper_table(void);

void *malloc(size_t size)
{
	static void *(*real)(size_t);

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return real(size);
}

void *volatile *wrapper_table(void)
{
	static void *volatile table[1000];

	return table;
}
