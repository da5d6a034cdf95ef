/* SPDX-License-Identifier: MIT */
#ifndef SHORTEN_H
#define SHORTEN_H

/*
 * The interface between the collector and holdtrace-keep. The collector starts this program when a
 * file of --keep is too long:
 *
 *   holdtrace-keep OLD NEW EXCHANGE since|bytes NUMBER
 *
 * OLD, NEW and EXCHANGE are descriptors. With `since`, NUMBER is the time, in ns of the trace's
 * clock, from which everything is kept; with `bytes`, NUMBER is the maximum number of bytes.
 * EXCHANGE is a memfd: the collector stores an array in it, a struct keep_ended for each stream
 * that has ended; holdtrace-keep replaces the array by the result.
 */

#include <stdint.h>

/* Exit status after a failure whose error text is in EXCHANGE. */
#define KEEP_SAID 3

/* A stream that has ended. It is dropped as a whole if it ended before the kept part begins. */
struct keep_ended {
	uint32_t stream, reserved;
	uint64_t ended_ns;
};

/* The result. An array of struct keep_stream follows, one for each stream of the new file. */
struct keep_done {
	/* bytes of the old file that were processed; 0: the old file is not replaced */
	uint64_t read;
	uint64_t size; /* size of the new file */
	/* bytes of the new file for calls before since_ns whose objects were live at since_ns */
	uint64_t held;
	uint64_t since_ns; /* time from which on the file is complete */
	uint64_t streams;
};

struct keep_stream {
	uint32_t stream, reserved;
	/*
	 * the offset of a byte in the stream of the old file, minus the offset of the same byte in
	 * the stream of the new file
	 */
	uint64_t less;
};

#endif
