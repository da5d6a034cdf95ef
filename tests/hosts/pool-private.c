/* SPDX-License-Identifier: MIT */
/*
 * Public functions of a library with an allocator of its own, which no other file can call: that of
 * pool.c without a prefix, or a static jemalloc.
 */
#include <stddef.h>
#include <stdlib.h>

#define PUBLIC __attribute__((visibility("default")))
#define STAY   __asm__ volatile("") /* the call before is no jump */

PUBLIC void *own_malloc(size_t size)
{
	void *block = malloc(size);

	STAY;
	return block;
}

PUBLIC void *own_calloc(size_t count, size_t size)
{
	void *block = calloc(count, size);

	STAY;
	return block;
}

PUBLIC void *own_realloc(void *old, size_t size)
{
	void *block = realloc(old, size);

	STAY;
	return block;
}

PUBLIC void *own_aligned_alloc(size_t alignment, size_t size)
{
	void *block = aligned_alloc(alignment, size);

	STAY;
	return block;
}

PUBLIC int own_posix_memalign(void **block, size_t alignment, size_t size)
{
	int status = posix_memalign(block, alignment, size);

	STAY;
	return status;
}

PUBLIC void own_free(void *block)
{
	free(block);
	STAY;
}

/* Blocks before main() or in dlopen(). */
static void *first[100];
static size_t first_count;

__attribute__((constructor)) static void allocate_first(void)
{
	const char *count = getenv("FIRST");

	for (size_t end = count ? strtoul(count, NULL, 10) : 0; first_count < end; first_count++)
		first[first_count] = malloc(1000);
}

__attribute__((destructor)) static void free_first(void)
{
	while (first_count)
		free(first[--first_count]);
}
