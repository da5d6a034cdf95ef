/* SPDX-License-Identifier: MIT */
#ifndef TERMINAL_H
#define TERMINAL_H

/* The capabilities of the terminal, as the conventional environment variables state them. */

#include <stdbool.h>

#define TERMINAL_WIDTH	   80 /* used if neither COLUMNS nor a terminal states a width */
#define TERMINAL_WIDTH_MAX 100000

/*
 * True if output to fd should be coloured. NO_COLOR forbids colour, CLICOLOR_FORCE forces it unless
 * it is "0". Otherwise output is coloured if fd is a terminal and TERM is not "dumb".
 */
bool terminal_has_colour(int fd);

/* True if TERM is not set or "dumb": the terminal understands no control sequences. */
bool terminal_is_dumb(void);

/* True if the locale in LC_ALL, LC_CTYPE or LANG uses UTF-8. */
bool terminal_has_unicode(void);

/* Returns COLUMNS, else the width of the terminal at fd, else TERMINAL_WIDTH. */
unsigned terminal_width(int fd);

#endif
