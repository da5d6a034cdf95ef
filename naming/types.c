/* SPDX-License-Identifier: MIT */
#include "naming/types.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum row_kind { KIND_STEP, KIND_NAMED, KIND_TYPED, KIND_NEW, KIND_DIRECT, KIND_LAST };

struct type_row {
	enum row_kind kind;
	const char *start, *member, *type;
};

static const struct type_row rows[] = {
#define STEP(start)		    { KIND_STEP, start, NULL, NULL },
#define NAMED(start, type)	    { KIND_NAMED, start, NULL, type },
#define TYPED(start, member, type)  { KIND_TYPED, start, member, type },
#define DIRECT(start, member, type) { KIND_DIRECT, start, member, type },
#define NEW(start, type)	    { KIND_NEW, start, NULL, type },
#define LAST(start, type)	    { KIND_LAST, start, NULL, type },
#include "naming/types.def"
#undef STEP
#undef NAMED
#undef TYPED
#undef DIRECT
#undef NEW
#undef LAST
};

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/*
 * Returns the end of the first template argument in `text`. *rest: the text after all arguments.
 * NULL: the brackets do not match. Inside parentheses, < and > may be operators; -> is an arrow.
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

/* Template arguments in a name. */
struct arguments {
	const char *from, *to; /* all arguments, without the brackets */
	const char *first_to;  /* end of the first argument */
};

/* Finds the template arguments, in the name of a function, that the row of types.def selects. */
static bool find_arguments(const char *function, const struct type_row *row,
			   struct arguments *arguments)
{
	const char *from = function + strlen(row->start) - 1, *rest = "";

	if (row->kind == KIND_LAST)
		from = strchr(function, '<');
	while (from) {
		arguments->from = from + 1;
		arguments->first_to = argument_end(from + 1, &rest);
		if (!arguments->first_to)
			return false;
		arguments->to = rest - 1;
		if (row->kind == KIND_LAST && *rest) {
			from = strchr(rest, '<');
			continue;
		}
		/* the member follows "::" or, in Rust names, ">::" */
		rest += *rest == '>';
		return row->kind == KIND_LAST ||
		       (begins(rest, "::") && begins(rest + 2, row->member));
	}
	return false;
}

/* Appends a part of a name; std::basic_string<char ...> becomes std::string. False: too long. */
static bool add_part(char *text, size_t size, const char *from, const char *to)
{
	static const char *const strings[] = {
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		"std::__1::basic_string<char, std::__1::char_traits<char>, "
		"std::__1::allocator<char> >",
	};
	size_t used = strlen(text);

	while (from < to && used + sizeof("std::string") < size) {
		size_t length = 0;

		for (size_t i = 0; i < sizeof(strings) / sizeof(*strings) && !length; i++)
			if (begins(from, strings[i]))
				length = strlen(strings[i]);
		if (length)
			used += (size_t)sprintf(text + used, "std::string");
		else
			text[used++] = *from;
		from += length ? length : 1;
	}
	text[used] = '\0';
	return from >= to;
}

static bool take_type(const struct naming_symbol *symbol, const struct type_row *row, char *text,
		      size_t size)
{
	struct arguments arguments;
	size_t length;

	*text = '\0';
	if (row->kind == KIND_NAMED || row->kind == KIND_NEW)
		return add_part(text, size, row->type, row->type + strlen(row->type));
	if ((row->kind >= KIND_DIRECT && !symbol->file) ||
	    !find_arguments(symbol->function, row, &arguments))
		return false;
	length = (size_t)(arguments.first_to - arguments.from);
	/* for an array, Foo [], use the type of its elements */
	if (length > 2 && !strncmp(arguments.first_to - 2, "[]", 2))
		length -= 2;
	while (length && arguments.from[length - 1] == ' ')
		length--;
	if (!length || is_parameter(arguments.from, length))
		return false;
	for (const char *at = row->type; *at; at++) {
		const char *from = *at == '*' || *at == '#' ? arguments.from : at;
		const char *to = *at == '*'   ? arguments.from + length
				 : *at == '#' ? arguments.to
					      : at + 1;

		if (!add_part(text, size, from, to))
			return false;
	}
	return true;
}

/* What the rows of types.def say about a function. */
enum row_result { ROW_NONE, ROW_STEP, ROW_TYPE, ROW_UNKNOWN };

/* Whether a function called operator new directly. */
static bool calls_new(const struct naming_symbol *symbols, size_t at)
{
	return at && begins(symbols[at - 1].function, "operator new");
}

/*
 * Applies the rows of types.def for a function. is_caller: a function that it called has determined
 * the type, so only rows that make this type more exact are applied.
 */
static enum row_result apply_rows(const struct naming_symbol *symbols, size_t at, bool is_caller,
				  char *text, size_t size)
{
	enum row_result result = ROW_NONE;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!begins(symbols[at].function, rows[i].start) ||
		    (is_caller && rows[i].kind >= KIND_NEW) ||
		    (rows[i].kind == KIND_NEW && !calls_new(symbols, at)))
			continue;
		if (rows[i].kind == KIND_STEP)
			return ROW_STEP;
		if (take_type(&symbols[at], &rows[i], text, size))
			return ROW_TYPE;
		result = ROW_UNKNOWN;
	}
	return result;
}

bool types_find(struct naming *naming, const struct naming_symbol *symbols, size_t count,
		char *text, size_t size)
{
	bool is_found = false;
	const char *type;
	size_t i = 0;

	for (; i < count && symbols[i].function; i++) {
		enum row_result result = apply_rows(symbols, i, is_found, text, size);

		if (result == ROW_UNKNOWN)
			return false;
		if (result == ROW_NONE)
			break;
		is_found |= result == ROW_TYPE;
	}
	/* a new-expression, whose class the debug information may show */
	if (is_found || i == count || !calls_new(symbols, i))
		return is_found;
	*text = '\0';
	type = naming_allocated(naming, symbols[i].address);
	return type && add_part(text, size, type, type + strlen(type));
}
