/* SPDX-License-Identifier: MIT */
#ifndef LIMITS_H
#define LIMITS_H

/*
 * Limits that a run must keep, as --fail-on=leak>0,peak>10MB has them: terms of limits.def, each
 * judged by a column of a report (judge.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/views/sheet.h"

#define LIMITS_MAX 32u

enum limit_unit { LIMIT_NUMBER, LIMIT_BYTES, LIMIT_NS };
enum limit_how { LIMIT_SUM, LIMIT_LARGEST, LIMIT_ROWS, LIMIT_GROUPS };
enum limit_needs { LIMIT_END, LIMIT_ALL, LIMIT_SEEN, LIMIT_RECORD, LIMIT_SCAN, LIMIT_NEEDS };

/* A row of limits.def. */
struct limit_row {
	const char *name;
	enum limit_unit unit;
	const char *report;
	enum sheet_id sheet;
	int column; /* of the sheet */
	const char *class;
	enum limit_how how;
	enum limit_needs needs;
	const char *meaning;
};

struct limit {
	const struct limit_row *row;
	const char *text; /* as it was written, length characters */
	size_t length;
	bool is_equal_enough; /* ">=": the value itself is too much */
	uint64_t value;
};

struct limits {
	struct limit items[LIMITS_MAX];
	size_t count;
};

/* Returns 0, or -EINVAL: err names the place. text outlives the limits. */
int limits_parse(struct limits *limits, const char *text, struct error *err);

#endif
