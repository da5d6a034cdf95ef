/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of .htr. An input in loose form (loose.h) becomes a container with correct
 * checksums, so that the code after the checks is tested. The container is read as a whole, and
 * then only a part of its time.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "tests/fuzz/loose.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	return fuzz_mutate(bytes, size, max, seed, 0);
}

/* Reads the events between two times; 0, 0: all events. Returns the number of calls. */
static uint64_t read_part(int fd, uint64_t since_ns, uint64_t until_ns)
{
	struct trace_options options = { .memory_max = FUZZ_MEMORY_MAX,
					 .no_wait = true,
					 .since_ns = since_ns,
					 .until_ns = until_ns };
	struct error err = { 0 };
	const struct event *event;
	struct trace *trace;
	uint64_t calls = 0;

	if (trace_open_fd(&trace, fd, &options, &err)) {
		fuzz_check(err.text[0], "a refusal without words");
		return 0;
	}
	if (since_ns == 0 && until_ns == 0)
		calls = fuzz_read(trace, 0);
	else
		while (trace_next(trace, &event, NULL) > 0)
			calls += event->kind == EVENT_CALL;
	trace_close(trace);
	return calls;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t sealed_size;
	uint8_t *sealed = loose_seal(bytes, size, &sealed_size);
	uint64_t all;

	if (!sealed)
		return 0;
	all = read_part(fuzz_open(sealed, sealed_size), 0, 0);
	fuzz_check(size % 2 || read_part(fuzz_open(sealed, sealed_size), 1000, 6000000000) <= all,
		   "more calls in a part of the time than in all of it");
	free(sealed);
	return 0;
}
