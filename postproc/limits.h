/* SPDX-License-Identifier: MIT */
#ifndef LIMITS_H
#define LIMITS_H

/*
 * Limits that a run must keep, as --fail-on=leak>0,peak>10MB has them: terms of limits.def, each
 * judged by a column of a report.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/views/sheet.h"

#define LIMITS_MAX 32u

struct limit_row;

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

/* The name of the report that a limit needs. */
const char *limits_report(const struct limits *limits, size_t index);

/*
 * Fills SHEET_limits, what is broken first. The reports' sheets are looked for in both; they need
 * not be finished. is_empty: they are of no event, so that what is not broken is not known to be
 * kept. Returns 0 or -ENOMEM.
 */
int limits_judge(const struct limits *limits, const struct sheets *one, const struct sheets *other,
		 bool is_empty, struct sheet *sheet, bool *is_broken);

#endif
