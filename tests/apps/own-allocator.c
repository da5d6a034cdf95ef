/* SPDX-License-Identifier: MIT */
/* A program's own allocator stands before the library, and maps memory before that has started. */
#include "expect.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK (1ul << 20)

static char *chunk;
static size_t used = CHUNK;

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void *malloc(size_t size)
{
	size_t *block;

	if (size > CHUNK / 2)
		return NULL;
	size = (size + 31) & ~15ul;
	if (used + size > CHUNK) {
		chunk = map(CHUNK);
		used = 0;
	}
	block = (size_t *)(void *)(chunk + used);
	used += size;
	block[1] = size - 16;
	return block + 2;
}

void free(void *block)
{
	(void)block;
}

/* Mapped memory is zero, and no block is used twice. */
void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *old, size_t size)
{
	char *block = malloc(size);

	for (size_t i = 0; old && block && i < size && i < ((size_t *)old)[-1]; i++)
		block[i] = ((char *)old)[i];
	return block;
}

int main(void)
{
	char *page = map(4096), *block = malloc(100);

	expect("mmap<mapping>(4096) = 0x%lx", (unsigned long)page);
	if (!block || munmap(page, 4096))
		return 1;
	expect("munmap<mapping>(0x%lx)", (unsigned long)page);
	expect_print();
	printf("- malloc<*\n");
	return 0;
}
