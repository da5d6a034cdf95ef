/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SCAN_RESULT_H
#define COLLECT_SCAN_RESULT_H

/*
 * Parses the result of a scanner (scan.h), a sequence of notes. A note is a name, followed by pairs
 * of a name and a value, and an empty text at its end. Each text ends with a NUL. The scanner has
 * read memory that the traced program controls, so the result is not trusted.
 */

#include <stddef.h>
#include <stdint.h>

#include "scan.h"
#include "wire.h"

struct scan_result {
	/* these bytes must not change while they are read */
	const char *bytes;
	size_t size, at;
};

struct scan_note {
	/* a name of notes.def */
	const char *name;
	struct wire_value values[SCAN_NOTE_PAIRS];
	uint32_t count;
};

/* Reads the next note. Returns 1; 0 if there is none; or -EBADMSG if the rest is invalid. */
int scan_result_next(struct scan_result *result, struct scan_note *note);

#endif
