/* SPDX-License-Identifier: MIT */
#ifndef LIMITS_H
#define LIMITS_H

/*
 * Parses limits such as --fail-on=leak>0,peak>10MB, whose names are in limits.def. All commands use
 * this syntax. postproc/gate/checker.h decides whether a run exceeds the limits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LIMITS_MAX 32u

enum limit_unit { LIMIT_NUMBER, LIMIT_BYTES, LIMIT_NS };
enum limit_live { LIMIT_HELD, LIMIT_PEAK, LIMIT_DROPPED, LIMIT_DEADLOCK, LIMIT_LATER };

/* A row of limits.def, without the members that only postproc/ needs. */
struct limit_row {
	const char *name;
	enum limit_unit unit;
	const char *table; /* the table of a report that has the value */
	const char *class;
	enum limit_live live;
	const char *meaning;
};

extern const struct limit_row limit_rows[];

struct limit {
	const struct limit_row *row;
	const char *text; /* the limit as the user wrote it, `length` characters */
	size_t length;
	bool is_equal_enough; /* written with ">=": an equal value breaks the limit, too */
	bool is_percent;      /* `value` is in hundredths of a percent of the baseline's number */
	uint64_t value;
};

struct limits {
	struct limit items[LIMITS_MAX];
	size_t count;
};

/*
 * Adds the limits in `text`, the argument of the option `option`. `text` must outlive the limits.
 * has_baseline: limits may be percentages of the numbers of a baseline. Returns 0, or -EINVAL with
 * the position of the mistake in err.
 */
int limits_parse(struct limits *limits, const char *option, const char *text, bool has_baseline,
		 struct error *err);

/*
 * Iterates over the other tables whose rows count for the limit (ALSO in limits.def). Returns NULL
 * after the last table. May return a table several times. *at: 0 before the first call.
 */
const char *limit_also(const struct limit_row *row, size_t *at);

bool limit_is_broken(const struct limit *limit, uint64_t value);

#endif
