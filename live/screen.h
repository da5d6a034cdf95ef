/* SPDX-License-Identifier: MIT */
#ifndef LIVE_SCREEN_H
#define LIVE_SCREEN_H

/* The whole terminal: keys as they are typed, and pictures of lines that replace each other. */

#include <stdbool.h>
#include <termios.h>

#include "base/out.h"

enum screen_key {
	KEY_NONE,
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_RESIZE, /* or any other reason to draw again */
	KEY_END,    /* nobody types any more, or a signal asks to end */
};

struct screen {
	struct termios before;
	unsigned width, height;
};

/* Takes the terminal at standard input and output. Returns 0 or -ENOTTY. */
int screen_begin(struct screen *screen);
void screen_end(struct screen *screen);

/* The terminal of the screen that is on, if one is: for a program that must end at once. */
void screen_restore(void);

/* The next key, a character or one of enum screen_key; KEY_NONE after so many ms. */
int screen_key(struct screen *screen, int timeout_ms);

/*
 * A picture: lines from the top, the rest is cleared. Text is cut at the width, one column for each
 * character, and what is no plain text is escaped.
 */
void screen_draw_begin(struct screen *screen, struct out *out);
void screen_draw_line(struct screen *screen, struct out *out, const char *text, bool is_marked);
void screen_draw_end(struct screen *screen, struct out *out);

#endif
