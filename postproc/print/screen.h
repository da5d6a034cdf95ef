/* SPDX-License-Identifier: MIT */
#ifndef PRINT_SCREEN_H
#define PRINT_SCREEN_H

/*
 * Lines of a screen, put together piece by piece, so that they can be counted, aligned and wrapped
 * before anything is printed. Whatever is in them, nothing but text reaches the terminal.
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
	size_t width; /* of the terminal; see screen_width() */
};

/* A line in the making. */
struct line {
	char text[SCREEN_LINE_MAX];
	size_t length;
};

/* So wide that lines can be read and numbers have room, whatever the terminal is. */
size_t screen_width(size_t columns);

/* The screen is empty again, and as wide as before. */
void screen_free(struct screen *screen);

void line_begin(struct line *line);
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Blanks up to the column; at least two where text stands there already. */
void line_to(struct line *line, size_t column);

/*
 * A word for the shell. What is no printable ASCII, screen_print() writes as \x.., which $'' takes.
 */
void line_add_word(struct line *line, const char *text);

struct select_tally;

/* "12 of 31 events (--function=malloc)"; nothing where there were no filters. */
void line_add_selection(struct line *line, const struct select_tally *selection);

/* How many lines screen_wrap() would make of it; SIZE_MAX: one would be too long. */
size_t line_height(const struct screen *screen, const struct line *line, size_t indent);

/* The line is done, and empty again. */
void screen_add(struct screen *screen, struct line *line);

/*
 * As screen_add(); what is longer than the width goes on in further lines, broken at blanks and
 * indented to the column. A word that is longer than a line, as a path may be, stays whole.
 * Returns how many lines it took.
 */
size_t screen_wrap(struct screen *screen, struct line *line, size_t indent);

/* Puts all lines of from behind those of to; from is empty then. */
void screen_move(struct screen *to, struct screen *from);

enum screen_colours { SCREEN_PLAIN, SCREEN_COLOURS, SCREEN_COLOURS_OF_LEAKS };

/* With colours the first line and headings are bold; those of alarm, and of leaks, red. */
void screen_print(const struct screen *screen, enum screen_colours colours, struct out *out);

#endif
