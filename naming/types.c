/* SPDX-License-Identifier: MIT */
#include "naming/types.h"

#include <ctype.h>
#include <string.h>

struct type_row {
	const char *start, *member; /* member NULL: the row is a STEP */
};

static const struct type_row rows[] = {
#define STEP(start)	     { start, NULL },
#define TYPED(start, member) { start, member },
#include "naming/types.def"
#undef STEP
#undef TYPED
};

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static const struct type_row *row_of(const char *function)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (begins(function, rows[i].start))
			return &rows[i];
	return NULL;
}

/*
 * Returns the end of the first template argument. *rest: the text after all arguments. Returns NULL
 * if the brackets do not match. In parentheses, < and > may be operators; -> is an arrow.
 */
static const char *argument_end(const char *text, const char **rest)
{
	const char *end = NULL;
	unsigned angles = 1, rounds = 0;

	for (; *text; text++) {
		if (strchr("([{", *text))
			rounds++;
		if (strchr(")]}", *text) && rounds-- == 0)
			return NULL;
		if (rounds)
			continue;
		if (*text == ',' && angles == 1 && !end)
			end = text;
		angles += *text == '<';
		if (*text == '>' && text[-1] != '-' && --angles == 0) {
			*rest = text + 1;
			return end ? end : text;
		}
	}
	return NULL;
}

/* Whether the text is the name of a template's parameter: T, T0, F. */
static bool is_parameter(const char *text, size_t length)
{
	for (size_t i = 1; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return isupper((unsigned char)*text);
}

static bool take_type(const char *function, const struct type_row *row, char *text, size_t size)
{
	const char *from = function + strlen(row->start), *rest = "";
	const char *end = argument_end(from, &rest);
	size_t length = end ? (size_t)(end - from) : 0;

	while (length && from[length - 1] == ' ')
		length--;
	if (!length || length >= size || is_parameter(from, length))
		return false;
	/* the member follows "::" or, in Rust names, ">::" */
	rest += *rest == '>';
	if (!begins(rest, "::") || !begins(rest + 2, row->member))
		return false;
	memcpy(text, from, length);
	text[length] = '\0';
	return true;
}

bool types_find(const struct naming_symbol *symbols, size_t count, char *text, size_t size)
{
	for (size_t i = 0; i < count && symbols[i].function; i++) {
		const struct type_row *row = row_of(symbols[i].function);

		if (!row)
			return false;
		if (row->member)
			return take_type(symbols[i].function, row, text, size);
	}
	return false;
}
