/* SPDX-License-Identifier: MIT */
#ifndef SCAN_H
#define SCAN_H

/*
 * Messages between the collector and the scanner that it starts, over a SOCK_SEQPACKET socket: a
 * letter, for some followed by text. The scanner stores its result in a memfd.
 */

enum scan_message {
	/* from the scanner */
	SCAN_BEAT = 'b',    /* it is alive */
	SCAN_STOPPED = 's', /* the process is stopped: drain it and write the cut */
	SCAN_GOES_ON = 'g', /* the process runs again; everything needed was copied */
	SCAN_DONE = 'd',    /* the result is in the memfd */
	SCAN_FAILED = 'e',  /* text: the reason */
	/* from the collector */
	/*
	 * the cut is in the stream: let the process go on. Text: where malloc begins, and the
	 * library's memory: ADDRESS FROM-TO FROM-TO ..., in hexadecimal, each followed by a space
	 */
	SCAN_CUT = 'c',
	SCAN_READY = 'r', /* the cut can be read from the file of this path */
};

#define SCAN_TEXT_MAX 4200u

/*
 * holdtrace-scan PID NUMBER SOCKET RESULT EXITING: the process, the number of the scan, two
 * descriptors, and the thread that waits at the end of its process (0: none)
 */

#define SCAN_NOTE_PAIRS	 20u  /* maximal pairs of a note in the result */
#define SCAN_NOTE_TEXT	 600u /* bytes of each text in a note */
#define SCAN_RESULT_MOST (4ull << 30)

#endif
