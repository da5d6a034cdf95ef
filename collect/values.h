/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_VALUES_H
#define COLLECT_VALUES_H

/* The named values of a call, as ARGS packets or as arguments in an .htr container. */

#include <stddef.h>
#include <stdint.h>

#include "collect/htr.h"

/* ARGS packets as they grow: a new one begins where the next value would not fit. */
struct values {
	struct htr *htr; /* NULL: packets at `at` */
	/* where the number in htr of the next value's name is kept, and 1; 0: not yet; NULL:
	 * nowhere */
	uint32_t *known;
	uint8_t *at, *end;
	uint8_t *packet; /* NULL: none begun */
	uint32_t count;
};

/* One value that is known to be short enough (values_put_text() knows how short). */
void values_put(struct values *values, const char *name, size_t name_length, const char *value,
		size_t length);

/* A text of any length: in parts name, name+1, name+2 ... where one packet cannot hold it. */
void values_put_text(struct values *values, const char *name, const char *value, size_t length);

void values_end(struct values *values);

#endif
