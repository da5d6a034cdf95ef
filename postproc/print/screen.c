/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "postproc/totals/selection.h"
#include "base/human.h"
#include "base/memory.h"

/* a line is broken at a comma or bracket if there is one in its last COMMA_NEAR columns */
#define COMMA_NEAR 24

void screen_free(struct screen *screen)
{
	for (size_t i = 0; i < screen->count; i++)
		free(screen->lines[i]);
	free(screen->lines);
	*screen = (struct screen){ .width = screen->width };
}

size_t screen_width(size_t columns)
{
	if (columns < SCREEN_WIDTH_MIN)
		return SCREEN_WIDTH_MIN;
	return columns < SCREEN_WIDTH_MAX ? columns : SCREEN_WIDTH_MAX;
}

void line_begin(struct line *line)
{
	line->length = 0;
	line->text[0] = '\0';
}

void line_cut(struct line *line, size_t length)
{
	line->length = length;
	line->text[length] = '\0';
}

static void line_add_list(struct line *line, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void line_add_list(struct line *line, const char *format, va_list args)
{
	size_t room = sizeof(line->text) - line->length;
	int length = vsnprintf(line->text + line->length, room, format, args);

	if (length > 0)
		line->length += (size_t)length < room ? (size_t)length : room - 1;
}

void line_add(struct line *line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_add_list(line, format, args);
	va_end(args);
}

void line_add_selection(struct line *line, const struct select_tally *selection)
{
	struct human kept, seen;

	if (!selection || !selection->filters)
		return;
	if (selection->kept)
		line_add(line, "%s", human_count(&kept, selection->kept));
	else
		line_add(line, selection->seen ? "none" : "no");
	if (selection->seen > selection->kept)
		line_add(line, " of %s", human_count(&seen, selection->seen));
	line_add(line, " event%s (%s)", selection->seen == 1 ? "" : "s", selection->filters);
}

void line_to(struct line *line, size_t column)
{
	size_t blanks = line->length + 2 <= column ? column - line->length : line->length ? 2 : 0;

	if (line->length == 0)
		blanks = column;
	line_add(line, "%*s", (int)blanks, "");
}

/* Whether the byte can be used without quotes in a shell. */
static bool is_plain(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("_-./:@%+=,", byte));
}

static bool is_all(const char *text, bool (*is_so)(char))
{
	for (; *text; text++)
		if (!is_so(*text))
			return false;
	return *text == '\0';
}

static bool is_printed(char byte)
{
	return byte >= ' ' && byte <= '~';
}

void line_add_word(struct line *line, const char *text)
{
	bool is_printable = is_all(text, is_printed);

	if (*text && is_all(text, is_plain)) {
		line_add(line, "%s", text);
		return;
	}
	line_add(line, is_printable ? "'" : "$'");
	for (; *text; text++) {
		if (*text == '\'')
			line_add(line, is_printable ? "'\\''" : "\\'");
		else if (*text == '\\' && !is_printable)
			line_add(line, "\\\\");
		else
			line_add(line, "%c", *text);
	}
	line_add(line, "'");
}

static void add_line(struct screen *screen, const char *text, size_t length)
{
	if (screen->count == screen->capacity)
		array_grow(&screen->lines, &screen->capacity, sizeof(*screen->lines));
	screen->lines[screen->count++] = memory_text_part(text, length);
}

void screen_add(struct screen *screen, struct line *line)
{
	add_line(screen, line->text, line->length);
	line_begin(line);
}

/*
 * Returns the position at which to break the text, so that its first part fits into `width`
 * columns. Returns `length` if the whole text fits or has no blank.
 */
static size_t break_of(const char *text, size_t length, size_t indent, size_t width)
{
	size_t blank = 0, comma = 0, arrow = 0;

	if (length <= width)
		return length;
	/* do not break a word longer than the line, such as a path, so that it can be copied */
	for (size_t at = indent + 1; at <= width || (at < length && !blank); at++) {
		if (text[at] != ' ')
			continue;
		if (!strncmp(text + at, " <- ", 4))
			arrow = at;
		if ((strchr(",;", text[at - 1]) || strchr("[(", text[at + 1])) &&
		    at + COMMA_NEAR > width)
			comma = at;
		blank = at;
	}
	/*
	 * break at an arrow or a comma first: this keeps a function and its line, or a number and
	 * its unit, together
	 */
	if (arrow)
		return arrow;
	if (comma)
		return comma;
	return blank ? blank : length;
}

size_t line_height(const struct screen *screen, const struct line *line, size_t indent)
{
	struct line rest = *line;

	for (size_t height = 1;; height++) {
		size_t at = break_of(rest.text, rest.length, indent, screen->width);
		char *next = rest.text + at;

		if (at == rest.length)
			return at <= screen->width ? height : SIZE_MAX;
		if (at > screen->width)
			return SIZE_MAX;
		next += strspn(next, " ");
		/* indent the rest, as screen_wrap() does */
		rest.length = indent + strlen(next);
		memmove(rest.text + indent, next, strlen(next) + 1);
		memset(rest.text, ' ', indent);
	}
}

size_t screen_wrap(struct screen *screen, struct line *line, size_t indent)
{
	for (size_t lines = 1;; lines++) {
		size_t at = break_of(line->text, line->length, indent, screen->width);
		struct line rest = { .length = 0 };

		if (at == line->length) {
			screen_add(screen, line);
			return lines;
		}
		line_to(&rest, indent);
		line_add(&rest, "%s", line->text + at + strspn(line->text + at, " "));
		add_line(screen, line->text, at);
		*line = rest;
	}
}

void screen_say(struct screen *screen, size_t indent, const char *format, ...)
{
	struct line line = { .length = 0 };
	va_list args;

	va_start(args, format);
	line_add_list(&line, format, args);
	va_end(args);
	screen_wrap(screen, &line, indent);
}

void screen_move(struct screen *to, struct screen *from)
{
	for (size_t i = 0; i < from->count; i++)
		add_line(to, from->lines[i], strlen(from->lines[i]));
	screen_free(from);
}

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

#define LEAKS "live at" /* "live at exit" or "live at detach" */

/* Returns the colour of a line, which depends on its first word, or NULL for no colour. */
static const char *colour_of(const struct screen *screen, enum screen_colours colours, size_t index)
{
	static const struct {
		const char *word, *colour;
	} words[] = {
		{ "DEADLOCK", RED },   { "DROPPED", RED },  { "DAMAGED", RED },
		{ "INCOMPLETE", RED }, { "UNTRACED", RED }, { LEAKS, RED },
		{ "unusual", BOLD },   { "waits", BOLD },   { "waiting when", BOLD },
		{ "next:", BOLD },     { "trace:", DIM },
	};

	if (colours == SCREEN_PLAIN)
		return NULL;
	if (colours != SCREEN_COLOURS_OF_LEAKS &&
	    !strncmp(screen->lines[index], LEAKS, strlen(LEAKS)))
		return BOLD;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(screen->lines[index], words[i].word, strlen(words[i].word)))
			return words[i].colour;
	return index == 0 ? BOLD : NULL;
}

void screen_print(const struct screen *screen, enum screen_colours colours, struct out *out)
{
	for (size_t i = 0; i < screen->count; i++) {
		const char *colour = colour_of(screen, colours, i);
		const char *text = screen->lines[i];
		size_t length = strlen(text);

		while (length && text[length - 1] == ' ')
			length--;
		if (colour)
			out_text(out, colour);
		out_name(out, text, length, ESCAPE_ALL);
		if (colour)
			out_text(out, PLAIN);
		out_char(out, '\n');
	}
}
