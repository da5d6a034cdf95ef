/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the merging of two traces. An input begins with the size of the first trace (two bytes,
 * little-endian). Both traces follow, each as packets, as text or as an .htr in loose form
 * (loose.h).
 */
#include "trace/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/loose.h"

#define HEAD 2
#define PATH 32

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	return fuzz_mutate(bytes, size, max, seed, HEAD);
}

/* Writes a trace to file `number`, which the merging opens by its name, more than once. */
static void write_part(int number, const uint8_t *bytes, size_t size, char path[PATH])
{
	static int fds[2];
	size_t sealed_size;
	uint8_t *sealed = loose_seal(bytes, size, &sealed_size);

	if (!fds[number])
		fds[number] = memfd_create("part", MFD_CLOEXEC);
	if (sealed) {
		bytes = sealed;
		size = sealed_size;
	}
	if (fds[number] < 0 || ftruncate(fds[number], 0) != 0 ||
	    pwrite(fds[number], bytes, size, 0) != (ssize_t)size)
		exit(99);
	snprintf(path, PATH, "/proc/self/fd/%d", fds[number]);
	free(sealed);
}

static void on_failure(void *user, const char *path, const struct error *err)
{
	(void)user;
	fuzz_check(path && err->text[0], "a file is left out without words");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct trace_options options = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true };
	char names[2][PATH];
	const char *paths[] = { names[0], names[1] };
	struct error err = { 0 };
	struct trace *trace;
	size_t first;

	if (size < HEAD)
		return 0;
	first = (size_t)(bytes[0] | bytes[1] << 8);
	first = first < size - HEAD ? first : size - HEAD;
	write_part(0, bytes + HEAD, first, names[0]);
	write_part(1, bytes + HEAD + first, size - HEAD - first, names[1]);
	options.failed = size % 2 ? on_failure : NULL;
	options.wants_repeats = size % 3 == 0;
	if (trace_merge_open(&trace, paths, 2, &options, &err)) {
		fuzz_check(err.text[0], "a refusal without words");
		return 0;
	}
	fuzz_read(trace, 0);
	trace_close(trace);
	return 0;
}
