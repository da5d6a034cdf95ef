/* SPDX-License-Identifier: MIT */
#include "live/screen.h"

#include "base/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
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

	*screen = (struct screen){ 0 };
	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &screen->before) != 0)
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

void screen_end(struct screen *screen)
{
	if (screen == shown)
		screen_restore();
}

void screen_restore(void)
{
	if (!shown)
		return;
	put_bytes(FIRST_SCREEN);
	tcsetattr(STDIN_FILENO, TCSANOW, &shown->before);
	shown = NULL;
}

/* Decodes the bytes of one key, for example ESC [ A. A lone ESC ends the program. */
static int decode(const char *bytes, ssize_t count)
{
	if (count <= 0)
		return KEY_END;
	if (bytes[0] != '\033')
		return (unsigned char)bytes[0];
	if (count < 3)
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

int screen_key(struct screen *screen, int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char bytes[16];
	int got;

	if (asked_to_end)
		return KEY_END;
	got = poll(&input, 1, timeout_ms);
	if (asked_to_end)
		return KEY_END;
	if (was_resized) {
		was_resized = 0;
		measure_terminal(screen);
		return KEY_RESIZE;
	}
	return got > 0 ? decode(bytes, read(STDIN_FILENO, bytes, sizeof(bytes))) : KEY_NONE;
}

void screen_draw_begin(struct screen *screen, struct out *out)
{
	screen->height += screen->height == 0;
	out_text(out, HOME);
}

void screen_draw_line(struct screen *screen, struct out *out, const char *text, bool is_marked)
{
	size_t size = 0;

	for (unsigned columns = screen->width; text[size] && columns; columns--) {
		size++;
		while (((unsigned char)text[size] & 0xc0) == 0x80)
			size++;
	}
	if (is_marked)
		out_text(out, MARKED);
	out_name(out, text, size, ESCAPE_ALL);
	if (is_marked)
		out_text(out, PLAIN);
	out_text(out, CLEAR_LINE "\r\n");
}

void screen_draw_end(struct out *out)
{
	out_text(out, CLEAR_BELOW);
	out_flush(out);
}
