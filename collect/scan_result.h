/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SCAN_RESULT_H
#define COLLECT_SCAN_RESULT_H

/*
 * What a scanner found, as it wrote it (scan.h): notes one behind the other, a name and pairs of
 * names and values, each with its NUL, and an empty text at the end of each. The scanner has read
 * what a program made up, so nothing of it is believed.
 */

#include <stddef.h>
#include <stdint.h>

#include "scan.h"
#include "wire.h"

struct scan_result {
	const char *bytes; /* that do not change meanwhile */
	size_t size, at;
};

struct scan_note {
	const char *name; /* of notes.def */
	struct wire_value values[SCAN_NOTE_PAIRS];
	uint32_t count;
};

/* Takes the next note. Returns 1, 0 at the end, or -EBADMSG: it makes no sense from here on. */
int scan_result_next(struct scan_result *result, struct scan_note *note);

#endif
