/* SPDX-License-Identifier: MIT */
#ifndef FILTER_H
#define FILTER_H

/*
 * The streaming filter: sp-rtrace text in, the same text with names behind its addresses out. A
 * line is written as soon as it was read; what is no header, mapping or frame passes unchanged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/resolve.h"

/* Longer lines, which no tool writes, pass without being looked at. */
#define FILTER_LINE_MAX (1 << 20)
/* Still longer ones are the end: they may have none. */
#define FILTER_PASS_MAX (64 << 20)

struct filter_options {
	bool keep_resolved; /* leave frames alone that have a text, save "in ??" */
	const char *input_name, *output_name; /* for errors */
};

/* What the caller may want to tell its user. */
struct filter_result {
	char foreign_arch[64]; /* the header's, if it is not this machine's */
	uint64_t long_lines;   /* that passed without being looked at */
	uint64_t first_long;   /* number of the first of them, from 1 */
	bool is_foreign;       /* there were lines, and none of an sp-rtrace text */
};

/*
 * Copies from one descriptor to the other until the end of input; ends the program where no memory
 * is left. Mappings in the text are given to
 * resolve. Returns 0, -EPIPE when nobody reads any more, -EBADMSG for what cannot be such a text,
 * or another negative errno value.
 */
int filter_text(struct resolve *resolve, int input, int output,
		const struct filter_options *options, struct filter_result *result,
		struct error *err);

#endif
