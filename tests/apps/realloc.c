/* SPDX-License-Identifier: MIT */
/* realloc gives the old block back and gets the new one; a failed one does neither. */
#include "expect.h"

#include <errno.h>
#include <stdint.h>

int main(void)
{
	volatile size_t too_much = PTRDIFF_MAX, half = (size_t)1 << 32, nothing = 0;
	char *block = realloc(NULL, 100), *moved;
	uintptr_t old = (uintptr_t)block;

	expect("realloc<memory>(100) = %p", (void *)block);
	moved = realloc(block, 300000);
	expect("realloc<memory>(0x%lx)\nrealloc<memory>(300000) = %p", (unsigned long)old,
	       (void *)moved);
	if (realloc(moved, too_much) || errno != ENOMEM)
		return 1;
	expect("realloc<event>(0x0)");
	old = (uintptr_t)moved;
	block = reallocarray(moved, 10, 50);
	expect("reallocarray<memory>(0x%lx)\nreallocarray<memory>(500) = %p", (unsigned long)old,
	       (void *)block);
	/* the product wraps to 0: a failure, not a free */
	if (reallocarray(block, half, half) || errno != ENOMEM)
		return 1;
	expect("reallocarray<event>(0x0)");
	old = (uintptr_t)block;
	/* In glibc this is free and no failure. */
	if (realloc(block, nothing))
		return 1;
	expect("realloc<memory>(0x%lx)\nrealloc<event>(0x0)", (unsigned long)old);
	expect_print();
	/* reallocarray calls realloc, which is not a call of the program's. */
	printf("= 6 realloc<*\n= 3 reallocarray<*\n");
	return 0;
}
