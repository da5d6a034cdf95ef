/* SPDX-License-Identifier: MIT */
#ifndef SCAN_H
#define SCAN_H

/*
 * Between the collector and the scanner that it starts: messages over a socket of packets, each a
 * letter, perhaps with a text behind it. What the scanner found stands in a memfd.
 */

enum scan_message {
	/* of the scanner */
	SCAN_BEAT = 'b',    /* it lives */
	SCAN_STOPPED = 's', /* the process stands still: drain it and write the cut */
	SCAN_GOES_ON = 'g', /* it runs again; all that is needed of it was copied */
	SCAN_DONE = 'd',    /* what was found stands in the memfd */
	SCAN_FAILED = 'e',  /* and why not */
	/* of the collector */
	/* the cut is in the stream: let it go on; where malloc begins, and the library's memory:
	 * ADDRESS FROM-TO FROM-TO ..., each hexadecimal, a space behind it */
	SCAN_CUT = 'c',
	SCAN_READY = 'r', /* and can be read from the file of this path */
};

#define SCAN_TEXT_MAX 4200u

/*
 * holdtrace-scan PID NUMBER SOCKET RESULT EXITING: of the process, of the scan, of two descriptors;
 * the thread that waits at the end of its process, 0: none does.
 */

#define SCAN_NOTE_PAIRS	 20u  /* most of a note in the result */
#define SCAN_NOTE_TEXT	 600u /* bytes of each text there */
#define SCAN_RESULT_MOST (4ull << 30)

#endif
