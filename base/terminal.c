/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

bool terminal_has_colour(int fd)
{
	const char *forced = getenv("CLICOLOR_FORCE"), *kind = getenv("TERM");

	if (is_set("NO_COLOR"))
		return false;
	if (forced && *forced && strcmp(forced, "0") != 0)
		return true;
	return isatty(fd) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool terminal_has_unicode(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

unsigned terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long number;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	number = columns ? strtol(columns, NULL, 10) : 0;
	return number > 0 && number < 10000 ? (unsigned)number : TERMINAL_WIDTH;
}
