/* SPDX-License-Identifier: MIT */
#ifndef SHORTEN_H
#define SHORTEN_H

/*
 * The interface between the collector and holdtrace-keep, which the collector starts when a file of
 * --keep is too long: holdtrace-keep OLD NEW EXCHANGE since|bytes NUMBER. The first three are
 * descriptors. NUMBER is the time (ns, in the trace's clock) from which on everything is kept, or
 * the maximal number of bytes. EXCHANGE is a memfd: the collector stores struct keep_ended of each
 * stream that has ended in it, and finds the result there, both without gaps.
 */

#include <stdint.h>

/* Exit status after a failure; the reason is in EXCHANGE. */
#define KEEP_SAID 3

/* A stream that has ended, which can be dropped as a whole. */
struct keep_ended {
	uint32_t stream, reserved;
	uint64_t ended_ns;
};

/* The result; one struct keep_stream follows for each remaining stream. */
struct keep_done {
	uint64_t read; /* bytes of the old file that were processed; the rest was not. 0: nothing
			* was made, the old file stays */
	uint64_t size; /* of the new file */
	uint64_t held; /* of these, bytes from before since_ns: calls that acquired objects that
			* were live then */
	uint64_t since_ns; /* the file is complete from then on */
	uint64_t streams;
};

struct keep_stream {
	uint32_t stream, reserved;
	uint64_t less; /* what to subtract from a place in the old file to get the place in the new
			  one */
};

#endif
