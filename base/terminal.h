/* SPDX-License-Identifier: MIT */
#ifndef TERMINAL_H
#define TERMINAL_H

/* What the terminal can do, by the variables that programs have agreed upon. */

#include <stdbool.h>

#define TERMINAL_WIDTH	   80 /* where neither COLUMNS nor a terminal says it */
#define TERMINAL_WIDTH_MAX 100000

/*
 * Whether what is written to fd should have colours: CLICOLOR_FORCE says always (unless "0"),
 * NO_COLOR never, else a terminal has them that is not "dumb".
 */
bool terminal_has_colour(int fd);

/* Whether the locale's characters are UTF-8, as LC_ALL, LC_CTYPE or LANG name it. */
bool terminal_has_unicode(void);

/* COLUMNS, else columns of the terminal at fd, else TERMINAL_WIDTH. */
unsigned terminal_width(int fd);

#endif
