/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SCAN_RESULT_H
#define COLLECT_SCAN_RESULT_H

/*
 * Parses what a scanner wrote (scan.h): notes, one after another. A note is a name and pairs of
 * names and values, each with its NUL, and ends with an empty text. The scanner has read memory
 * that the traced program controls, so the result is not trusted.
 */

#include <stddef.h>
#include <stdint.h>

#include "scan.h"
#include "wire.h"

struct scan_result {
	const char *bytes; /* that do not change while they are read */
	size_t size, at;
};

struct scan_note {
	const char *name; /* of notes.def */
	struct wire_value values[SCAN_NOTE_PAIRS];
	uint32_t count;
};

/* Reads the next note. Returns 1, 0 at the end, or -EBADMSG: the rest does not make sense. */
int scan_result_next(struct scan_result *result, struct scan_note *note);

#endif
