/* SPDX-License-Identifier: MIT */
#ifndef FILTER_H
#define FILTER_H

/*
 * The streaming filter: reads sp-rtrace text and writes it with names after the addresses. Each
 * line is written as soon as possible after it was read. Only headers, mappings and frames are
 * parsed; all other lines are copied unchanged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/resolve.h"

/* Limit in bytes of a parsed line. No tool writes longer lines; they are copied unparsed. */
#define FILTER_LINE_MAX (1 << 20)
/* Limit in bytes of any line. A longer line is an error: the input may have no further newline. */
#define FILTER_PASS_MAX (64 << 20)

struct filter_options {
	bool keep_resolved; /* do not change frames whose text is something other than "in ??" */
	const char *input_name, *output_name; /* names for error messages */
};

/* Facts that the caller may report to the user. */
struct filter_result {
	/* the architecture in the header, if it differs from that of this machine */
	char foreign_arch[64];
	uint64_t long_lines; /* lines that were copied without being parsed */
	uint64_t first_long; /* number of the first of these lines, from 1 */
	bool is_foreign;     /* the input has lines, but none of them is sp-rtrace text */
};

/*
 * Copies `input` to `output` until the end of `input`, and resolves frames by the mappings in the
 * text. Ends the program if memory runs out. Returns 0, -EPIPE if the reader of `output` is gone,
 * -EBADMSG if the input cannot be sp-rtrace text, or another negative errno value.
 */
int filter_text(struct resolve *resolve, int input, int output,
		const struct filter_options *options, struct filter_result *result,
		struct error *err);

#endif
