/* SPDX-License-Identifier: MIT */
#ifndef FILTER_H
#define FILTER_H

/*
 * The streaming filter: reads sp-rtrace text and writes it with names after the addresses. A line
 * is written as soon as it was read; lines other than headers, mappings and frames are copied
 * unchanged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/resolve.h"

/* Bytes. Longer lines, which no tool writes, are copied without being parsed. */
#define FILTER_LINE_MAX (1 << 20)
/* Bytes. A longer line is an error: it may have no end. */
#define FILTER_PASS_MAX (64 << 20)

struct filter_options {
	bool keep_resolved; /* leave frames alone that have a text, except "in ??" */
	const char *input_name, *output_name; /* for errors */
};

/* Facts that the caller may report to its user. */
struct filter_result {
	char foreign_arch[64]; /* from the header, if it is not this machine's */
	uint64_t long_lines;   /* lines that were copied without being parsed */
	uint64_t first_long;   /* number of the first of them, from 1 */
	bool is_foreign;       /* there were lines, but none of an sp-rtrace text */
};

/*
 * Copies from input to output until the end of input; ends the program if memory runs out. Passes
 * mappings of the text to resolve. Returns 0, -EPIPE when the reader of output is gone, -EBADMSG
 * for input that cannot be such a text, or another negative errno value.
 */
int filter_text(struct resolve *resolve, int input, int output,
		const struct filter_options *options, struct filter_result *result,
		struct error *err);

#endif
