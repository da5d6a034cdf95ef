/* SPDX-License-Identifier: MIT */
#ifndef LIVE_SCREEN_H
#define LIVE_SCREEN_H

/* The terminal as a full screen: reads keys, and draws pictures made of lines. */

#include <stdbool.h>
#include <termios.h>

#include "base/out.h"

enum screen_key {
	KEY_NONE,
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_RESIZE, /* or another reason to redraw */
	KEY_END,    /* end of input, or a signal that asks to end */
};

struct screen {
	struct termios before;
	unsigned width, height;
};

/* Switches the terminal at standard input and output to a full screen. Returns 0 or -ENOTTY. */
int screen_begin(struct screen *screen);
void screen_end(struct screen *screen);

/* Restores the terminal if a screen is active; for a program that must exit at once. */
void screen_restore(void);

/* The next key: a character or a value of enum screen_key; KEY_NONE after timeout_ms. */
int screen_key(struct screen *screen, int timeout_ms);

/*
 * A picture: lines from the top; the rest of the screen is cleared. Lines are cut at the width of
 * the screen, counting one column for each character; control characters are escaped.
 */
void screen_draw_begin(struct screen *screen, struct out *out);
void screen_draw_line(struct screen *screen, struct out *out, const char *text, bool is_marked);
void screen_draw_end(struct out *out);

#endif
