/* SPDX-License-Identifier: MIT */
#include "live/screen.h"

#include "base/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Control sequences of ECMA-48, and of xterm for its alternate screen. */
#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define FIRST_SCREEN "\033[?25h\033[?1049l"
#define HOME	     "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_BELOW  "\033[J"
#define MARKED	     "\033[7m"
#define PLAIN	     "\033[m"

static volatile sig_atomic_t asked_to_end, was_resized;
static struct screen *shown; /* the active screen */

static void note_signal(int number)
{
	if (number == SIGWINCH)
		was_resized = 1;
	else
		asked_to_end = 1;
}

static void put_bytes(const char *text)
{
	ssize_t wrote = write(STDOUT_FILENO, text, strlen(text));

	(void)wrote; /* if the terminal is gone, the next read of a key fails */
}

static void measure_terminal(struct screen *screen)
{
	struct winsize size;

	screen->width = terminal_width(STDOUT_FILENO);
	screen->height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row)
		screen->height = size.ws_row;
}

int screen_begin(struct screen *screen)
{
	static const int numbers[] = { SIGTERM, SIGHUP, SIGINT, SIGWINCH };
	struct termios raw;

	*screen = (struct screen){ .has_colour = terminal_has_colour(STDOUT_FILENO) };
	if (!isatty(STDOUT_FILENO) || terminal_is_dumb() ||
	    tcgetattr(STDIN_FILENO, &screen->before) != 0)
		return -ENOTTY;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &(struct sigaction){ .sa_handler = note_signal }, NULL);
	raw = screen->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	put_bytes(OTHER_SCREEN);
	shown = screen;
	measure_terminal(screen);
	return 0;
}

void screen_restore(void)
{
	if (!shown)
		return;
	put_bytes(FIRST_SCREEN);
	tcsetattr(STDIN_FILENO, TCSANOW, &shown->before);
	shown = NULL;
}

/*
 * Decodes the key that is encoded by the first `size` bytes of the input. A lone ESC ends the
 * program.
 */
static int decode(const char *bytes, size_t size)
{
	if (bytes[0] != '\033')
		return (unsigned char)bytes[0];
	if (size < 3)
		return KEY_END;
	switch (bytes[2]) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case '5':
		return KEY_PAGE_UP;
	case '6':
		return KEY_PAGE_DOWN;
	default:
		return KEY_NONE;
	}
}

/* Takes the first key from the input: a byte, or a sequence such as ESC [ A or ESC [ 5 ~. */
static int take_key(struct screen *screen)
{
	size_t size = 1;
	int key;

	if (screen->input[0] == '\033' && screen->input_size > 1) {
		size = 2;
		while (size < screen->input_size && (unsigned char)screen->input[size++] < '@')
			;
	}
	key = decode(screen->input, size);
	screen->input_size -= size;
	memmove(screen->input, screen->input + size, screen->input_size);
	return key;
}

int screen_key(struct screen *screen, int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	ssize_t size;
	int got;

	if (asked_to_end)
		return KEY_END;
	if (screen->input_size)
		return take_key(screen);
	got = poll(&input, 1, timeout_ms);
	if (asked_to_end)
		return KEY_END;
	if (was_resized) {
		was_resized = 0;
		unsetenv("COLUMNS"); /* the variable has the former width */
		measure_terminal(screen);
		return KEY_RESIZE;
	}
	if (got <= 0)
		return KEY_NONE;
	size = read(STDIN_FILENO, screen->input, sizeof(screen->input));
	if (size <= 0)
		return KEY_END;
	screen->input_size = (size_t)size;
	return take_key(screen);
}

static void draw_text(const struct screen *screen, struct out *out, const char *text,
		      bool is_marked)
{
	static const char styles[] = { STYLE_PLAIN, STYLE_TITLE, STYLE_HEAD,  STYLE_KEY,
				       STYLE_CLASS, STYLE_BAR,	 STYLE_ALARM, '\0' };
	/* each code also ends the previous style */
	static const char *const codes[STYLE_END] = {
		[STYLE_PLAIN] = PLAIN,		[STYLE_TITLE] = "\033[0;1m",
		[STYLE_HEAD] = "\033[0;2m",	[STYLE_KEY] = "\033[0;33m",
		[STYLE_CLASS] = "\033[0;36m",	[STYLE_BAR] = "\033[0;32m",
		[STYLE_ALARM] = "\033[0;1;31m",
	};
	size_t columns = screen->width;

	/*
	 * clears the line before the text is drawn: after a full line, the sequence would clear the
	 * last column
	 */
	out_text(out, CLEAR_LINE);
	if (is_marked)
		out_text(out, MARKED);
	while (*text) {
		size_t length = strcspn(text, styles), size = name_start(text, length, columns);

		out_name(out, text, size, ESCAPE_ALL);
		if (size < length)
			break;
		columns -= name_columns(text, size);
		text += length;
		if (*text && screen->has_colour && !is_marked)
			out_text(out, codes[(size_t)*text]);
		text += *text != '\0';
	}
	if (is_marked || screen->has_colour)
		out_text(out, PLAIN);
}

void screen_draw(const struct screen *screen, struct out *out, char *text, size_t marked,
		 char *last, size_t count)
{
	out_text(out, HOME);
	for (size_t i = 0; text && *text && i + count < screen->height; i++) {
		draw_text(screen, out, strsep(&text, "\n"), i == marked);
		out_text(out, "\r\n");
	}
	out_text(out, CLEAR_BELOW);
	for (size_t row = screen->height - count + 1; last && row <= screen->height; row++) {
		out_format(out, "\033[%zuH", row);
		draw_text(screen, out, strsep(&last, "\n"), false);
	}
	out_flush(out);
}
