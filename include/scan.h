/* SPDX-License-Identifier: MIT */
#ifndef SCAN_H
#define SCAN_H

/*
 * Messages between the collector and the scanner that it starts, over a SOCK_SEQPACKET socket. A
 * message is a letter; a text follows some letters. The scanner stores its result in a memfd.
 */

enum scan_message {
	/* messages from the scanner */
	SCAN_BEAT = 'b', /* the scanner is alive */
	/* the process is stopped; the collector then reads all its records and writes the cut */
	SCAN_STOPPED = 's',
	/* the process runs again; the scanner has copied all data that it needs */
	SCAN_GOES_ON = 'g',
	SCAN_DONE = 'd',   /* the result is in the memfd */
	SCAN_FAILED = 'e', /* text: the reason of the failure */
	/* messages from the collector */
	/*
	 * the collector has marked this moment in the stream by the cut (a note); the scanner must
	 * let the process continue. Text: ADDRESS FROM-TO FROM-TO ... in hexadecimal, each followed
	 * by a space: the address of malloc, and the ranges of the library's memory.
	 */
	SCAN_CUT = 'c',
	/* the stream's file can be read up to the cut; text: the name of the file */
	SCAN_READY = 'r',
};

#define SCAN_TEXT_MAX 4200u

/* The text of a CONTROL_SCAN request for a scan that only finds which memory is resident. */
#define SCAN_LIGHT "resident"

/*
 * The command line: holdtrace-scan PID NUMBER SOCKET RESULT EXITING LIGHT. PID: the process;
 * NUMBER: number of the scan; SOCKET and RESULT: descriptors; EXITING: the thread that ends the
 * process and waits for the scan (0: none); LIGHT: 1 to find only which memory is resident.
 */

#define SCAN_NOTE_PAIRS	 20u  /* maximum number of name-value pairs of a note in the result */
#define SCAN_NOTE_TEXT	 600u /* maximum size of a text in a note, in bytes */
#define SCAN_RESULT_MOST (4ull << 30)

#endif
