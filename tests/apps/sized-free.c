/* SPDX-License-Identifier: MIT */
/*
 * C23's frees are there for programs that ask for them, whether libc has them or not. Before glibc
 * 2.35 the library hides all functions that libc lacks.
 */
#include "expect.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdlib.h>

int main(void)
{
	void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
	void *block = malloc(100);

	if (!sized) {
		/* untraced, by an older libc */
		free(block);
		puts(strtod(gnu_get_libc_version(), NULL) < 2.345 ? "- free_sized<*"
								  : "+ free_sized<memory>(0x*)");
		return 0;
	}
	if (malloc_usable_size(block) < 100)
		return 1;
	sized(block, 100);
	expect("malloc<memory>(100) = 0x%lx\nfree_sized<memory>(0x%lx)", (unsigned long)block,
	       (unsigned long)block);
	expect_print();
	printf("- malloc_usable_size<*\n");
	return 0;
}
