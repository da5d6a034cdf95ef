/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader with packets of any version, uncompressed or compressed by zstd. */
#include "tests/fuzz/fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	return fuzz_mutate(bytes, size, max, seed, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct trace_options options = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true };
	struct error err = { 0 };
	struct trace *trace;

	options.wants_repeats = size % 2;
	if (trace_open_fd(&trace, fuzz_open(bytes, size), &options, &err)) {
		fuzz_check(err.text[0], "a refusal without words");
		return 0;
	}
	fuzz_read(trace, bytes[0] == 0xf0 ? size : 0);
	trace_close(trace);
	return 0;
}
