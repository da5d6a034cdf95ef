/* SPDX-License-Identifier: MIT */
#ifndef SHORTEN_H
#define SHORTEN_H

/*
 * Between the collector and holdtrace-keep, which it starts when a file of --keep has become too
 * long: holdtrace-keep OLD NEW EXCHANGE since|bytes NUMBER. The numbers of three descriptors, and
 * the time (ns, as of the trace) from which on all is to be kept, or how many bytes are at most.
 * EXCHANGE is a memfd: the collector leaves who has ended in it, and finds what was done, both as
 * these structs one behind the other.
 */

#include <stdint.h>

/* The status that it exits with where it cannot: why stands in EXCHANGE. */
#define KEEP_SAID 3

/* A stream that has ended: it can go as a whole. */
struct keep_ended {
	uint32_t stream, reserved;
	uint64_t ended_ns;
};

/* What was done; behind it one struct keep_stream for each that is there still. */
struct keep_done {
	uint64_t read; /* bytes of the old file that are dealt with: what is behind is not; 0: all
			* of it is to stay, and nothing was made */
	uint64_t size; /* of the new file */
	uint64_t held; /* bytes of it that are from before since_ns: what was held */
	uint64_t since_ns; /* all that was from then on is there */
	uint64_t streams;
};

struct keep_stream {
	uint32_t stream, reserved;
	uint64_t less; /* its next place in the new file is so much less than in the old one */
};

#endif
