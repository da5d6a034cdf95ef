/* SPDX-License-Identifier: MIT */
#ifndef LIVE_SCREEN_H
#define LIVE_SCREEN_H

/* Uses the whole terminal as a screen: reads keys, and draws pictures that consist of lines. */

#include <stdbool.h>
#include <termios.h>

#include "base/out.h"

enum screen_key {
	KEY_NONE,
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_RESIZE, /* the picture must be drawn again */
	KEY_END,    /* end of input, or a signal that ends the program */
};

struct screen {
	struct termios before;
	unsigned width, height;
};

/* Switches the terminal at standard input and output to a full screen. Returns 0 or -ENOTTY. */
int screen_begin(struct screen *screen);
void screen_end(struct screen *screen);

/* Restores the terminal if a screen is active. For a caller that exits immediately. */
void screen_restore(void);

/*
 * Returns the next key as a character or a value of enum screen_key, or KEY_NONE after timeout_ms.
 */
int screen_key(struct screen *screen, int timeout_ms);

/*
 * Draws a picture line by line from the top; screen_draw_end() clears the rest of the screen. Lines
 * are cut at the width of the screen, at one column for each character; control characters are
 * escaped.
 */
void screen_draw_begin(struct screen *screen, struct out *out);
void screen_draw_line(struct screen *screen, struct out *out, const char *text, bool is_marked);
void screen_draw_end(struct out *out);

#endif
