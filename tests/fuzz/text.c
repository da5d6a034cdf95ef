/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader with sp-rtrace text, uncompressed or compressed by zstd. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct trace_options options = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true };
	struct error err = { 0 };
	struct trace *trace;

	if (trace_open_fd(&trace, fuzz_open(bytes, size), &options, &err)) {
		fuzz_check(err.text[0], "a refusal without words");
		return 0;
	}
	fuzz_read(trace, 0);
	trace_close(trace);
	return 0;
}
