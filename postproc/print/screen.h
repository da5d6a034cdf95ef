/* SPDX-License-Identifier: MIT */
#ifndef PRINT_SCREEN_H
#define PRINT_SCREEN_H

/*
 * Lines of a screen, which are built piece by piece so that they can be counted, aligned and
 * wrapped before they are printed. All bytes that are not printable are escaped.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"

#define SCREEN_WIDTH_MIN   40
#define SCREEN_WIDTH_USUAL 80
#define SCREEN_WIDTH_MAX   200
#define SCREEN_LINE_MAX	   1024

struct screen {
	char **lines;
	size_t count, capacity;
	size_t width; /* columns; see screen_width() */
};

/* A line that is being built. Initialise it with { "" }. */
struct line {
	char text[SCREEN_LINE_MAX];
	size_t length;
};

/*
 * Returns the width to use on a terminal with this number of columns. It has a minimum, so that the
 * numbers fit, and a maximum, so that lines are easy to read.
 */
size_t screen_width(size_t columns);

/* Frees the lines, but keeps the width. */
void screen_free(struct screen *screen);

void line_begin(struct line *line);
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Removes all but the first `length` bytes. */
void line_cut(struct line *line, size_t length);

/* Adds blanks up to the column. Adds at least two blanks if the line already contains text. */
void line_to(struct line *line, size_t column);

/*
 * Adds a word, quoted for a shell if necessary. screen_print() writes bytes that are not printable
 * ASCII as \x.., which $'' accepts.
 */
void line_add_word(struct line *line, const char *text);

struct select_tally;

/*
 * If there are filters, adds how many events were selected, such as "12 of 31 events
 * (--function=malloc)".
 */
void line_add_selection(struct line *line, const struct select_tally *selection);

/*
 * Returns the number of lines that screen_wrap() would add; SIZE_MAX if one of them would be wider
 * than the screen.
 */
size_t line_height(const struct screen *screen, const struct line *line, size_t indent);

/* Adds the line to the screen and clears it. */
void screen_add(struct screen *screen, struct line *line);

/*
 * Adds the line to the screen and clears it, like screen_add(). A line longer than the width is
 * broken at blanks, and the further lines are indented to the column. A word that is longer than a
 * line, such as a path, is not broken. Returns the number of lines.
 */
size_t screen_wrap(struct screen *screen, struct line *line, size_t indent);

/* Formats a text and adds it with screen_wrap(). */
void screen_say(struct screen *screen, size_t indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Moves all lines of `from` to the end of `to`. */
void screen_move(struct screen *to, struct screen *from);

enum screen_colours { SCREEN_PLAIN, SCREEN_COLOURS, SCREEN_COLOURS_OF_LEAKS };

/*
 * Prints the lines. With colours, the first line and headings are bold, and warnings and leaks are
 * red.
 */
void screen_print(const struct screen *screen, enum screen_colours colours, struct out *out);

#endif
