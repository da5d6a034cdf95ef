/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_VALUES_H
#define COLLECT_VALUES_H

/* The named values of a call, written as ARGS packets or as arguments in an .htr container. */

#include <stddef.h>
#include <stdint.h>

#include "collect/htr.h"

/* ARGS packets under construction: a new one begins where the next value would not fit. */
struct values {
	struct htr *htr; /* NULL: packets at `at` */
	/*
	 * where to keep the number in htr + 1 of the next value's name (0: not yet known); NULL:
	 * nowhere
	 */
	uint32_t *known;
	uint8_t *at, *end;
	uint8_t *packet; /* NULL: no packet begun */
	uint32_t count;
};

/* Adds one value, which must be short enough for one packet (see values_put_text()). */
void values_put(struct values *values, const char *name, size_t name_length, const char *value,
		size_t length);

/* Adds a text of any length; one that does not fit one packet as parts name, name+1, name+2 ... */
void values_put_text(struct values *values, const char *name, const char *value, size_t length);

void values_end(struct values *values);

#endif
