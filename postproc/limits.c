/* SPDX-License-Identifier: MIT */
#include "postproc/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/instant.h"

enum unit { UNIT_NUMBER, UNIT_BYTES, UNIT_NS };
enum how { HOW_SUM, HOW_LARGEST, HOW_GROUPS };

struct limit_row {
	const char *name;
	enum unit unit;
	const char *report;
	enum sheet_id sheet;
	int column; /* of the sheet */
	const char *class;
	enum how how;
	const char *meaning;
};

static const struct limit_row rows[] = {
#define LIMIT(name, unit, report, sheet, column, class, how, meaning)                            \
	{ #name, UNIT_##unit, #report, SHEET_##sheet, COLUMN_##sheet##_##column - FIRST_##sheet, \
	  class, HOW_##how,   meaning },
#include "postproc/limits.def"
#undef LIMIT
};

#define ROWS (sizeof(rows) / sizeof(*rows))

const char *limits_report(const struct limits *limits, size_t index)
{
	return limits->items[index].row->report;
}

/* ---- the expression ---- */

struct place {
	const char *text, *at; /* all of it; where it is not understood */
	struct error *err;
};

static int refuse(const struct place *place, const char *expected)
{
	return error_set(place->err, EINVAL, "--fail-on: at \"%.30s\", character %zu: expected %s",
			 place->at, (size_t)(place->at - place->text) + 1, expected);
}

/* Multiples of a byte. 0: no such unit. */
static uint64_t bytes_of(const char *unit, size_t length)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} units[] = {
		{ "B", 1 },	      { "kB", 1000 },	   { "KB", 1000 },	{ "MB", 1000000 },
		{ "GB", 1000000000 }, { "KiB", 1u << 10 }, { "MiB", 1u << 20 }, { "GiB", 1u << 30 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].word) == length && !strncmp(units[i].word, unit, length))
			return units[i].bytes;
	return 0;
}

/* The row that has the name, and the unit if one is given. */
static const struct limit_row *find(const char *name, size_t length, bool has_unit, enum unit unit)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strlen(rows[i].name) == length && !strncmp(rows[i].name, name, length) &&
		    (!has_unit || rows[i].unit == unit))
			return &rows[i];
	return NULL;
}

/* A number and perhaps a unit, length characters. */
static int parse_value(struct limit *limit, size_t name, struct place *place, size_t length)
{
	char text[64], *end;
	uint64_t bytes;
	double number;

	if (!length || length >= sizeof(text) || *place->at < '0' || *place->at > '9')
		return refuse(place, "a number, as in 10, 1.5MB or 100ms");
	memcpy(text, place->at, length);
	text[length] = '\0';
	number = strtod(text, &end);
	bytes = bytes_of(end, strlen(end));
	limit->row = find(limit->text, name, *end, bytes ? UNIT_BYTES : UNIT_NS);
	if (!limit->row)
		return refuse(place, bytes ? "no unit of bytes for this" : "another unit");
	if (limit->row->unit == UNIT_NS && *end)
		return instant_parse_length(&limit->value, text, place->err)
			       ? refuse(place, "a time, as in 100ms or 2s")
			       : 0;
	if (limit->row->unit == UNIT_NS && number > 0)
		return refuse(place, "a unit of time behind it: us, ms, s");
	number *= bytes ? (double)bytes : 1;
	if (number >= 1e19)
		return refuse(place, "a smaller number");
	limit->value = (uint64_t)number;
	return 0;
}

/* NAME>VALUE or NAME>=VALUE, length characters. */
static int parse(struct limit *limit, struct place *place, size_t length)
{
	const char *end = place->at + length;
	size_t name = strcspn(place->at, "<>=, ");

	*limit = (struct limit){ .text = place->at, .length = length };
	if (!find(place->at, name, false, UNIT_NUMBER))
		return refuse(place, "what is limited: leak, fd, peak ..., see "
				     "holdtrace-report(1)");
	place->at += name;
	if (place->at == end || *place->at != '>')
		return refuse(place, "> or >=");
	place->at++;
	limit->is_equal_enough = place->at < end && *place->at == '=';
	place->at += limit->is_equal_enough;
	return parse_value(limit, name, place, (size_t)(end - place->at));
}

int limits_parse(struct limits *limits, const char *text, struct error *err)
{
	struct place place = { text, text, err };

	limits->count = 0;
	for (;;) {
		size_t length = strcspn(place.at, ",");
		const char *next = place.at + length;
		int rc;

		if (limits->count == LIMITS_MAX)
			return refuse(&place, "fewer limits");
		rc = parse(&limits->items[limits->count++], &place, length);
		if (rc || !*next)
			return rc;
		place.at = next + 1;
	}
}

/* ---- the verdict ---- */

static const struct sheet *sheet_of(const struct sheets *sheets, enum sheet_id id)
{
	for (unsigned i = 0; i < sheets->count; i++)
		if (sheets->list[i].id == id)
			return &sheets->list[i];
	return NULL;
}

static bool is_of_class(const struct limit_row *row, const struct sheet_cell *cells)
{
	return !*row->class || (cells[0].is_set && !strcmp(cells[0].text, row->class));
}

/* Rows of a group are added one after the other. */
static bool begins_group(const struct sheet *sheet, size_t index)
{
	return !index ||
	       strcmp(sheet->rows.items[index - 1][0].text, sheet->rows.items[index][0].text) != 0;
}

static uint64_t measure(const struct limit_row *row, const struct sheet *sheet)
{
	uint64_t result = 0;

	for (size_t i = 0; sheet && i < sheet->rows.count; i++) {
		const struct sheet_cell *cells = sheet->rows.items[i];
		uint64_t number = cells[row->column].is_set ? cells[row->column].number : 0;

		if (!is_of_class(row, cells))
			continue;
		if (row->how == HOW_SUM)
			result += number;
		else if (row->how == HOW_GROUPS)
			result += begins_group(sheet, i);
		else if (number > result)
			result = number;
	}
	return result;
}

/* value: NULL if it is not known. */
static int put(struct sheet *sheet, const struct limit *limit, const uint64_t *value,
	       const char *verdict)
{
	struct sheet_cell *row = sheet_add(sheet);

	if (!row ||
	    sheet_format(sheet, CELL(row, limits, limit), "%.*s", (int)limit->length,
			 limit->text) ||
	    sheet_text(sheet, CELL(row, limits, verdict), verdict) ||
	    sheet_text(sheet, CELL(row, limits, meaning), limit->row->meaning))
		return -ENOMEM;
	if (value)
		sheet_amount(CELL(row, limits, value), *value, limit->row->unit == UNIT_BYTES);
	CELL(row, limits, value)->has_ns = limit->row->unit == UNIT_NS;
	return 0;
}

int limits_judge(const struct limits *limits, const struct sheets *one, const struct sheets *other,
		 bool is_empty, struct sheet *sheet, bool *is_broken)
{
	*is_broken = false;
	for (int wanted = 1; wanted >= 0; wanted--) {
		for (size_t i = 0; i < limits->count; i++) {
			const struct limit *limit = &limits->items[i];
			const struct sheet *from = sheet_of(one, limit->row->sheet);
			uint64_t value = measure(limit->row,
						 from ? from : sheet_of(other, limit->row->sheet));
			bool breaks = limit->is_equal_enough ? value >= limit->value
							     : value > limit->value;

			*is_broken |= breaks;
			if (breaks == wanted &&
			    put(sheet, limit, is_empty && !breaks ? NULL : &value,
				breaks	   ? "BROKEN"
				: is_empty ? "unknown"
					   : "kept"))
				return -ENOMEM;
		}
	}
	return 0;
}
