/* SPDX-License-Identifier: MIT */
#include "account/limits.h"

#include "base/human.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "trace/instant.h"

const struct limit_row limit_rows[] = {
#define RENAMED(name, instead)
#define LIMIT(name, unit, report, table, column, class, how, when, kinds, live, meaning) \
	{ #name, LIMIT_##unit, #table, class, LIMIT_##live, meaning },
#include "account/limits.def"
#undef LIMIT
#undef RENAMED
};

#define ROWS (sizeof(limit_rows) / sizeof(*limit_rows))

static const struct {
	const char *name, *instead;
} renamed[] = {
#define RENAMED(name, instead) { #name, instead },
#define LIMIT(name, unit, report, table, column, class, how, when, kinds, live, meaning)
#include "account/limits.def"
#undef LIMIT
#undef RENAMED
};

const char *limit_also(const struct limit_row *row, size_t *at)
{
	static const struct {
		const char *name, *table;
	} also[] = {
#define RENAMED(name, instead)
#define LIMIT(name, unit, report, table, column, class, how, when, kinds, live, meaning)
#define ALSO(name, table, column, class) { #name, #table },
#include "account/limits.def"
#undef LIMIT
#undef RENAMED
	};

	while (*at < sizeof(also) / sizeof(*also)) {
		size_t i = (*at)++;

		if (!strcmp(also[i].name, row->name))
			return also[i].table;
	}
	return NULL;
}

/* ---- the expression ---- */

struct place {
	const char *option, *text, *at; /* `at`: position in `text` */
	bool has_baseline;
	struct error *err;
};

static int refuse_at(const struct place *place, const char *expected)
{
	if (!*place->at)
		return error_set(place->err, EINVAL,
				 "%s=%s: at the end, character %zu: expected %s", place->option,
				 place->text, (size_t)(place->at - place->text) + 1, expected);
	return error_set(place->err, EINVAL, "%s: at \"%.30s\", character %zu: expected %s",
			 place->option, place->at, (size_t)(place->at - place->text) + 1, expected);
}

/* The row with this name, and with this unit if has_unit. */
static const struct limit_row *find_row(const char *name, size_t length, bool has_unit,
					enum limit_unit unit)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strlen(limit_rows[i].name) == length &&
		    !strncmp(limit_rows[i].name, name, length) &&
		    (!has_unit || limit_rows[i].unit == unit))
			return &limit_rows[i];
	return NULL;
}

/* Parses a number and an optional unit, which take `length` characters. */
static int parse_value(struct limit *limit, size_t name, struct place *place, size_t length)
{
	char text[64], *end;
	uint64_t bytes;
	double number;

	if (!length || length >= sizeof(text) || *place->at < '0' || *place->at > '9')
		return refuse_at(place, "a number such as 10, 1.5MB or 100ms");
	memcpy(text, place->at, length);
	text[length] = '\0';
	number = strtod(text, &end);
	bytes = human_unit(end, strlen(end));
	limit->is_percent = !strcmp(end, "%");
	if (limit->is_percent && !place->has_baseline)
		return refuse_at(place, "a number, because a percentage needs --baseline");
	limit->row = find_row(limit->text, name, *end && !limit->is_percent,
			      bytes ? LIMIT_BYTES : LIMIT_NS);
	if (!limit->row)
		return refuse_at(place, bytes ? "a number without a unit of bytes"
					      : "a unit that fits this limit");
	if (limit->is_percent) {
		limit->value = (uint64_t)(fmin(number, 1e9) * 100 + 0.5);
		return 0;
	}
	if (limit->row->unit == LIMIT_NS && *end)
		return instant_parse_length(&limit->value, text, place->err)
			       ? refuse_at(place, "a time such as 100ms or 2s")
			       : 0;
	if (limit->row->unit == LIMIT_NS && number > 0)
		return refuse_at(place, "a unit of time (us, ms or s) after the number");
	number *= bytes ? (double)bytes : 1;
	if (number >= 1e19)
		return refuse_at(place, "a smaller number");
	limit->value = (uint64_t)number;
	return 0;
}

static int refuse_name(const struct place *place, size_t length)
{
	struct suggest suggest;

	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (strlen(renamed[i].name) == length &&
		    !strncmp(renamed[i].name, place->at, length))
			return error_set(place->err, EINVAL,
					 "%s: at \"%.30s\", character %zu: \"%s\" is not the name "
					 "of a limit; write %s",
					 place->option, place->at,
					 (size_t)(place->at - place->text) + 1, renamed[i].name,
					 renamed[i].instead);
	suggest_begin(&suggest, place->at, length);
	for (size_t i = 0; i < ROWS; i++)
		suggest_try(&suggest, limit_rows[i].name);
	return error_set(place->err, EINVAL,
			 "%s: at \"%.30s\", character %zu: \"%.*s\" is not the name of a limit%s; "
			 "holdtrace-report(1) lists all limits",
			 place->option, place->at, (size_t)(place->at - place->text) + 1,
			 (int)length, place->at, suggest_text(&suggest));
}

int limits_parse(struct limits *limits, const char *option, const char *text, bool has_baseline,
		 struct error *err)
{
	struct place place = { option, text, text, has_baseline, err };

	for (;;) {
		/* NAME>VALUE or NAME>=VALUE */
		size_t length = strcspn(place.at, ","), name = strcspn(place.at, "<>=, ");
		const char *end = place.at + length;
		struct limit *limit;
		int rc;

		if (limits->count == LIMITS_MAX)
			return refuse_at(&place, "fewer limits");
		limit = &limits->items[limits->count++];
		*limit = (struct limit){ .text = place.at, .length = length };
		if (!find_row(place.at, name, false, LIMIT_NUMBER))
			return refuse_name(&place, name);
		place.at += name;
		if (place.at == end || *place.at != '>')
			return refuse_at(&place, "> or >=");
		place.at++;
		limit->is_equal_enough = place.at < end && *place.at == '=';
		place.at += limit->is_equal_enough;
		rc = parse_value(limit, name, &place, (size_t)(end - place.at));
		if (rc || !*end)
			return rc;
		place.at = end + 1;
	}
}

bool limit_is_broken(const struct limit *limit, uint64_t value)
{
	return limit->is_equal_enough ? value >= limit->value : value > limit->value;
}
