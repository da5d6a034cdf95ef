/* SPDX-License-Identifier: MIT */
/* Every way to get memory and to give it back. */
#include "expect.h"

#include <malloc.h>

static void freed(void *block)
{
	expect("free<memory>(%p)", block);
	free(block);
}

int main(void)
{
	void *block = malloc(1001);

	expect("malloc<memory>(1001) = %p", block);
	freed(block);
	block = calloc(17, 3);
	expect("calloc<memory>(51) = %p", block);
	freed(block);
	block = aligned_alloc(64, 1024);
	expect("aligned_alloc<memory>(1024) = %p\n\t$alignment = 64", block);
	freed(block);
	block = memalign(128, 1002);
	expect("memalign<memory>(1002) = %p\n\t$alignment = 128", block);
	freed(block);
	if (posix_memalign(&block, 256, 1003) == 0)
		expect("posix_memalign<memory>(1003) = %p\n\t$alignment = 256", block);
	freed(block);
	block = valloc(1004);
	expect("valloc<memory>(1004) = %p", block);
	freed(block);
	block = pvalloc(1005);
	expect("pvalloc<memory>(1005) = %p", block);
	freed(block);
	block = strdup("seen through malloc");
	expect("malloc<memory>(20) = %p", (void *)block);
	freed(block);
	expect_print();
	return 0;
}
