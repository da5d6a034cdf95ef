/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_VALUES_H
#define COLLECT_VALUES_H

/* The named values of a call, written as ARGS packets or as arguments in an .htr container. */

#include <stddef.h>
#include <stdint.h>

#include "collect/htr.h"

/*
 * The values that are being written. If a value does not fit into the current ARGS packet, a new
 * packet begins.
 */
struct values {
	/* the htr that gets the values; NULL: the values become packets at `at` */
	struct htr *htr;
	/*
	 * cache for the number of the next value's name in htr: the number plus 1, or 0 if it is
	 * not known yet; NULL: there is no cache
	 */
	uint32_t *known;
	uint8_t *at, *end;
	uint8_t *packet; /* the start of the packet under construction; NULL: none */
	uint32_t count;
};

/* Adds one value, which must fit into one packet (see values_put_text()). */
void values_put(struct values *values, const char *name, size_t name_length, const char *value,
		size_t length);

/*
 * Adds a text of any length. A text that does not fit into one packet is divided into parts with
 * the names NAME, NAME+1, NAME+2 ...
 */
void values_put_text(struct values *values, const char *name, const char *value, size_t length);

void values_end(struct values *values);

#endif
