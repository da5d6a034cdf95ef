/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace by libholdtrace-trace, with its account, while one allocation fails: the first, the
 * second and so on, until none is left to fail. The library must return -ENOMEM or succeed, and
 * must free all its memory.
 */
#include <holdtrace/trace.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static long allocations, live; /* of this round; blocks that are not freed */
static long failing;	       /* number of the allocation that fails; 0: none */

static bool fails(void)
{
	return ++allocations == failing;
}

void *malloc(size_t size)
{
	void *memory = fails() ? NULL : __libc_malloc(size);

	live += memory != NULL;
	return memory;
}

void *calloc(size_t count, size_t size)
{
	void *memory = fails() ? NULL : __libc_calloc(count, size);

	live += memory != NULL;
	return memory;
}

void *realloc(void *old, size_t size)
{
	void *memory = fails() ? NULL : __libc_realloc(old, size);

	live += memory && !old;
	return memory;
}

void free(void *memory)
{
	live -= memory != NULL;
	__libc_free(memory);
}

static int read_all(const char *path)
{
	const struct holdtrace_options options = { .flags = HOLDTRACE_ACCOUNT };
	const struct holdtrace_object *objects;
	const struct holdtrace_wait *waits;
	struct holdtrace_error error;
	struct holdtrace_trace *trace;
	int ret = holdtrace_trace_open(&trace, &path, 1, &options, &error);

	if (ret == 0)
		ret = holdtrace_trace_skip(trace, &error);
	if (ret == 0 && holdtrace_trace_live(trace, &objects, &error) < 0)
		ret = -error.number;
	if (ret == 0 && holdtrace_trace_waits(trace, &waits, &error) < 0)
		ret = -error.number;
	holdtrace_trace_close(trace);
	return ret;
}

int main(int argc, char **argv)
{
	long total, before, wrong = 0;

	if (argc < 2 || read_all(argv[1]))
		return 2;
	allocations = 0;
	before = live;
	read_all(argv[1]);
	total = allocations;
	if (live != before)
		printf("%ld blocks are not freed without a failure\n", live - before);
	for (failing = 1; failing <= total && wrong < 10; failing++) {
		int ret;

		allocations = 0;
		before = live;
		ret = read_all(argv[1]);
		if (live == before && (ret == 0 || ret == -ENOMEM))
			continue;
		wrong++;
		fprintf(stderr, "allocation %ld: result %d, %ld blocks are not freed\n", failing,
			ret, live - before);
	}
	printf("%ld allocations\n", total);
	return wrong != 0;
}
