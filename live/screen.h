/* SPDX-License-Identifier: MIT */
#ifndef LIVE_SCREEN_H
#define LIVE_SCREEN_H

/*
 * Uses the whole terminal as a screen: reads keys, and draws pictures that consist of lines. A
 * style is a single byte in the text of a line, never an escape sequence. In names, out_name()
 * escapes bytes that would be styles.
 */

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

/* Bytes that set the style of the text that follows. */
enum screen_style {
	STYLE_PLAIN = 1,
	STYLE_TITLE,
	STYLE_HEAD,
	STYLE_KEY,
	STYLE_CLASS,
	STYLE_BAR,
	STYLE_ALARM,
	STYLE_END,
};

struct screen {
	struct termios before;
	unsigned width, height;
	bool has_colour;
	char input[16]; /* bytes that were read, but not decoded yet */
	size_t input_size;
};

/*
 * Switches the terminal at standard input and output to a full screen. Returns 0, or -ENOTTY if
 * there is no terminal or it cannot move its cursor (TERM=dumb).
 */
int screen_begin(struct screen *screen);

/* Restores the terminal if a screen is active. */
void screen_restore(void);

/*
 * Returns the next key as a character or a value of enum screen_key, or KEY_NONE after timeout_ms.
 */
int screen_key(struct screen *screen, int timeout_ms);

/*
 * Draws the lines of `text` from the top, clears the rest of the screen, and draws the `count`
 * lines of `last` at its bottom. Both texts are changed. Lines are cut at the width of the screen;
 * control characters are escaped. marked: number of the line that is shown in reverse video,
 * without other styles; SIZE_MAX: none.
 */
void screen_draw(const struct screen *screen, struct out *out, char *text, size_t marked,
		 char *last, size_t count);

#endif
